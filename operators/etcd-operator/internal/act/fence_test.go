package act_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// fencing is a client beside which somebody asks for a fence once a Pod was created or
// patched through it.
type fencing struct {
	client.Client
	bench *bench
}

func (f *fencing) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	err := f.Client.Create(ctx, o, opts...)
	f.bench.update(fence)
	return err
}

func (f *fencing) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := f.Client.Patch(ctx, o, p, opts...)
	f.bench.update(fence)
	return err
}

// S12: a fence holds from the next effect on, in the middle of an action too.
func TestAFenceInTheMiddleOfAnAction(t *testing.T) {
	pods := []action.NewPod{{Name: "x-a", Role: facts.Joiner}, {Name: "x-b", Role: facts.Joiner}}
	t.Run("between Pods", func(t *testing.T) {
		b := newBench(t)
		b.actor.Client = &fencing{b.client, b}
		wantStale(t, "creating Pods", b.act(b.observe(), creating(pods...)))
		if !b.exists(&corev1.Pod{}, "x-a") || b.exists(&corev1.Pod{}, "x-b") {
			t.Error("want x-a only")
		}
	})
	t.Run("between a volume and its Pod", func(t *testing.T) {
		b := newBench(t, withVolumes)
		b.actor.Client = &fencing{b.client, b}
		wantStale(t, "creating Pods", b.act(b.observe(), creating(pods...)))
		if !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") || b.exists(&corev1.Pod{}, "x-a") || b.exists(&corev1.PersistentVolumeClaim{}, "x-b") {
			t.Error("want the volume x-a only")
		}
	})
	t.Run("between roles", func(t *testing.T) {
		b := newBench(t)
		obs := b.make(pods...)
		b.actor.Client = &fencing{b.client, b}
		wantStale(t, "setting roles", b.act(obs, action.SetRoles{Roles: []action.PodRole{
			{Name: "x-a", UID: podIn(obs, "x-a").UID, Role: facts.Learner}, {Name: "x-b", UID: podIn(obs, "x-b").UID, Role: facts.Learner},
		}}))
		if a, b := b.pod("x-a").Labels[v1beta2.LabelRole], b.pod("x-b").Labels[v1beta2.LabelRole]; a != v1beta2.RoleLearner || b != v1beta2.RoleJoiner {
			t.Errorf("the roles are %s and %s, want only the first to be set", a, b)
		}
	})
	t.Run("after the look at the members", func(t *testing.T) {
		b := newBench(t)
		obs := b.make(pods...)
		obs.Cluster.ClusterID = 0xc1
		obs.Pods[1].Answer = facts.Answer{Reached: true, Read: true, ClusterID: 0xc1}
		list := []facts.Member{{ID: 2, Name: "x-b", Started: true}}
		b.actor.Etcd = fencingEtcd{listing{untouched{t}, []etcdclient.Member{{ID: 2, Name: "x-b", Started: true}}}, b}
		wantStale(t, "deleting a Pod", b.act(obs, action.DeletePod{Name: "x-a", UID: podIn(obs, "x-a").UID, Members: list}))
		if !b.exists(&corev1.Pod{}, "x-a") {
			t.Error("the Pod was deleted")
		}
	})
	t.Run("before the Services", func(t *testing.T) {
		b := newBench(t)
		b.observe()
		b.update(fence)
		wantStale(t, "Services", b.children(2))
		if b.exists(&corev1.Service{}, "x") {
			t.Error("a Service was made")
		}
	})
}

// fencingEtcd is an etcd beside which somebody asks for a fence while it is asked.
type fencingEtcd struct {
	listing
	bench *bench
}

func (f fencingEtcd) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	f.bench.update(fence)
	return f.listing.Ask(ctx, endpoints)
}

// S7: what a restore has retired, and a cache still shows, is neither used nor deleted.
func TestRetiredVolumesAreLeftAlone(t *testing.T) {
	for name, retire := range map[string]func(*corev1.PersistentVolumeClaim){
		"as the contract says": func(c *corev1.PersistentVolumeClaim) {
			delete(c.Labels, v1beta2.LabelCluster)
			c.Labels[v1beta2.LabelRetiredBy] = "r1"
		},
		"with both labels":     func(c *corev1.PersistentVolumeClaim) { c.Labels[v1beta2.LabelRetiredBy] = "r1" },
		"with neither of them": func(c *corev1.PersistentVolumeClaim) { delete(c.Labels, v1beta2.LabelCluster) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withVolumes)
			claim := member.NewClaim(b.cluster, "x-a")
			apiservertest.Create(t, b.client, claim)
			obs := b.observe()
			obs.Cluster.ClusterID = 0xc1
			retire(claim)
			if err := b.client.Update(apiservertest.Context(t), claim); err != nil {
				t.Fatal(err)
			}
			wantStale(t, "a Pod that returns", b.act(obs, creating(action.NewPod{Name: "x-a", Role: facts.Returning})))
			wantStale(t, "the end of the volume", b.act(obs, action.DeleteClaim{Name: "x-a", UID: string(claim.UID), Members: []facts.Member{{ID: 2, Name: "x-b"}}}))
			if b.exists(&corev1.Pod{}, "x-a") || !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
				t.Error("something was done")
			}
		})
	}
}

