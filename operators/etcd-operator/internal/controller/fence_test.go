package controller_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file play the restore operator. Their seed has a new data dir in
// place of one from a snapshot.

// restoring is one restore of a cluster.
type restoring struct {
	*bench
	c   *v1beta2.EtcdCluster
	uid string
}

// patch changes annotations, if the fence is (or, before, is not) acknowledged.
func (r *restoring) patch(ops ...map[string]any) error {
	data, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	return r.client.Patch(apiservertest.Context(r.t), r.c.DeepCopy(), client.RawPatch(types.JSONPatchType, data))
}

func path(annotation string) string {
	return "/metadata/annotations/etcd.database.coreos.com~1" + annotation[len(v1beta2.GroupName)+1:]
}

func (r *restoring) holdsFence() map[string]any {
	return map[string]any{"op": "test", "path": "/status/fencedBy", "value": r.uid}
}

func (r *restoring) set(annotation, value string) map[string]any {
	return map[string]any{"op": "add", "path": path(annotation), "value": value}
}

func (r *restoring) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// fence asks for the fence and waits for its acknowledgement.
func (r *restoring) fence() {
	r.t.Helper()
	r.edit(r.c, func(c *v1beta2.EtcdCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[v1beta2.AnnotationFence] = r.uid
	})
	r.acknowledged()
}

func (r *restoring) acknowledged() {
	r.t.Helper()
	r.until(r.c, "the fence to be acknowledged", func(s *v1beta2.ClusterStatus) bool {
		return s.FencedBy == r.uid && reason(s, v1beta2.ConditionProgressing) == "Fenced"
	})
}

// stop stops the old members and retires their volumes.
func (r *restoring) stop() {
	r.t.Helper()
	for _, p := range r.pods(r.c) {
		r.delete(&p)
	}
	etcdtest.Eventually(r.t, "the old members to end", func() error {
		if n := len(r.pods(r.c)); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	for _, claim := range r.claims(client.MatchingLabels{v1beta2.LabelCluster: r.c.Name}) {
		delete(claim.Labels, v1beta2.LabelCluster)
		claim.Labels[v1beta2.LabelRetiredBy] = r.uid
		r.must(r.client.Update(apiservertest.Context(r.t), &claim))
	}
}

func (r *restoring) claims(of client.ListOption) []corev1.PersistentVolumeClaim {
	r.t.Helper()
	var list corev1.PersistentVolumeClaimList
	r.must(r.client.List(apiservertest.Context(r.t), &list, client.InNamespace(r.namespace), of))
	return list.Items
}

// seed makes a seed.
func (r *restoring) seed(name string) *corev1.Pod {
	r.t.Helper()
	if claim := member.NewClaim(r.c, name); claim != nil {
		apiservertest.Create(r.t, r.client, claim)
	}
	p, err := member.NewPod(r.c, member.Options{
		Name: name, Version: cmp.Or(r.c.Status.CurrentVersion, r.c.Status.TargetVersion), LauncherImage: "example.com/etcd-operator:test", Role: v1beta2.RoleSeed,
		StartPermit: &launcher.StartPermit{Attempt: 1, State: launcher.StateNew, Token: r.uid,
			InitialCluster: member.InitialCluster([]member.Peer{{Name: name, URL: member.PeerURL(r.c, name)}})},
	})
	r.must(err)
	apiservertest.Create(r.t, r.client, p)
	return p
}

// handOver hands a seed over and waits for its adoption.
func (r *restoring) handOver(p *corev1.Pod) {
	r.t.Helper()
	r.must(r.patch(r.holdsFence(), map[string]any{"op": "remove", "path": path(v1beta2.AnnotationFence)},
		r.set(v1beta2.AnnotationSeeded, fmt.Sprintf("%s/%s/%s", r.uid, p.Name, p.UID))))
	r.until(r.c, "the seed to be adopted", func(s *v1beta2.ClusterStatus) bool {
		return s.AdoptedSeed != nil && *s.AdoptedSeed == v1beta2.AdoptedSeed{Restore: r.uid, Pod: p.Name, PodUID: string(p.UID)}
	})
	if s := &r.c.Status; s.FencedBy != "" || s.Bootstrap.Member != p.Name || s.Bootstrap.Token != r.uid {
		r.t.Errorf("the status is %+v", s)
	}
}

// A cluster with volumes is fenced and given back, then restored, and restored again.
func TestRestoresInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	// A JSON patch adds an annotation only where there is one.
	c := b.create("x", 3, withVolumes, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{"example.com/a": "b"} })
	b.untilHealthy(c, 3)
	first, names := c.Status.ClusterID, memberNames(&c.Status)
	if got := c.Status.HighestRevision; got != 2_000 {
		t.Errorf("the highest revision is %d, want 2000", got)
	}

	given := &restoring{b, c, "uid-1"}
	given.fence()
	given.stop()
	b.edit(c, func(c *v1beta2.EtcdCluster) { delete(c.Annotations, v1beta2.AnnotationFence) })
	b.reconciled()
	if pods := b.pods(c); len(pods) > 0 || c.Status.FencedBy != "uid-1" {
		t.Fatalf("%d Pods were made, fenced by %q", len(pods), c.Status.FencedBy)
	}
	for _, claim := range given.claims(client.MatchingLabels{v1beta2.LabelRetiredBy: "uid-1"}) {
		delete(claim.Labels, v1beta2.LabelRetiredBy)
		claim.Labels[v1beta2.LabelCluster] = c.Name
		given.must(b.client.Update(apiservertest.Context(t), &claim))
	}
	given.must(given.patch(given.holdsFence(), given.set(v1beta2.AnnotationFenceLifted, "uid-1")))
	b.untilHealthy(c, 3)
	if got := memberNames(&c.Status); !slices.Equal(got, names) || c.Status.ClusterID != first || c.Status.FencedBy != "" {
		t.Errorf("cluster %s has the members %v, fenced by %q; want %s and %v", c.Status.ClusterID, got, c.Status.FencedBy, first, names)
	}

	old := c.Status.ClusterID
	for _, uid := range []string{"uid-2", "uid-3"} {
		r := &restoring{b, c, uid}
		r.fence()
		r.stop()
		p := r.seed("x-seed-" + uid)
		if err := (&restoring{b, c, "uid-1"}).patch((&restoring{b, c, "uid-1"}).holdsFence(), r.set(v1beta2.AnnotationSeeded, "uid-1/a/b")); !apierrors.IsInvalid(err) {
			t.Errorf("a restore that does not hold the fence hands over: error %v", err)
		}
		r.handOver(p)
		b.untilHealthy(c, 3)
		if c.Status.ClusterID == old || !slices.Contains(memberNames(&c.Status), p.Name) {
			t.Errorf("cluster %s (was %s) has the members %v, want the seed %s in another", c.Status.ClusterID, old, memberNames(&c.Status), p.Name)
		}
		old = c.Status.ClusterID
		if n := len(r.claims(client.MatchingLabels{v1beta2.LabelRetiredBy: uid})); n != 3 {
			t.Errorf("%d retired volumes are there, want 3", n)
		}
	}
	b.wantEvents("Fenced", "FenceLifted", "SeedAdopted")
}

