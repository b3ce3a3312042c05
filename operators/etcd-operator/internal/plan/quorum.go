package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What this file says of a quorum that is away: whether it may come back, who is
// missing, and why.

// awaitQuorum waits while no quorum answers: nothing is added, removed or deleted
// meanwhile (S4, S7, S9).
func awaitQuorum(v *facts.View) *step {
	if v.HasQuorum() {
		return nil
	}
	if why := v.QuorumLost(); why != "" {
		s := wait(lossPollInterval(v), v1beta2.ClusterReasonQuorumLost, lossReport(v, why)).as(QuorumLost).inBrief(why)
		s.namesBackups = true
		return s
	}
	requeueAfter := shortly
	for i := range v.Pods {
		if p := &v.Pods[i]; pollInterval(v, p) == fastPoll || (p.IsRestarting() && restartPollInterval(v, p) == fastPoll) {
			requeueAfter = fastPoll
		}
	}
	s := wait(requeueAfter, v1beta2.ClusterReasonNoQuorum, "waiting for a quorum: "+v.WhoIsMissing()+v.DifferingAdvice()).as(NoQuorum)
	if len(v.KnownVoters()) == 1 && v.Cluster.WasUpdating() {
		s.reason, s.outcome = v1beta2.ClusterReasonUpdatingMembers, InProgress // the only member's Pod is recreated
	}
	if m, _ := v.MemberToRemoveByHand(); m != nil {
		s.removeByHand = m.ID
	}
	return s
}
