package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// joinTogether is for how long after its creation the others wait for a Pod, so
// that all are added before the first of them starts.
const joinTogether = 5 * time.Second

// joinersWanted is how many Pods there are to be of members to come: as many as are
// missing, and one more while one is stranded. That one stays meanwhile: it keeps the
// place on its node from the next one, and may run after all.
func joinersWanted(v *facts.View) int {
	n := v.Missing()
	if n > 0 && slices.ContainsFunc(v.Candidates(), v.IsStranded) {
		n++
	}
	return n
}

// strandedForLong is the oldest Pod that is to join, if all that there may be are stranded:
// it gives way to another one; nil if not.
func strandedForLong(v *facts.View) *facts.Pod {
	var oldest *facts.Pod
	joiners := v.Candidates()
	for _, p := range joiners {
		if !v.IsStranded(p) {
			return nil
		}
		if oldest == nil || p.Created.Before(oldest.Created) {
			oldest = p
		}
	}
	if v.Missing() <= 0 || len(joiners) <= v.Missing() {
		return nil
	}
	return oldest
}

// clearEndedJoiners deletes the Pods of joiners that have ended for good, such as those
// that were evicted, before others are created.
func clearEndedJoiners(v *facts.View) *step.Step {
	if !v.Settled {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !p.Finished || p.Role != facts.Joiner || v.IsMember(p.Name) || !p.DeletingSince.IsZero() || v.IsKept(p) {
			continue
		}
		s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID, Members: v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted Pod %s, which ended before it could join", p.Name)).Unannounced()
		if !v.IsHeldBack(action.RejectedAction(s.Action)) {
			return s
		}
	}
	return nil
}

// createJoiners makes the Pods of members to come. They are scheduled, addressed
// and waiting before anything is done to the member list.
func createJoiners(v *facts.View) *step.Step {
	if growthWaits(v) || v.OutgrownPods() > 0 {
		return nil
	}
	pods := step.NewJoiners(v, joinersWanted(v)-len(v.Candidates()))
	if len(pods) == 0 {
		return nil
	}
	return step.Do(action.CreatePods{Pods: pods}, v1beta2.ClusterReasonCreatingMembers, step.Created(pods)).Unannounced()
}

// growthWaits reports whether a member is being restarted or defragmented and none is
// lost: nobody is added meanwhile.
func growthWaits(v *facts.View) bool {
	return (v.IsRestarting() || isDefragmentingAny(v)) && !slices.ContainsFunc(v.List, v.IsTerminatingOrLost)
}
