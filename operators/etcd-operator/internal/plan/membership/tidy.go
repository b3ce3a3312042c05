package membership

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file clear away what belongs to no member, and wait for the rest.
// They are reached only while a quorum answers (S7).

// DeleteLeftoverPods deletes Pods that belong to no member: of removed members, and
// joiners that are not needed any more.
func DeleteLeftoverPods(v *facts.View) *step.Step {
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
	rejected := 0
	for i := range v.Pods {
		p := &v.Pods[i]
		if v.IsMember(p.Name) || !p.DeletingSince.IsZero() || (v.IsCandidate(p) && !needless[p.Name]) || v.IsKept(p) {
			continue
		}
		if v.HasLowLimit(p) && v.Missing() > 0 && v.Now.Sub(p.Created) < facts.LowLimitAge {
			continue // see CreateJoiners
		}
		s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID, Members: v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted orphaned Pod %s", p.Name)).Unannounced()
		if s = step.Try(v, s); s != nil {
			return s
		}
		if rejected++; rejected == mostRejected {
			return nil
		}
	}
	return nil
}

// mostRejected is how many rejected deletions of leftovers are retried, so that any number of leftovers
// causes at most 2 requests a minute of each kind.
const mostRejected = 4

// DeleteLeftoverClaims deletes volumes that belong to no member and that no Pod uses
// (S7).
func DeleteLeftoverClaims(v *facts.View) *step.Step {
	if !v.Settled {
		return nil
	}
	rejected := 0
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.IsMember(c.Name) || c.Deleting || v.PodOf[c.Name] != nil || (v.IsOld(c.Name) && !v.HasRegrown()) {
			continue
		}
		if c.Name == v.UnusedName() && v.Missing() > len(v.Candidates()) {
			continue // its Pod is tried again
		}
		s := step.Do(action.DeleteClaim{Name: c.Name, UID: c.UID, Members: v.List}, v1beta2.ClusterReasonDeletingVolume, fmt.Sprintf("deleted orphaned PVC %s", c.Name))
		if s = step.Try(v, s); s != nil {
			return s
		}
		if rejected++; rejected == mostRejected {
			return nil
		}
	}
	return nil
}

// AwaitMembers waits while a quorum serves but not everyone is there yet.
func AwaitMembers(v *facts.View) *step.Step {
	if v.Missing() > 0 && len(v.Candidates())+len(v.LowLimits()) > 0 && !v.IsOnlyReplacing() {
		return step.Wait(joinersPollInterval(v), v1beta2.ClusterReasonAddingMember, joinersProgress(v))
	}
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		switch {
		case m.IsUnmanaged() && p == nil: // see AwaitUnmanaged
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
		if comes := v.IsOnlyReplacing() && (v.IsCandidate(p) || v.HasLowLimit(p)); !comes && !v.IsMember(p.Name) && !v.IsDeletionRejected(p) { // see AwaitMove
			return step.Wait(step.Idle, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("Pod %s is being deleted", p.Name))
		}
	}
	return nil
}

// AwaitUnmanaged waits for a person, before what can wait: restarts, moves and changes of
// the version.
func AwaitUnmanaged(v *facts.View) *step.Step {
	said := v.UnmanagedText()
	if said == "" {
		return nil
	}
	return step.Wait(step.Idle, v1beta2.ClusterReasonUnmanagedMembers, said).As(action.AwaitsUser)
}
