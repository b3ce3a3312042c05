package controller_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

// Without a kubelet a cluster comes as far as its Pods: all of them at once, after its
// beginning is recorded, beside its Services.
func TestTheBeginning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.create("x", 3)
	b.until(c, "the seed to be waited for", func(s *v1beta2.ClusterStatus) bool { return reason(s, v1beta2.ConditionProgressing) == "StartingSeed" })
	roles := map[string]int{}
	for _, p := range b.pods(c) {
		roles[p.Labels[v1beta2.LabelRole]]++
		if seed := p.Name == c.Status.Bootstrap.Member; seed != (p.Annotations[v1beta2.AnnotationStartPermit] != "") {
			t.Errorf("Pod %s (seed: %t) has the grant %q", p.Name, seed, p.Annotations[v1beta2.AnnotationStartPermit])
		}
	}
	if roles[v1beta2.RoleSeed] != 1 || roles[v1beta2.RoleJoiner] != 2 {
		t.Errorf("the Pods are %v, want a seed and two joiners", roles)
	}
	var services corev1.ServiceList
	if err := b.client.List(apiservertest.Context(t), &services, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(services.Items) != 2 {
		t.Errorf("there are %d Services, want 2", len(services.Items))
	}
	if c.Status.Phase != v1beta2.PhaseCreating || c.Status.ClusterID != "" {
		t.Errorf("the status is %+v", c.Status)
	}
}

// A cluster whose name is another's touches nothing until the name is free.
func TestANameConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x-client", Namespace: b.namespace}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	apiservertest.Create(t, b.client, foreign)
	version := foreign.ResourceVersion
	c := b.create("x", 3)
	b.until(c, "the conflict to be said", func(s *v1beta2.ClusterStatus) bool { return reason(s, v1beta2.ConditionNameConflict) == "NameConflict" })
	apiservertest.Read(t, b.client, foreign)
	if foreign.ResourceVersion != version || len(b.pods(c)) != 0 || c.Status.Bootstrap != nil {
		t.Errorf("something was done: Service %s (was %s), %d Pods, %+v", foreign.ResourceVersion, version, len(b.pods(c)), c.Status.Bootstrap)
	}
	b.wantEvents("NameConflict")

	// Its name led nobody to this cluster, and neither does its end; an edit does.
	b.delete(foreign)
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 1 })
	b.until(c, "the beginning", func(s *v1beta2.ClusterStatus) bool {
		return s.Bootstrap != nil && reason(s, v1beta2.ConditionNameConflict) == ""
	})
}

// A budget of the cluster's name that is another's is not touched, and only the budget
// waits for it.
func TestAForeignBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: b.namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}},
	}
	apiservertest.Create(t, b.client, foreign)
	version := foreign.ResourceVersion
	c := b.create("x", 3)
	b.until(c, "the beginning and the conflict", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionNameConflict) == "NameConflict" && reason(s, v1beta2.ConditionProgressing) == "StartingSeed"
	})
	apiservertest.Read(t, b.client, foreign)
	if foreign.ResourceVersion != version || len(b.pods(c)) != 3 {
		t.Errorf("the budget is of version %s (was %s), and there are %d Pods, want 3", foreign.ResourceVersion, version, len(b.pods(c)))
	}
	b.wantEvents("NameConflict")
}

// What the API server refuses is said, and tried again.
func TestAnActionThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: b.namespace}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	apiservertest.Create(t, b.client, quota)
	// Nobody else counts here.
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	apiservertest.SetStatus(t, b.client, quota)

	c := b.create("x", 1)
	b.until(c, "the failure to be said", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionDegraded) == v1beta2.ClusterReasonPodRejected && strings.Contains(said(s), "exceeded quota")
	})
	b.delete(quota)
	b.until(c, "the seed to be made", func(s *v1beta2.ClusterStatus) bool { return reason(s, v1beta2.ConditionProgressing) == "StartingSeed" })
	if got := b.metric("etcd_operator_actions_total", "CreatePods", "error"); got < 1 {
		t.Errorf("%g failed actions are counted, want at least 1", got)
	}
}

// Each operator looks after the clusters of its scope, and no others.
func TestScope(t *testing.T) {
	t.Parallel()
	clusterwide := func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	}
	for _, wide := range []bool{false, true} {
		t.Run(fmt.Sprintf("cluster-wide %t", wide), func(t *testing.T) {
			b := newBench(t, func(r *controller.Reconciler) { r.ClusterWide = wide })
			annotated, plain := b.create("annotated", 1, clusterwide), b.create("plain", 1)
			mine, other := plain, annotated
			if wide {
				mine, other = annotated, plain
			}
			b.until(mine, "its beginning", func(s *v1beta2.ClusterStatus) bool { return s.Bootstrap != nil })
			apiservertest.Read(t, b.client, other)
			if other.Status.Phase != "" || len(b.pods(other)) != 0 {
				t.Errorf("cluster %s was touched: %+v", other.Name, other.Status)
			}
		})
	}
}

// A cluster counts as long as this operator looks after it.
func TestClustersAreCountedWhileTheyAreOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	deleted, given := b.create("deleted", 1), b.create("given-away", 1)
	for _, c := range []*v1beta2.EtcdCluster{deleted, given} {
		b.until(c, "its beginning", func(s *v1beta2.ClusterStatus) bool { return s.Bootstrap != nil })
	}
	creating := func(want float64) {
		t.Helper()
		etcdtest.Eventually(t, fmt.Sprintf("%g clusters to be counted", want), func() error {
			if got := b.metric("etcd_operator_clusters", "Creating"); got != want {
				return fmt.Errorf("%g are", got)
			}
			return nil
		})
	}
	creating(2)
	b.delete(deleted)
	creating(1)
	b.edit(given, func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	})
	creating(0)
}

// reconciled makes the operator look at the cluster x again, from the beginning.
func (b *bench) reconciled() {
	b.t.Helper()
	before := b.metric("etcd_operator_reconcile_duration_seconds")
	etcdtest.Eventually(b.t, "a reconcile", func() error {
		b.poke("x-client")
		// Two, since one may have begun before.
		if got := b.metric("etcd_operator_reconcile_duration_seconds"); got < before+2 {
			return fmt.Errorf("%g reconciles, %g before", got, before)
		}
		return nil
	})
}

// metric is the value of a series, as [operatortest.Metric]; 0 while there is none.
func (b *bench) metric(name string, labels ...string) float64 {
	b.t.Helper()
	value, _ := operatortest.Metric(b.t, b.metrics, name, labels...)
	return value
}
