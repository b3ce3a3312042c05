package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// ownSize is how many members of the operator's own there are to be: Cluster.Size without
// those that it did not make.
func ownSize(v *facts.View) int { return v.Cluster.Size - v.Foreign }

// awaitUnmanaged waits for a person, before what can wait: restarts, moves and changes of
// the version.
func awaitUnmanaged(v *facts.View) *step.Step {
	said := v.UnmanagedText()
	if said == "" {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonUnmanagedMembers, said).As(action.AwaitsUser)
}

// unmanaged is the condition UnmanagedMembers; nil if there are none.
func unmanaged(v *facts.View) *metav1.Condition {
	said := v.UnmanagedText()
	if said == "" {
		return nil
	}
	c := condition(v, v1beta2.ConditionUnmanagedMembers, true, v1beta2.ClusterReasonUnmanagedMembers, said)
	return &c
}
