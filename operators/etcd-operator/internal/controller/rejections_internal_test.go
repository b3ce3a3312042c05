package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// A Pod that was refused, and is there all the same, was created later, beside another one
// that failed. Its name must not be taken for one that nobody has had (S7).
func TestThePodThatIsSeenIsNotRefused(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.UID = types.UID("c")
	pod := facts.Rejection{Kind: facts.CreatingPods, Role: facts.Joiner, Name: "c-a"}
	returning := facts.Rejection{Kind: facts.CreatingPods, Role: facts.Returning, Name: "c-b"}
	service := facts.Rejection{Kind: facts.ApplyBudget, Name: "c-a"}
	var r rejections
	r.set(c, []facts.Rejection{pod, returning, service})
	if diff := cmp.Diff([]facts.Rejection{pod, returning, service}, r.seen(c, []facts.Pod{{Name: "c-z"}})); diff != "" {
		t.Errorf("no such Pod is there (-want +got):\n%s", diff)
	}
	want := []facts.Rejection{returning, service}
	if diff := cmp.Diff(want, r.seen(c, []facts.Pod{{Name: "c-a"}})); diff != "" {
		t.Errorf("the Pod is there (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, r.seen(c, nil)); diff != "" {
		t.Errorf("the Pod is gone again (-want +got):\n%s", diff)
	}
}

// Rejections hold back effects of the same EtcdCluster with the same spec only.
func TestRejectionsOfOneCluster(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.UID, c.Generation = "c", 1
	status := facts.Rejection{Kind: facts.WritingStatus, Generation: 1, Until: time.Now().Add(time.Hour)}
	var r rejections
	r.set(c, []facts.Rejection{status})
	edited, recreated := c.DeepCopy(), c.DeepCopy()
	edited.Generation, recreated.UID = 2, "d"
	for name, row := range map[string]struct {
		reason string
		of     *v1beta2.EtcdCluster
		want   bool
	}{
		"the same EtcdCluster":  {"the next try is not due", c, true},
		"an edited one":         {"the edit can correct the cause", edited, false},
		"another with its name": {"its spec and its objects are new", recreated, false},
	} {
		if got := r.isHeldBack(row.of, status); got != row.want {
			t.Errorf("%s: isHeldBack is %t, want %t: %s", name, got, row.want, row.reason)
		}
	}
}

func TestRemember(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.UID = "c"
	pod := facts.Rejection{Kind: facts.CreatingPods, Role: facts.Joiner, Name: "c-a"}
	service := facts.Rejection{Kind: facts.ApplyService, Name: "c", Times: 1, Until: time.Now()} // a retry emits no event
	budget := facts.Rejection{Kind: facts.ApplyBudget, Name: "c"}
	joins := action.CreatePods{Pods: []action.NewPod{{Name: "c-b", Role: facts.Joiner}}}
	for name, row := range map[string]struct {
		reason string
		do     func(*Reconciler)
		want   []facts.Rejection
	}{
		"a joiner's Pod is created": {
			"the API server accepts joiners", func(r *Reconciler) { r.remember(t.Context(), c, joins, nil) }, []facts.Rejection{service, budget},
		},
		"the name of a joiner is taken": {
			"the next joiner has another name", func(r *Reconciler) { r.remember(t.Context(), c, joins, fmt.Errorf("PVC c-b: %w", act.ErrNameTaken)) },
			[]facts.Rejection{service, budget},
		},
		"another failure": {
			"the outcome is unknown", func(r *Reconciler) { r.remember(t.Context(), c, joins, errors.New("connection lost")) }, []facts.Rejection{pod, service, budget},
		},
		"a Service is rejected again while the budget is held back": {
			"the budget was not tried", func(r *Reconciler) {
				d := plan.Decision{Budget: 2, ChildrenHeldBack: []facts.Rejection{budget}}
				r.rememberChildren(t.Context(), c, d, &act.RejectedError{Rejections: []facts.Rejection{service}})
			}, []facts.Rejection{pod, budget, service},
		},
	} {
		var r Reconciler
		r.rejections.set(c, []facts.Rejection{pod, service, budget})
		row.do(&r)
		byEffect := cmp.Comparer(func(a, b facts.Rejection) bool { return a.SameEffect(b) })
		if diff := cmp.Diff(row.want, r.rejections.of(c), byEffect); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, row.reason, diff)
		}
	}
}

// An action that was rejected for another cause is not outdated. Its precondition gets staleGrace first.
func TestOutdatedAfterARejection(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.UID = "c"
	r := Reconciler{Metrics: metrics.New(prometheus.NewRegistry())}
	deletion := action.DeletePod{Name: "c-a"}
	r.rejections.set(c, []facts.Rejection{{Kind: "DeletePod", Name: "c-a"}})
	stale := fmt.Errorf("%w: Pod c-a has changed", act.ErrStale)
	if _, err := r.holdBackStale(t.Context(), c, &facts.Observation{}, plan.Decision{Action: deletion}, stale, act.Outdated(c, deletion, stale)); !errors.Is(err, act.ErrStale) {
		t.Errorf("got %v, want that the cluster is observed again", err)
	}
	if r.isConflictLasting(c) {
		t.Error("the status counts as rejected, want only the deletion")
	}
	r.rejections.set(c, []facts.Rejection{{Kind: facts.WritingStatus, Outdated: true}})
	if !r.isConflictLasting(c) {
		t.Error("the conflict counts as new, want that it lasts until the status is written")
	}
}
