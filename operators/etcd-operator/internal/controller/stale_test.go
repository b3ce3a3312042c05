package controller_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// ahead reads from an API server that knows a Pod of each cluster which no cache shows.
type ahead struct{ client.Reader }

func (a ahead) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := a.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	pods, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok || pods.Kind != "PodList" {
		return nil
	}
	var clusters v1beta2.EtcdClusterList
	if err := a.Reader.List(ctx, &clusters, opts[0]); err != nil {
		return err
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		pods.Items = append(pods.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "unseen", Namespace: c.Namespace, OwnerReferences: []metav1.OwnerReference{member.Owner(c)},
		}})
	}
	return nil
}

// late reads EtcdClusters as they were some time before: each is shown for that long after
// a newer one was there.
type late struct {
	client.Client
	by time.Duration

	mu    sync.Mutex
	shown map[client.ObjectKey]*v1beta2.EtcdCluster
	since map[types.UID]map[string]time.Time // when each resource version was there first
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := l.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	c, ok := o.(*v1beta2.EtcdCluster)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since[c.UID] == nil {
		l.since[c.UID] = map[string]time.Time{}
	}
	if _, seen := l.since[c.UID][c.ResourceVersion]; !seen {
		l.since[c.UID][c.ResourceVersion] = time.Now()
	}
	if was := l.shown[key]; was != nil && time.Since(l.since[c.UID][c.ResourceVersion]) < l.by {
		was.DeepCopyInto(c)
		return nil
	}
	l.shown[key] = c.DeepCopy()
	return nil
}

// The status says how the last pass found the cluster, also where the pass before it wrote
// something else, and the cache did not show that yet.
func TestTheLastStatusIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) {
		r.Client = &late{Client: r.Client, by: 100 * time.Millisecond, shown: map[client.ObjectKey]*v1beta2.EtcdCluster{}, since: map[types.UID]map[string]time.Time{}}
	})
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1)
	b.untilHealthy(c, 1)
	for range 3 {
		before, marked := c.ResourceVersion, time.Now()
		pod := b.pods(c)[0]
		was := pod.DeepCopy()
		pod.Labels[v1beta2.LabelRole] = v1beta2.RoleLearner
		if err := b.client.Patch(apiservertest.Context(t), &pod, client.MergeFrom(was)); err != nil {
			t.Fatal(err)
		}
		b.until(c, "the mark to be put right, and the status to say so", func(s *v1beta2.ClusterStatus) bool {
			return c.ResourceVersion != before && reason(s, v1beta2.ConditionProgressing) == v1beta2.ClusterReasonUpToDate
		})
		// A cluster that is as it should be is looked at once a minute.
		if took := time.Since(marked); took > 30*time.Second {
			t.Errorf("the status said what was done for %s", took)
		}
		if got := b.pod(pod.Name).Labels[v1beta2.LabelRole]; got != v1beta2.RoleVoter {
			t.Errorf("the Pod is marked %s", got)
		}
	}
}

// What the caches do not show for long is said, told once, counted, and not asked for
// many times a second.
func TestStalenessThatLasts(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) { r.Actor.Live = ahead{r.Actor.Live} })
	c := b.create("x", 1)
	b.until(c, "the staleness to be said", func(s *v1beta2.ClusterStatus) bool {
		progressing := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionProgressing)
		return progressing != nil && progressing.Reason == v1beta2.ClusterReasonObservationStale && progressing.Status == metav1.ConditionFalse &&
			strings.Contains(progressing.Message, "there are other Pods than were observed")
	})
	if c.Status.Bootstrap == nil {
		t.Error("the latched beginning is gone from the status")
	}
	for _, condition := range c.Status.Conditions {
		if strings.Contains(condition.Message, "created the Pod") {
			t.Errorf("%s tells of Pods that were not created: %s", condition.Type, condition.Message)
		}
	}
	b.wantEvents(v1beta2.ClusterReasonObservationStale)
	tries := b.metric("etcd_operator_actions_total", "CreatePods", "stale")
	// 25 ms that double make nine tries in some 12 s; watches add a few at the beginning.
	if tries < 1 || tries > 20 {
		t.Errorf("%g tries, want between 1 and 20", tries)
	}
	if counted := b.metric("etcd_operator_stale_passes_total", "x", b.namespace); counted < 1 || counted > tries {
		t.Errorf("%g stale passes are counted, of %g", counted, tries)
	}
	var events eventsv1.EventList
	if err := b.client.List(apiservertest.Context(t), &events, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == v1beta2.ClusterReasonObservationStale && (e.Series != nil || e.Type != "Warning") {
			t.Errorf("the event is %s, and was repeated: %+v", e.Type, e.Series)
		}
	}
	b.delete(c)
}
