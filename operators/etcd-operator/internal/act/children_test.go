package act_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func (b *bench) children(budget int) error {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	return b.actor.Children(apiservertest.Context(b.t), b.cluster, budget)
}

func (b *bench) mustHaveChildren(budget int) {
	b.t.Helper()
	if err := b.children(budget); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) service(name string) *corev1.Service {
	b.t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace}}
	apiservertest.Read(b.t, b.client, s)
	return s
}

// minAvailable is the budget's; 0 if there is none.
func (b *bench) minAvailable() int {
	b.t.Helper()
	var pdb policyv1.PodDisruptionBudget
	if !b.exists(&pdb, "x") {
		return 0
	}
	return pdb.Spec.MinAvailable.IntValue()
}

func TestServices(t *testing.T) {
	b := newBench(t)
	b.mustHaveChildren(facts.KeepBudget)

	peer, cl := b.service("x"), b.service("x-client")
	if peer.Spec.ClusterIP != corev1.ClusterIPNone || !peer.Spec.PublishNotReadyAddresses {
		t.Errorf("the headless Service is %+v", peer.Spec)
	}
	if cl.Spec.Selector[v1beta2.LabelRole] != v1beta2.RoleVoter || cl.Spec.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("the client Service is %+v: it must select voters only", cl.Spec)
	}
	var found corev1.ServiceList
	if err := b.client.List(apiservertest.Context(t), &found, client.InNamespace(b.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: "x"}); err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != 2 {
		t.Errorf("%d Services are found by -l etcd_cluster=x, want 2", len(found.Items))
	}
	if b.minAvailable() != 0 {
		t.Error("there is a PodDisruptionBudget, and nobody asked for one")
	}
}

// S11, and an idle cluster costs nothing: what is as it is to be is not written, also
// after the API server has filled in its defaults.
func TestChildrenAreNotWrittenTwice(t *testing.T) {
	b := newBench(t)
	b.mustHaveChildren(2)
	versions := func() [3]string {
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.cluster.Namespace}}
		apiservertest.Read(t, b.client, pdb)
		return [3]string{b.service("x").ResourceVersion, b.service("x-client").ResourceVersion, pdb.ResourceVersion}
	}
	before := versions()
	counting := &countingWrites{Client: b.client}
	b.actor.Client = counting
	b.mustHaveChildren(2)
	b.mustHaveChildren(facts.KeepBudget)
	if after := versions(); after != before || counting.writes != 0 {
		t.Errorf("%d writes, versions %v, before %v", counting.writes, after, before)
	}
}

// What others add is theirs, what they change of ours is brought back.
func TestChildrenOfOurs(t *testing.T) {
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec.Service = &v1beta2.ServicePolicy{Annotations: map[string]string{"example.com/ours": "1"}}
	})
	b.mustHaveChildren(2)
	s := b.service("x-client")
	s.Annotations["example.com/theirs"] = "1"
	s.Labels["example.com/theirs"] = "1"
	s.Annotations["example.com/ours"] = "2"
	s.Spec.Selector = map[string]string{"app": "other"}
	if err := b.client.Update(apiservertest.Context(t), s); err != nil {
		t.Fatal(err)
	}
	b.mustHaveChildren(2)
	s = b.service("x-client")
	if s.Annotations["example.com/ours"] != "1" || s.Spec.Selector[v1beta2.LabelRole] != v1beta2.RoleVoter {
		t.Errorf("ours was not brought back: %v, %v", s.Annotations, s.Spec.Selector)
	}
	if s.Annotations["example.com/theirs"] != "1" || s.Labels["example.com/theirs"] != "1" {
		t.Errorf("theirs was taken away: %v, %v", s.Annotations, s.Labels)
	}

	if err := b.client.Delete(apiservertest.Context(t), s); err != nil {
		t.Fatal(err)
	}
	b.mustHaveChildren(2)
	b.service("x-client")
}

// An edit of the spec reaches the Service, and nothing that the API server has
// allocated is lost.
func TestChildrenFollowTheSpec(t *testing.T) {
	b := newBench(t)
	b.mustHaveChildren(2)
	ip := b.service("x-client").Spec.ClusterIP
	b.update(func(c *v1beta2.EtcdCluster) {
		c.Spec.Service = &v1beta2.ServicePolicy{Type: corev1.ServiceTypeNodePort}
	})
	b.mustHaveChildren(2)
	s := b.service("x-client")
	if s.Spec.Type != corev1.ServiceTypeNodePort || s.Spec.ClusterIP != ip || s.Spec.Ports[0].NodePort == 0 {
		t.Errorf("the client Service is %+v, want a NodePort at %s", s.Spec, ip)
	}
	before := s.ResourceVersion
	b.mustHaveChildren(2)
	if after := b.service("x-client").ResourceVersion; after != before {
		t.Error("a NodePort Service is written every time")
	}
}

