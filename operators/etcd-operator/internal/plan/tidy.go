package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file clear away what is no member's, and wait for the rest.
// They are reached only while a quorum answers (S7).

// deleteLeftoverPods deletes Pods that are no member's: of removed members, and
// joiners that are not needed any more.
func deleteLeftoverPods(v *view) *step {
	if !v.settled {
		return nil
	}
	needless := map[string]bool{}
	joiners := v.candidates()
	for n := max(0, v.joinersWanted()); n < len(joiners); n++ {
		needless[joiners[n].Name] = true
	}
	if p := v.strandedForLong(); p != nil {
		needless[p.Name] = true
	}
	for _, p := range joiners {
		// On a node that is to be emptied it can take nobody's place; another one may find
		// a better one, and if not, there is no harm in trying again after a while.
		if v.isOnlyReplacing() && p.Cordoned && v.Now.Sub(p.Created) > oldPodAge {
			needless[p.Name] = true
		}
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if v.isMember(p.Name) || !p.DeletingSince.IsZero() || (v.isCandidate(p) && !needless[p.Name]) || v.isKept(p) {
			continue
		}
		s := do(DeletePod{p.Name, p.UID, v.list}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted orphaned Pod %s", p.Name)).unannounced()
		if !v.isHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// deleteLeftoverClaims deletes volumes that are no member's and that no Pod uses
// (S7).
func deleteLeftoverClaims(v *view) *step {
	if !v.settled {
		return nil
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.isMember(c.Name) || c.Deleting || v.pods[c.Name] != nil || (v.isOld(c.Name) && !v.hasRegrown()) {
			continue
		}
		if c.Name == v.unusedName() && v.missing() > len(v.candidates()) {
			continue // its Pod is tried again
		}
		s := do(DeleteClaim{c.Name, c.UID, v.list}, v1beta2.ClusterReasonDeletingVolume, fmt.Sprintf("deleted orphaned PVC %s", c.Name))
		if !v.isHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// awaitReplacement waits for a Pod that can take a lost member's place.
func awaitReplacement(v *view) *step {
	for _, m := range v.voters {
		if why := v.loss(m); why != "" && v.canRemove(m) {
			return wait(v.joinersPollInterval(), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("replacing lost member %s (%s): %s", m.Name, why, v.joinersProgress())).explains(v1beta2.ConditionRecovering)
		}
	}
	return nil
}

// awaitMembers waits while a quorum serves but not everyone is there yet.
func awaitMembers(v *view) *step {
	if v.missing() > 0 && len(v.candidates()) > 0 && !v.isOnlyReplacing() {
		return wait(v.joinersPollInterval(), v1beta2.ClusterReasonAddingMember, v.joinersProgress())
	}
	for _, m := range v.list {
		p := v.pods[m.Name]
		switch {
		case m.isUnmanaged() && p == nil: // see awaitUnmanaged
		case !v.healthy[m.ID] && p != nil:
			return wait(v.pollInterval(p), v1beta2.ClusterReasonWaitingForMember, v.whoIsMissing())
		case !v.healthy[m.ID]:
			return wait(shortly, v1beta2.ClusterReasonWaitingForMember, v.whoIsMissing())
		}
	}
	if !v.settled {
		return wait(fastPoll, v1beta2.ClusterReasonWaitingForMember, "waiting for the last membership change to settle")
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if comes := v.isOnlyReplacing() && v.isCandidate(p); !comes && !v.isMember(p.Name) { // see awaitMove
			return wait(idle, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("Pod %s is being deleted", p.Name))
		}
	}
	return nil
}

// rest says that all is as it should be.
func rest(v *view) *step {
	if len(v.alarmsOf(NoSpace)) > 0 {
		return wait(v.untilMaintenance(), v1beta2.ClusterReasonNoSpace, v.alarmAdvice()).as(AwaitsUser).inBrief(v.writesRefused())
	}
	return wait(v.untilMaintenance(), v1beta2.ClusterReasonUpToDate, fmt.Sprintf("%d of %d members are healthy", len(v.healthy), v.Cluster.Size)).as(UpToDate)
}

// canAnyJoin reports whether a replacement waits.
func (v *view) canAnyJoin() bool {
	joiners := v.candidates()
	return len(joiners) > 0 && joiners[0].canJoin()
}

// joinersPollInterval is how soon to look again at Pods that are to join.
func (v *view) joinersPollInterval() time.Duration {
	for _, p := range v.candidates() {
		if v.pollInterval(p) == fastPoll {
			return fastPoll
		}
	}
	if len(v.candidates()) == 0 && v.learners() == 0 && v.joinersHeldBack() != nil {
		return idle
	}
	return shortly
}

// joinersProgress says what the next Pod to join waits for.
func (v *view) joinersProgress() string {
	for _, p := range v.candidates() {
		if !p.canJoin() {
			return fmt.Sprintf("waiting for Pod %s: %s", p.Name, v.progress(p))
		}
	}
	for _, p := range v.candidates() {
		return fmt.Sprintf("waiting for etcd to accept another member: Pod %s is ready to join", p.Name)
	}
	if v.missing() > 0 && v.joinersHeldBack() != nil {
		return v.rejections()
	}
	return "waiting for a replacement Pod"
}