// The marks of a fence are each one write of the status, and never one of a cluster
// that has changed.
func TestReportOfAFence(t *testing.T) {
	b := newBench(t)
	record := func(a action.Action) {
		t.Helper()
		d := plan.Plan(*b.observe())
		d.Action = a
		if err := b.act(b.observe(), a); err != nil {
			t.Fatalf("%s: %v", action.KindOf(a), err)
		}
		b.mustReport(d)
	}
	b.update(fence)
	before := b.observe()
	record(action.AcknowledgeFence{Restore: "r1"})
	if s := b.cluster.Status; s.FencedBy != "r1" || s.TargetVersion != "3.6.16" || s.CurrentVersion != "" || s.Bootstrap != nil {
		t.Errorf("fenced: the status is %+v", s)
	}
	record(action.LiftFence{Restore: "r1"})
	if s := b.cluster.Status; s.FencedBy != "" || b.observe().Cluster.Existed != "" {
		t.Errorf("lifted: the status is %+v", s)
	}

	record(action.AcknowledgeFence{Restore: "r2"})
	if s := b.cluster.Status; s.FencedBy != "r2" {
		t.Errorf("fenced again: the status is %+v", s)
	}
	seed, err := member.NewPod(b.cluster, member.Options{Name: "x-s", Version: "3.7.3", LauncherImage: "example.com/launcher", Role: v1beta2.RoleSeed})
	if err != nil {
		t.Fatal(err)
	}
	apiservertest.Create(t, b.client, seed)
	record(action.AdoptSeed{Restore: "r2", Name: "x-s", UID: string(seed.UID), ClusterID: 0xc2, Version: "3.7.3"})
	s := b.cluster.Status
	want := &v1beta2.AdoptedSeed{Restore: "r2", Pod: "x-s", PodUID: string(seed.UID)}
	if diff := cmp.Diff(want, s.AdoptedSeed); diff != "" {
		t.Errorf("adoptedSeed (-want +got):\n%s", diff)
	}
	if s.FencedBy != "" || s.ClusterID != "00000000000000c2" || s.CurrentVersion != "3.7.3" || *s.Bootstrap != (v1beta2.BootstrapStatus{Member: "x-s", Token: "r2", AutoCompactionRetention: "1h"}) {
		t.Errorf("adopted: the status is %+v", s)
	}
	if got := seed.Spec.Containers[0].Env; !slices.Contains(got, corev1.EnvVar{Name: member.EnvCompaction, Value: "1h"}) {
		t.Errorf("the seed has %v, and the members after it keep an hour of the history", got)
	}
	if obs := b.observe(); obs.Cluster.ClusterID != 0xc2 || obs.Cluster.Fence.Adopted != *want {
		t.Errorf("adopted: the observation is %+v", obs.Cluster)
	}

	old := b.cluster.DeepCopy()
	b.update(func(c *v1beta2.EtcdCluster) { delete(c.Annotations, v1beta2.AnnotationFence) })
	d := plan.Plan(*before)
	d.Action = action.AcknowledgeFence{Restore: "r3"}
	if _, err := b.actor.Report(apiservertest.Context(t), old, d); !apierrors.IsConflict(err) {
		t.Errorf("a fence that was taken back: error %v, want a conflict", err)
	}
}

// The seed is the Pod that was handed over, by uid, and the EtcdCluster's. It is alone there.
func TestTheSeedIsReadLive(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-s", Role: facts.Joiner}, action.NewPod{Name: "x-other", Role: facts.Joiner}, action.NewPod{Name: "x-going", Role: facts.Joiner})
	terminate := func(name string) {
		t.Helper()
		apiservertest.Bind(t, b.client, b.pod(name), "node")
		if err := b.client.Delete(apiservertest.Context(t), b.pod(name)); err != nil {
			t.Fatal(err)
		}
	}
	terminate("x-going") // it must not hold up the adoption
	adopt := action.AdoptSeed{Restore: "r1", Name: "x-s", UID: podIn(obs, "x-s").UID, ClusterID: 0xc2}
	another := adopt
	another.UID = "other"
	wantStale(t, "another Pod of the name", b.act(obs, another))
	gone := adopt
	gone.Name = "x-gone"
	wantStale(t, "a Pod that is gone", b.act(obs, gone))

	wantStale(t, "a Pod that might serve beside it", b.act(obs, adopt))
	foreign := b.pod("x-other")
	foreign.Annotations[v1beta2.AnnotationRestore] = "r0"
	if err := b.client.Update(apiservertest.Context(t), foreign); err != nil {
		t.Fatal(err)
	}
	if err := b.act(obs, adopt); err != nil {
		t.Errorf("beside the seed of another EtcdRestore: %v", err)
	}
	delete(foreign.Annotations, v1beta2.AnnotationRestore)
	foreign.OwnerReferences = nil
	if err := b.client.Update(apiservertest.Context(t), foreign); err != nil {
		t.Fatal(err)
	}
	if err := b.act(obs, adopt); err != nil {
		t.Error(err)
	}

	terminate("x-s")
	wantStale(t, "a Pod that is being deleted", b.act(obs, adopt))
	wantStale(t, "a Pod that is not the EtcdCluster's", b.act(obs, action.AdoptSeed{Restore: "r1", Name: "x-other", UID: podIn(obs, "x-other").UID}))
}
