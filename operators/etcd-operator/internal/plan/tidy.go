package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// The rules of this file clear away what is no member's, and wait for the rest.
// They are reached only while a quorum answers (S7).

// deleteLeftoverPods deletes Pods that are no member's: of removed members, and
// joiners that are not needed any more.
func deleteLeftoverPods(v *facts.View) *step {
	if !v.Settled {
		return nil
	}
	needless := map[string]bool{}
	joiners := v.Candidates()
	for n := max(0, joinersWanted(v)); n < len(joiners); n++ {
		needless[joiners[n].Name] = true
	}
	if p := strandedForLong(v); p != nil {
		needless[p.Name] = true
	}
	for _, p := range joiners {
		// On a node that is to be emptied it can take nobody's place; another one may find
		// a better one, and if not, there is no harm in trying again after a while.
		if v.IsOnlyReplacing() && p.Cordoned && v.Now.Sub(p.Created) > facts.OldPodAge {
			needless[p.Name] = true
		}
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if v.IsMember(p.Name) || !p.DeletingSince.IsZero() || (v.IsCandidate(p) && !needless[p.Name]) || v.IsKept(p) {
			continue
		}
		s := do(DeletePod{p.Name, p.UID, v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted orphaned Pod %s", p.Name)).unannounced()
		if !v.IsHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// deleteLeftoverClaims deletes volumes that are no member's and that no Pod uses
// (S7).
func deleteLeftoverClaims(v *facts.View) *step {
	if !v.Settled {
		return nil
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.IsMember(c.Name) || c.Deleting || v.PodOf[c.Name] != nil || (v.IsOld(c.Name) && !v.HasRegrown()) {
			continue
		}
		if c.Name == v.UnusedName() && v.Missing() > len(v.Candidates()) {
			continue // its Pod is tried again
		}
		s := do(DeleteClaim{c.Name, c.UID, v.List}, v1beta2.ClusterReasonDeletingVolume, fmt.Sprintf("deleted orphaned PVC %s", c.Name))
		if !v.IsHeldBack(RejectedAction(s.action)) {
			return s
		}
	}
	return nil
}

// awaitReplacement waits for a Pod that can take a lost member's place.
func awaitReplacement(v *facts.View) *step {
	for _, m := range v.Voters {
		if why := v.Loss(m); why != "" && v.CanRemove(m) {
			return wait(joinersPollInterval(v), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("replacing lost member %s (%s): %s", m.Name, why, joinersProgress(v))).explains(v1beta2.ConditionRecovering)
		}
	}
	return nil
}

// awaitMembers waits while a quorum serves but not everyone is there yet.
func awaitMembers(v *facts.View) *step {
	if v.Missing() > 0 && len(v.Candidates()) > 0 && !v.IsOnlyReplacing() {
		return wait(joinersPollInterval(v), v1beta2.ClusterReasonAddingMember, joinersProgress(v))
	}
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		switch {
		case m.IsUnmanaged() && p == nil: // see awaitUnmanaged
		case !v.Healthy[m.ID] && p != nil:
			return wait(pollInterval(v, p), v1beta2.ClusterReasonWaitingForMember, v.WhoIsMissing())
		case !v.Healthy[m.ID]:
			return wait(shortly, v1beta2.ClusterReasonWaitingForMember, v.WhoIsMissing())
		}
	}
	if !v.Settled {
		return wait(fastPoll, v1beta2.ClusterReasonWaitingForMember, "waiting for the last membership change to settle")
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if comes := v.IsOnlyReplacing() && v.IsCandidate(p); !comes && !v.IsMember(p.Name) { // see awaitMove
			return wait(idle, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("Pod %s is being deleted", p.Name))
		}
	}
	return nil
}

// rest says that all is as it should be.
func rest(v *facts.View) *step {
	if len(v.AlarmsOf(facts.NoSpace)) > 0 {
		return wait(untilMaintenance(v), v1beta2.ClusterReasonNoSpace, v.AlarmAdvice()).as(AwaitsUser).inBrief(v.WritesRefused())
	}
	return wait(untilMaintenance(v), v1beta2.ClusterReasonUpToDate, fmt.Sprintf("%d of %d members are healthy", len(v.Healthy), v.Cluster.Size)).as(UpToDate)
}

// canAnyJoin reports whether a replacement waits.
func canAnyJoin(v *facts.View) bool {
	joiners := v.Candidates()
	return len(joiners) > 0 && joiners[0].CanJoin()
}

// joinersPollInterval is how soon to look again at Pods that are to join.
func joinersPollInterval(v *facts.View) time.Duration {
	for _, p := range v.Candidates() {
		if pollInterval(v, p) == fastPoll {
			return fastPoll
		}
	}
	if len(v.Candidates()) == 0 && v.Learners() == 0 && v.JoinersHeldBack() != nil {
		return idle
	}
	return shortly
}

// joinersProgress says what the next Pod to join waits for.
func joinersProgress(v *facts.View) string {
	for _, p := range v.Candidates() {
		if !p.CanJoin() {
			return fmt.Sprintf("waiting for Pod %s: %s", p.Name, v.Progress(p))
		}
	}
	for _, p := range v.Candidates() {
		return fmt.Sprintf("waiting for etcd to accept another member: Pod %s is ready to join", p.Name)
	}
	if v.Missing() > 0 && v.JoinersHeldBack() != nil {
		return v.RejectionsText()
	}
	return "waiting for a replacement Pod"
}
