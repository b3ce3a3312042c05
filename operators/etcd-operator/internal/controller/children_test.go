package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
)

// budgets is a quota's name for PodDisruptionBudgets.
const budgets corev1.ResourceName = "count/poddisruptionbudgets.policy"

// A Service or a PodDisruptionBudget that the API server refuses is told in Degraded, with
// its words, and by one event for each. The cluster goes on by itself once there is room.
func TestChildrenThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		resource corev1.ResourceName
		reason   string
	}{
		"Services":             {resource: corev1.ResourceServices, reason: v1beta2.ClusterReasonServiceRejected},
		"PodDisruptionBudgets": {resource: budgets, reason: v1beta2.ClusterReasonPodDisruptionBudgetRejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			podtest.StartKubelet(t, b.client, b.namespace)
			q := b.quota(row.resource, "0")
			c := b.create("x", 3)
			b.until(c, "the refusal to be said", func(s *v1beta2.ClusterStatus) bool {
				return reason(s, v1beta2.ConditionDegraded) == row.reason && strings.Contains(message(s, v1beta2.ConditionDegraded), "exceeded quota: q")
			})
			if c.Status.MinAvailable != 0 {
				t.Errorf("the status tells a budget of %d, and there is none", c.Status.MinAvailable)
			}
			b.delete(q)
			b.until(c, "the cluster, and that nothing is refused", func(s *v1beta2.ClusterStatus) bool {
				return s.ReadyMembers == "3/3" && s.MinAvailable == 2 && reason(s, v1beta2.ConditionDegraded) == "AllHealthy"
			})
			told := b.warnings(row.reason)
			if len(told) != 1 || !strings.Contains(told[0], "exceeded quota: q") {
				t.Errorf("the warnings are %q, want one with the API server's words", told)
			}
		})
	}
}