// A client Service that somebody has narrowed or widened would lose clients, or send
// them to learners.
func TestTheSelectorIsOurs(t *testing.T) {
	b := newBench(t)
	b.mustHaveChildren(2)
	s := b.service("x-client")
	want := maps.Clone(s.Spec.Selector)
	s.Spec.Selector["example.com/theirs"] = "1"
	if err := b.client.Update(apiservertest.Context(t), s); err != nil {
		t.Fatal(err)
	}
	b.mustHaveChildren(2)
	if got := b.service("x-client").Spec.Selector; !maps.Equal(got, want) {
		t.Errorf("the selector is %v, want %v", got, want)
	}
}

// What the user takes out of the spec goes from the Service too.
func TestAnnotationsThatAreTakenAwayGo(t *testing.T) {
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Spec.Service = &v1beta2.ServicePolicy{Annotations: map[string]string{"example.com/a": "1", "example.com/b": "1"}}
	})
	b.mustHaveChildren(2)
	b.update(func(c *v1beta2.EtcdCluster) { delete(c.Spec.Service.Annotations, "example.com/b") })
	b.mustHaveChildren(2)
	if got := b.service("x-client").Annotations; got["example.com/a"] != "1" || got["example.com/b"] != "" {
		t.Errorf("annotations are %v, want example.com/a only", got)
	}
}

// S12: what somebody else made under our name is never touched.
func TestForeignServicesAreLeftAlone(t *testing.T) {
	other := newBench(t, func(c *v1beta2.EtcdCluster) { c.Name = "other" })
	for name, owners := range map[string][]metav1.OwnerReference{
		"nobody's":               nil,
		"another EtcdCluster's":  {member.Owner(other.cluster)},
		"an earlier EtcdCluster": {func() metav1.OwnerReference { o := member.Owner(other.cluster); o.Name = "x"; return o }()},
	} {
		b := newBench(t)
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "x-client", Namespace: b.cluster.Namespace, OwnerReferences: owners, Labels: member.Selector("x")},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "other"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		apiservertest.Create(t, b.client, foreign)
		wantStale(t, name, b.children(2))
		if got := b.service("x-client"); got.ResourceVersion != foreign.ResourceVersion {
			t.Errorf("%s: the Service was changed", name)
		}
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t)
	for _, step := range []struct{ budget, want int }{
		{facts.NoBudget, 0}, {facts.KeepBudget, 0}, {1, 1}, {2, 2}, {facts.KeepBudget, 2}, {3, 3}, {2, 2}, {facts.NoBudget, 0}, {facts.NoBudget, 0}, {2, 2},
	} {
		b.mustHaveChildren(step.budget)
		if got := b.minAvailable(); got != step.want {
			t.Fatalf("with budget %d minAvailable is %d, want %d", step.budget, got, step.want)
		}
	}
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.cluster.Namespace}}
	apiservertest.Read(t, b.client, pdb)
	want := map[string]string{v1beta2.LabelCluster: "x", v1beta2.LabelRole: v1beta2.RoleVoter, v1beta2.LabelOwner: string(b.cluster.UID)}
	if !maps.Equal(pdb.Spec.Selector.MatchLabels, want) || *pdb.Spec.UnhealthyPodEvictionPolicy != policyv1.IfHealthyBudget {
		t.Errorf("the budget is %+v", pdb.Spec)
	}
}

func TestForeignBudgetsAreLeftAlone(t *testing.T) {
	b := newBench(t)
	foreign := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.cluster.Namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(7)), Selector: &metav1.LabelSelector{}},
	}
	apiservertest.Create(t, b.client, foreign)
	b.mustHaveChildren(facts.NoBudget)
	b.mustHaveChildren(facts.KeepBudget)
	b.mustHaveChildren(2)
	if got := b.minAvailable(); got != 7 {
		t.Errorf("minAvailable is %d, want the 7 of somebody else", got)
	}
}
