package act_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// selecting looks after each write whether the Services and the budget select the voter
// x-a, and how.
type selecting struct {
	client.Client
	b *bench
}

func (s selecting) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := s.Client.Apply(ctx, o, opts...)
	s.b.wantSelected()
	return err
}

func (s selecting) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := s.Client.Patch(ctx, o, p, opts...)
	s.b.wantSelected()
	return err
}

func (b *bench) wantSelected() {
	b.t.Helper()
	pod := b.pod("x-a")
	for what, selector := range b.selectors() {
		if !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			b.t.Errorf("%s selects %v: the Pod with %v is dropped", what, selector, pod.Labels)
		}
	}
}

// selectors are those of the Services and the budget that there are.
func (b *bench) selectors() map[string]map[string]string {
	b.t.Helper()
	found := map[string]map[string]string{}
	for _, name := range []string{"x", "x-client"} {
		var s corev1.Service
		if b.exists(&s, name) {
			found["Service "+name] = s.Spec.Selector
		}
	}
	var pdb policyv1.PodDisruptionBudget
	if b.exists(&pdb, "x") {
		found["budget"] = pdb.Spec.Selector.MatchLabels
	}
	return found
}

func (b *bench) selectByOwner() int {
	b.t.Helper()
	n := 0
	for _, selector := range b.selectors() {
		if selector[v1beta2.LabelOwner] == string(b.cluster.UID) {
			n++
		}
	}
	return n
}

// Pods that an earlier release made are labelled first, and Services and the budget
// narrowed in a later pass: at no moment is a voter without its clients.
func TestServicesAreNarrowedAfterPodsAreLabelled(t *testing.T) {
	b := newBench(t)
	b.make(action.NewPod{Name: "x-a", Role: facts.Voter})
	b.strip(b.pod("x-a"), v1beta2.LabelOwner)
	apiservertest.Read(t, b.client, b.cluster)
	for _, o := range []client.Object{member.PeerService(b.cluster), member.ClientService(b.cluster), member.DisruptionBudget(b.cluster, 1)} {
		member.SelectByName(o)
		apiservertest.Create(t, b.client, o)
	}
	b.actor.Client = selecting{b.client, b}
	b.mustHaveChildren(1)
	if b.pod("x-a").Labels[v1beta2.LabelOwner] != string(b.cluster.UID) || b.selectByOwner() != 0 {
		t.Errorf("after one pass the Pod has the labels %v, and %d select by the owner, want none yet", b.pod("x-a").Labels, b.selectByOwner())
	}
	b.mustHaveChildren(1)
	if n := b.selectByOwner(); n != 3 {
		t.Errorf("%d select by the owner, want all three: %v", n, b.selectors())
	}

	// Once narrowed they stay so: a Pod that loses the label gets it back, and a stranger
	// is never let in.
	b.actor.Client = b.client
	b.strip(b.pod("x-a"), v1beta2.LabelOwner)
	for range 2 {
		b.mustHaveChildren(1)
		if n := b.selectByOwner(); n != 3 {
			t.Errorf("%d select by the owner, want all three to go on: %v", n, b.selectors())
		}
	}
	b.wantSelected()
	stranger := labels.Set{v1beta2.LabelApp: v1beta2.AppEtcd, v1beta2.LabelCluster: "x", v1beta2.LabelRole: v1beta2.RoleVoter}
	for what, selector := range b.selectors() {
		if labels.SelectorFromSet(selector).Matches(stranger) {
			t.Errorf("%s selects a voter of an earlier cluster: %v", what, selector)
		}
	}
}