// underWay is for how long what was begun may still take effect: a second less than the
// operator waits.
const underWay = 11 * time.Second

// A cluster that is made for a restore has no member, and no Service, before the seed.
func TestBornFenced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	begun := time.Now()
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationFence: "uid-1"} })
	r := &restoring{b, c, "uid-1"}
	r.acknowledged()
	if d := time.Since(begun); d > underWay {
		t.Errorf("the fence was acknowledged after %s, and there was nothing to wait for", d)
	}
	var services corev1.ServiceList
	r.must(b.client.List(apiservertest.Context(t), &services, client.InNamespace(b.namespace)))
	if pods := b.pods(c); len(pods)+len(services.Items) > 0 || c.Status.Bootstrap != nil || c.Status.TargetVersion != version {
		t.Errorf("%d Pods and %d Services were made; the status is %+v", len(pods), len(services.Items), c.Status)
	}
	r.handOver(r.seed("x-seed"))
	b.untilHealthy(c, 3)
	if c.Status.HighestRevision == 0 {
		t.Error("no revision is recorded")
	}
}

// losing is a client that is not told of the next Pod that it creates once lose is set.
type losing struct {
	client.Client
	lose atomic.Bool
	// lost is when it was not told last.
	lost atomic.Pointer[time.Time]
}

func (l *losing) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	err := l.Client.Create(ctx, o, opts...)
	if _, ok := o.(*corev1.Pod); ok && err == nil && l.lose.CompareAndSwap(true, false) {
		now := time.Now()
		l.lost.Store(&now)
		return errors.New("connection reset by peer")
	}
	return err
}

// S12: a call that was not answered may still take effect for as long as an action may
// last; no fence is acknowledged before that.
func TestAFenceWaitsForWhatWasNotAnswered(t *testing.T) {
	t.Parallel()
	l := &losing{}
	b := newBench(t, func(r *controller.Reconciler) { l.Client, r.Actor.Client = r.Actor.Client, l })
	c := b.create("x", 1)
	b.until(c, "the seed to be made", func(s *v1beta2.ClusterStatus) bool { return reason(s, v1beta2.ConditionProgressing) == "StartingSeed" })
	time.Sleep(underWay + 2*time.Second) // by now what another operator had begun has ended

	l.lose.Store(true)
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 2 })
	etcdtest.Eventually(t, "a call without an answer", func() error {
		if l.lost.Load() == nil {
			return errors.New("none yet")
		}
		return nil
	})
	(&restoring{b, c, "uid-1"}).fence()
	if d := time.Since(*l.lost.Load()); d < underWay {
		t.Errorf("the fence was acknowledged %s after a call that was not answered", d)
	}
	begun := time.Now()
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Annotations[v1beta2.AnnotationFenceLifted] = "uid-1"
		delete(c.Annotations, v1beta2.AnnotationFence)
	})
	b.until(c, "the fence to be lifted", func(s *v1beta2.ClusterStatus) bool { return s.FencedBy == "" })
	(&restoring{b, c, "uid-2"}).fence()
	if d := time.Since(begun); d > underWay {
		t.Errorf("the next fence was acknowledged after %s, and there was nothing to wait for", d)
	}
}
