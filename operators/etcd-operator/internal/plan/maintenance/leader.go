package maintenance

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// MoveLeader transfers the leadership to the member that the annotation move-leader names, once,
// while all members are healthy (S8). A request for what has no vote is refused rather than kept:
// no member of that name comes again.
func MoveLeader(v *facts.View) *step.Step {
	asked, request := v.Cluster.Maintenance.LeaderAsked(), v.Cluster.Maintenance.LeaderRequest
	if asked == "" {
		return nil
	}
	var to, leader *facts.Member
	for i := range v.Voters {
		m := &v.Voters[i]
		if m.Name == asked {
			to = m
		}
		if m.ID == v.Leader {
			leader = m
		}
	}
	if to == nil {
		refused := asked + " is not a voter"
		return step.Do(action.AnswerLeaderRequest{Request: request, Refused: refused}, v1beta2.ClusterReasonLeaderRefused, fmt.Sprintf(
			"leadership not transferred: %s; set the annotation %s to the name of a voter", refused, v1beta2.AnnotationMoveLeader))
	}
	if to == leader {
		return step.Do(action.AnswerLeaderRequest{Request: request}, v1beta2.ClusterReasonLeaderMoved, fmt.Sprintf(
			"member %s leads, as the annotation %s asks", asked, v1beta2.AnnotationMoveLeader))
	}
	if why := v.DisruptionBlocker(nil); why != "" {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonMovingLeader, fmt.Sprintf("waiting to transfer the leadership to %s: %s", asked, why))
	}
	if leader == nil { // all are healthy, and have one
		return nil
	}
	return step.TransferLeadershipTo(leader, to)
}
