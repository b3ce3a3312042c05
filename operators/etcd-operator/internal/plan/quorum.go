package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// What this file says of a quorum that is away: whether it may come back, who is
// missing, and why.

// awaitQuorum waits while no quorum answers: nothing is added, removed or deleted
// meanwhile (S4, S7, S9).
func awaitQuorum(v *facts.View) *step.Step {
	if v.HasQuorum() {
		return nil
	}
	if why := v.QuorumLost(); why != "" {
		s := step.Wait(lossPollInterval(v), v1beta2.ClusterReasonQuorumLost, lossReport(v, why)).As(action.QuorumLost).InBrief(why)
		s.NamesBackups = true
		return s
	}
	requeueAfter := step.Shortly
	for i := range v.Pods {
		if p := &v.Pods[i]; step.PollInterval(v, p) == step.FastPoll || (p.IsRestarting() && step.RestartPollInterval(v, p) == step.FastPoll) {
			requeueAfter = step.FastPoll
		}
	}
	s := step.Wait(requeueAfter, v1beta2.ClusterReasonNoQuorum, "waiting for a quorum: "+v.WhoIsMissing()+v.DifferingAdvice()).As(action.NoQuorum)
	if len(v.KnownVoters()) == 1 && v.Cluster.WasUpdating() {
		s.Reason, s.Outcome = v1beta2.ClusterReasonUpdatingMembers, action.InProgress // the only member's Pod is recreated
	}
	if m, _ := v.MemberToRemoveByHand(); m != nil {
		s.RemoveByHand = m.ID
	}
	return s
}
