package controller_test

import (
	"slices"
	"testing"

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
