package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file clear away what is no member's, and wait for the rest.
// They are reached only while a quorum answers (S7).

// deleteLeftoverPods deletes Pods that are no member's: of removed members, and
// joiners that are not needed any more.
func deleteLeftoverPods(v *facts.View) *step.Step {
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
		s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID, Members: v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted orphaned Pod %s", p.Name)).Unannounced()
		if !v.IsHeldBack(action.RejectedAction(s.Action)) {
			return s
		}
	}
	return nil
}

// deleteLeftoverClaims deletes volumes that are no member's and that no Pod uses
// (S7).
func deleteLeftoverClaims(v *facts.View) *step.Step {
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
		s := step.Do(action.DeleteClaim{Name: c.Name, UID: c.UID, Members: v.List}, v1beta2.ClusterReasonDeletingVolume, fmt.Sprintf("deleted orphaned PVC %s", c.Name))
		if !v.IsHeldBack(action.RejectedAction(s.Action)) {
			return s
		}
	}
	return nil
}

// awaitReplacement waits for a Pod that can take a lost member's place.
func awaitReplacement(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		if why := v.Loss(m); why != "" && v.CanRemove(m) {
			return step.Wait(joinersPollInterval(v), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("replacing lost member %s (%s): %s", m.Name, why, joinersProgress(v))).Explains(v1beta2.ConditionRecovering)
		}
	}
	return nil
}

// awaitMembers waits while a quorum serves but not everyone is there yet.
func awaitMembers(v *facts.View) *step.Step {
	if v.Missing() > 0 && len(v.Candidates()) > 0 && !v.IsOnlyReplacing() {
		return step.Wait(joinersPollInterval(v), v1beta2.ClusterReasonAddingMember, joinersProgress(v))
	}
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		switch {
		case m.IsUnmanaged() && p == nil: // see awaitUnmanaged
		case !v.Healthy[m.ID] && p != nil:
			return step.Wait(step.PollInterval(v, p), v1beta2.ClusterReasonWaitingForMember, v.WhoIsMissing())
		case !v.Healthy[m.ID]:
			return step.Wait(step.Shortly, v1beta2.ClusterReasonWaitingForMember, v.WhoIsMissing())
		}
	}
	if !v.Settled {
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonWaitingForMember, "waiting for the last membership change to settle")
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if comes := v.IsOnlyReplacing() && v.IsCandidate(p); !comes && !v.IsMember(p.Name) { // see awaitMove
			return step.Wait(step.Idle, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("Pod %s is being deleted", p.Name))
		}
	}
	return nil
}

// canAnyJoin reports whether a replacement waits.
func canAnyJoin(v *facts.View) bool {
	joiners := v.Candidates()
	return len(joiners) > 0 && joiners[0].CanJoin()
}

// joinersPollInterval is how soon to look again at Pods that are to join.
func joinersPollInterval(v *facts.View) time.Duration {
	for _, p := range v.Candidates() {
		if step.PollInterval(v, p) == step.FastPoll {
			return step.FastPoll
		}
	}
	if len(v.Candidates()) == 0 && v.Learners() == 0 && v.JoinersHeldBack() != nil {
		return step.Idle
	}
	return step.Shortly
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
