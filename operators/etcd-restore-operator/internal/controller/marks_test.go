package controller_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// The tests of this file take labels and owner references away from what is a cluster's.
// While it is fenced nobody puts them back.

// edit changes an object of the bench's namespace.
func (b *bench) edit(o client.Object, name string, change func()) {
	b.t.Helper()
	o.SetName(name)
	o.SetNamespace(b.namespace)
	apiservertest.Read(b.t, b.client, o)
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := b.client.Patch(apiservertest.Context(b.t), o, client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
}

// An old member serves clients beside the seed as well when somebody has taken from its Pod
// what shows whose it is.
func TestOldMembersAreStoppedWhateverTheyHaveLost(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*corev1.Pod){
		"the label that caches select by": func(p *corev1.Pod) { delete(p.Labels, v1beta2.LabelApp) },
		"the cluster's label":             func(p *corev1.Pod) { delete(p.Labels, v1beta2.LabelCluster) },
		"all labels":                      func(p *corev1.Pod) { p.Labels = nil },
		"the owner reference":             func(p *corev1.Pod) { p.OwnerReferences = nil },
		"the owner reference and the cluster's label": func(p *corev1.Pod) {
			p.OwnerReferences = nil
			delete(p.Labels, v1beta2.LabelCluster)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := b.cluster("x")
			old := &corev1.Pod{}
			b.edit(old, "x-a", func() { take(old) })
			e := b.restore("x")
			b.complete(e)
			b.wantRestored(e, c)
			b.untilGone(old)
		})
	}
}

// A Pod of another owner is nobody's to stop, whatever its labels say.
func TestPodsOfOthersAreNotStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	other := &corev1.Pod{}
	b.edit(other, "x-a", func() {
		other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "1", Controller: new(true)}}
	})
	e := b.restore("x")
	b.complete(e)
	if got := b.pods(c); !slices.Equal(got, []string{"x-a", e.Status.SeedMember}) && !slices.Equal(got, []string{e.Status.SeedMember, "x-a"}) {
		t.Errorf("the Pods are %v, want x-a and the seed %s", got, e.Status.SeedMember)
	}
}

// No watch tells whose Pod it was that has ended, of one that has kept the uid alone.
func TestTheEndOfAPodWithoutLabelsIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	old := &corev1.Pod{}
	b.edit(old, "x-a", func() {
		old.OwnerReferences, old.Labels = nil, map[string]string{v1beta2.LabelOwner: string(c.UID)}
		old.Finalizers = []string{"example.com/hold"}
	})
	e := b.restore("x")
	b.until(e, "the one Pod to be waited for", func(s *v1beta2.RestoreStatus) bool {
		return slices.Equal(s.WaitingFor, []string{"Pod x-a"})
	})
	time.Sleep(time.Second) // what is still on the way arrives
	ended := time.Now()
	b.edit(old, "x-a", func() { old.Finalizers = nil })
	b.complete(e)
	if took := time.Since(ended); took > 15*time.Second {
		t.Errorf("the restore went on %s after the last Pod had ended, want a few seconds", took)
	}
	b.wantRestored(e, c)
}

// Volumes that have lost a label are kept and deleted like those of the other old members,
// or given back.
func TestVolumesThatHaveLostALabel(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*bench, *v1beta2.EtcdCluster, *v1beta2.EtcdRestore) {
		t.Helper()
		b := newBench(t)
		c := b.cluster("x")
		claim := func(name string, take func(map[string]string)) {
			old := &corev1.PersistentVolumeClaim{}
			b.edit(old, name, func() { take(old.Labels) })
		}
		claim("x-a", func(l map[string]string) { delete(l, v1beta2.LabelCluster) })
		claim("x-b", func(l map[string]string) { delete(l, v1beta2.LabelApp) })
		claim("x-c", func(l map[string]string) { clear(l) })
		return b, c, b.restore("x")
	}
	old := []string{"x-a", "x-b", "x-c"}
	t.Run("forward", func(t *testing.T) {
		t.Parallel()
		b, c, e := begin(t)
		b.etcdOperator.small.Store(true)
		b.untilPhase(e, v1beta2.RestoreHandedOff)
		if got := b.claims(v1beta2.LabelRetiredBy, string(e.UID)); !slices.Equal(got, old) {
			t.Errorf("the retired volumes are %v, want %v", got, old)
		}
		b.etcdOperator.small.Store(false)
		b.complete(e)
		b.wantRestored(e, c)
		for _, name := range old {
			b.untilGone(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace}})
		}
	})
	t.Run("backward", func(t *testing.T) {
		t.Parallel()
		b, _, e := begin(t)
		b.kubernetes.seedless.Store(true)
		b.until(e, "the volumes to be retired", func(*v1beta2.RestoreStatus) bool {
			return slices.Equal(b.claims(v1beta2.LabelRetiredBy, string(e.UID)), old)
		})
		apiservertest.Delete(t, b.client, e)
		b.untilGone(e)
		if got := b.claims(v1beta2.LabelCluster, "x"); !slices.Equal(got, old) {
			t.Errorf("the volumes that were given back are %v, want %v", got, old)
		}
	})
}
