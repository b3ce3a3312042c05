package plan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file say when a cluster is not to be touched at all.

// deleting leaves a cluster that is being deleted to the garbage collector, which
// follows the owner references (S12).
func deleting(v *facts.View) *step.Step {
	if !v.Cluster.Deleting {
		return nil
	}
	said := "the EtcdCluster is being deleted"
	if left := v.Cluster.Finalizers; len(left) > 0 {
		said += fmt.Sprintf("; waiting for others to remove its finalizers: %s", strings.Join(left, ", "))
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonDeleting, said+"; Kubernetes deletes what it owns").As(action.Deleting)
}

// paused obeys spec.paused (S12).
func paused(v *facts.View) *step.Step {
	if !v.Cluster.Paused {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonPaused, "reconciliation paused by spec.paused: etcd keeps running, but no lost member is replaced; set spec.paused: false to resume").As(action.Paused)
}

// conflict touches neither objects of others, nor this cluster while they have its names (S12).
func conflict(v *facts.View) *step.Step {
	if len(v.Conflicts) == 0 {
		return nil
	}
	said := fmt.Sprintf("required names are taken by objects that this EtcdCluster does not own: %s; rename this EtcdCluster, or remove them", strings.Join(v.Conflicts, ", "))
	if len(v.Unowned) > 0 {
		said += fmt.Sprintf(": kubectl -n %s delete %s", v.Cluster.Namespace, strings.Join(v.Unowned, " "))
	}
	if v.OrphansInTheWay {
		said += "; the Pods run etcd of an earlier EtcdCluster of this name, whose data can be lost with them: take a snapshot first (etcdctl snapshot save)"
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonNameConflict, said).As(action.Conflicting).Explains(v1beta2.ConditionNameConflict)
}

// orphaned is the condition OrphanedPods; nil if there are none.
func orphaned(v *facts.View) *metav1.Condition {
	if len(v.Orphans) == 0 {
		return nil
	}
	c := condition(v, v1beta2.ConditionOrphanedPods, true, v1beta2.ConditionOrphanedPods, fmt.Sprintf(
		"Pods with this cluster's labels belong to others: %s; the cluster's Services do not route to them, but Services, budgets and policies of your own can still select them", strings.Join(v.Orphans, ", ")))
	return &c
}

// legacy does not touch a cluster of the archived operator.
func legacy(v *facts.View) *step.Step {
	if len(v.LegacyPods) == 0 {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonLegacyMembers, fmt.Sprintf("Pods %s belong to the archived operator and are not touched; follow the migration guide",
		strings.Join(v.LegacyPods, ", "))).As(action.Untouchable)
}

// unsupported refuses to start an etcd that lacks what this operator relies on:
// learners and the health endpoints.
func unsupported(v *facts.View) *step.Step {
	if v.Cluster.Bootstrap != nil || facts.Supported(v.Cluster.Version) {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonVersionUnsupported, fmt.Sprintf("etcd %s is not supported; set spec.version to %s or later, such as %s",
		v.Cluster.Version, facts.OldestSupported, etcdversion.Newest())).As(action.Untouchable).Explains(v1beta2.ConditionVersionUnsupported)
}
