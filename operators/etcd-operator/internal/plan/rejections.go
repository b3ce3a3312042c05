package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// awaitAccepted waits for Pods of joiners that the API server refuses: nothing is done to
// members while some are missing (S6). Those that are to take the place of a member that
// serves are waited for in awaitMove.
func awaitAccepted(v *facts.View) *step.Step {
	if v.Missing() <= len(v.Candidates()) || v.IsOnlyReplacing() {
		return nil
	}
	r := v.JoinersHeldBack()
	if r == nil {
		return nil
	}
	return step.Wait(joinersPollInterval(v), r.Reason(), v.RejectionsText()).As(action.Rejected).Explains(v1beta2.ConditionDegraded)
}
