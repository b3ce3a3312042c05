package act

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// A request for the fence fails that lands after it was withdrawn, whether or not it showed
// before: nobody would be there any more to withdraw it again.
func TestARequestThatLandsLate(t *testing.T) {
	cases := map[string]struct {
		reason string
		// before are the marks on the EtcdCluster when the fence is asked for.
		before map[string]string
		// then is what happens before the request is withdrawn.
		then func(*fixture)
		mark string // in the end
		// lifted is that mark in the end; empty for this restore.
		lifted string
	}{
		"it does not show": {reason: "the withdrawal changes the EtcdCluster"},
		"one before was lifted": {
			reason: "its mark counts no more, and would again if another were lifted",
			before: map[string]string{v1beta2.AnnotationFence: "other", v1beta2.AnnotationFenceLifted: "other"},
		},
		"another has asked": {
			reason: "the other one has changed the EtcdCluster, and its mark stays",
			then:   func(f *fixture) { f.mark(v1beta2.AnnotationFence, "other") },
			mark:   "other", lifted: "none",
		},
		"another has the fence": {
			reason: "the other one has changed the EtcdCluster, and how it ends is not overwritten",
			then: func(f *fixture) {
				f.mark(v1beta2.AnnotationFenceLifted, "other")
				f.fencedBy("other")
			},
			lifted: "other",
		},
		"it is withdrawn twice": {
			reason: "each withdrawal is safe to repeat",
			then:   func(f *fixture) { f.mark(v1beta2.AnnotationFenceLifted, string(f.restore.UID)) },
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			ctx, f := apiservertest.Context(t), newFixture(t)
			f.fencedBy("")
			f.mark(v1beta2.AnnotationFence, "")
			for annotation, value := range tc.before {
				f.mark(annotation, value)
			}
			apiservertest.Read(t, f.client, f.cluster)
			late := &target{restore: f.restore.DeepCopy(), cluster: f.cluster.DeepCopy(), observed: f.cluster.DeepCopy()}
			if tc.then != nil {
				tc.then(f)
			}
			e, obs := f.observed()
			if err := f.a.Act(ctx, e, obs, plan.WithdrawFence{}); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err := f.a.askFence(ctx, late); !errors.Is(err, ErrStale) {
				t.Errorf("%s: the late request: %v, want %v", tc.reason, err, ErrStale)
			}
			marks, lifted := f.annotations(), tc.lifted
			switch lifted {
			case "":
				lifted = string(f.restore.UID)
			case "none":
				lifted = ""
			}
			if got := marks[v1beta2.AnnotationFence]; got != tc.mark {
				t.Errorf("%s: fence is %q, want %q", tc.reason, got, tc.mark)
			}
			if got := marks[v1beta2.AnnotationFenceLifted]; got != lifted {
				t.Errorf("%s: fence-lifted is %q, want %q", tc.reason, got, lifted)
			}
		})
	}
}

// A volume is not retired any more once its restore has been rolled back: etcd-operator would not
// find the member's data.
func TestARetirementThatLandsLate(t *testing.T) {
	t.Parallel()
	ctx, f := apiservertest.Context(t), newFixture(t)
	read := f.claim("x-a", false)
	e, obs := f.observed()
	late := &target{restore: e.DeepCopy(), cluster: f.cluster.DeepCopy(), observed: f.cluster.DeepCopy()}
	if err := f.a.Act(ctx, e, obs, plan.LiftFence{}); err != nil {
		t.Fatal(err)
	}
	if f.annotations()[v1beta2.AnnotationFenceLifted] != string(f.restore.UID) {
		t.Error("the fence is not lifted")
	}
	if err := f.a.actWhileFenced(ctx, late, plan.RetireClaims{Claims: []plan.Ref{refOf(read)}}); !errors.Is(err, ErrStale) {
		t.Errorf("the late action: %v, want %v", err, ErrStale)
	}
	next := read.DeepCopy()
	next.Labels[v1beta2.LabelRetiredBy] = string(f.restore.UID)
	if err := f.client.Update(ctx, next); !apierrors.IsConflict(err) {
		t.Errorf("a request with the resourceVersion that was read before: %v, want a conflict", err)
	}
	if l := f.labels("x-a"); l[v1beta2.LabelCluster] != "x" || l[v1beta2.LabelRetiredBy] != "" {
		t.Errorf("the labels of the volume are %v", l)
	}
}

// The fence is not lifted while a volume is retired: it was so after the volumes were returned.
func TestNoLiftOverARetiredVolume(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.claim("x-a", true)
	e, obs := f.observed()
	f.wantNothing("a retired volume", e, obs, plan.LiftFence{})
}
