package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// awaitUnmanaged waits for a person, before what can wait: restarts, moves and changes of
// the version.
func awaitUnmanaged(v *facts.View) *step.Step {
	said := v.UnmanagedText()
	if said == "" {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonUnmanagedMembers, said).As(action.AwaitsUser)
}
