package fence

import (
	"fmt"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file say when a cluster is not to be touched at all.

// Deleting leaves a cluster that is being deleted to the garbage collector, which
// follows the owner references (S12).
func Deleting(v *facts.View) *step.Step {
	if !v.Cluster.Deleting {
		return nil
	}
	said := "the EtcdCluster is being deleted"
	if left := v.Cluster.Finalizers; len(left) > 0 {
		said += fmt.Sprintf("; waiting for others to remove its finalizers: %s", strings.Join(left, ", "))
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonDeleting, said+"; Kubernetes deletes what it owns").As(action.Deleting)
}

// Paused obeys spec.paused (S12).
func Paused(v *facts.View) *step.Step {
	if !v.Cluster.Paused {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonPaused, "reconciliation paused by spec.paused: etcd keeps running, but no lost member is replaced; set spec.paused: false to resume").As(action.Paused)
}

// Conflict touches neither objects of others, nor this cluster while they have its names (S12).
func Conflict(v *facts.View) *step.Step {
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

// Legacy does not touch a cluster of the archived operator.
func Legacy(v *facts.View) *step.Step {
	if len(v.LegacyPods) == 0 {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonLegacyMembers, fmt.Sprintf("Pods %s belong to the archived operator and are not touched; follow the migration guide",
		strings.Join(v.LegacyPods, ", "))).As(action.Untouchable)
}

// Unsupported refuses to start an etcd that lacks what this operator relies on:
// learners and the health endpoints.
func Unsupported(v *facts.View) *step.Step {
	if v.Cluster.Bootstrap != nil || etcdversion.Supported(v.Cluster.Version) {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonVersionUnsupported, fmt.Sprintf("etcd %s is not supported; set spec.version to %s or later, such as %s",
		v.Cluster.Version, etcdversion.OldestSupported, etcdversion.Newest())).As(action.Untouchable).Explains(v1beta2.ConditionVersionUnsupported)
}
