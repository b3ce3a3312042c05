package membership

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// crowdsOut reports whether a member whose data is broken most likely has the place that
// its replacement waits for: that has not been scheduled for the member timeout. The
// others can do without either as well as with a member that is down.
func crowdsOut(v *facts.View, m facts.Member, p *facts.Pod) bool {
	return v.IsDamaged(m, p) && slices.ContainsFunc(v.Candidates(), func(j *facts.Pod) bool { return j.Node == "" && j.Unschedulable != "" && v.IsExpired(j.ExistsSince()) })
}

// RemoveStrays removes members without a vote that will never start or are not
// wanted: what a crashed operator left half done, and learners that are lost.
func RemoveStrays(v *facts.View) *step.Step {
	for _, m := range v.List {
		if !m.Learner || m.IsUnmanaged() {
			continue
		}
		why := v.Loss(m)
		if why == "" && staying(v) >= v.Cluster.Size+v.Surplus() {
			why = fmt.Sprintf("there are %d voters already", len(v.Voters))
		}
		if why != "" && v.CanRemove(m) {
			s := step.Do(removal(v, m), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed learner %s: %s", v.NameOrID(m.ID), why))
			if s = step.Try(v, s); s != nil {
				return s
			}
		}
	}
	return nil
}

// staying counts the voters that are not lost, nor about to be.
func staying(v *facts.View) int {
	n := 0
	for _, m := range v.Voters {
		if !v.IsTerminatingOrLost(m) {
			n++
		}
	}
	return n
}

// RemoveLost removes a voter that is lost, once its replacement waits, or at once
// if none is wanted: if the replacement can't be placed, nothing is removed, and a
// node that comes back heals it (S4). Nothing heals a member whose disk is empty, or which
// a CORRUPT alarm names (and etcd refuses writes as long as it does), and its Pod may be
// what takes the replacement's place: it is not waited for.
func RemoveLost(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		why := v.Loss(m)
		// One that leads is alive, whatever is known of its Pod.
		if why == "" || m.ID == v.Leader || !v.CanRemove(m) {
			continue
		}
		p := v.PodOf[m.Name]
		hopeless := v.IsCorrupt(m.ID) || (p != nil && (v.IsWiped(m, p) || crowdsOut(v, m, p)))
		if !hopeless && !hasReplacement(v) {
			continue // see AwaitReplacement
		}
		if v.Answer(m) != nil { // as one that is ready it would count for the PodDisruptionBudget until it has ended
			if s := step.Drain(v, &m, facts.Leaving, v1beta2.ClusterReasonReplacingDeadMember, "its removal: "+why); s != nil {
				return s
			}
		}
		s := step.Do(removal(v, m), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("removed member %s: %s", m.Name, why)).
			Explains(v1beta2.ConditionRecovering).Needs((*facts.Rejection).IsOfStatus)
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// hasReplacement reports whether those who stay and those who can take a place at once are
// as many as are wanted.
func hasReplacement(v *facts.View) bool {
	if canAnyJoin(v) {
		return true
	}
	n := 0
	for _, m := range v.List {
		if !v.IsTerminatingOrLost(m) && (!m.Learner || v.CaughtUp(m)) {
			n++
		}
	}
	return n >= v.Cluster.Size
}

func removal(v *facts.View, m facts.Member) action.RemoveMember {
	return action.RemoveMember{ID: m.ID, Name: m.Name, Members: v.List, Pod: v.PodOf[m.Name]}
}

// Shrink removes one member more than size asks for: its clients first, then its
// leadership, then its vote.
func Shrink(v *facts.View) *step.Step {
	victim := victim(v)
	if victim == nil || !canShrink(v, victim) || removalBlocker(v, victim) != "" {
		return nil // a change of the version is brought to its end first
	}
	reason := v1beta2.ClusterReasonScalingDown
	if v.WhyMove(victim) != "" {
		reason = moveReason(v, victim)
	}
	if !v.CanRemove(*victim) {
		return step.Wait(step.Shortly, reason, fmt.Sprintf("waiting to remove member %s until the others keep quorum: %s", victim.Name, v.WhoIsMissing()))
	}
	if v.Healthy[victim.ID] && isOtherUnhealthy(v, victim) {
		return step.Wait(step.Shortly, reason, fmt.Sprintf("waiting to remove member %s until all others are healthy: %s", victim.Name, v.WhoIsMissing()))
	}
	if s := step.Drain(v, victim, facts.Leaving, reason, "its removal"); s != nil {
		return s
	}
	if v.WhyMove(victim) != "" {
		if s := step.AwaitUnrouted(v, victim, reason, "its removal"); s != nil {
			return s
		}
		said, message := replacedBy(v, victim)
		return step.Do(removal(v, *victim), said, message)
	}
	return step.Do(removal(v, *victim), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed member %s, one of %d voters: %d wanted", victim.Name, len(v.Voters), v.Cluster.Size))
}

// isOtherUnhealthy reports whether a voter with a Pod of the operator's is not healthy, beside
// the one that is about to leave (S6). It would be the one to leave, were it the operator's
// to remove.
func isOtherUnhealthy(v *facts.View, victim *facts.Member) bool {
	return slices.ContainsFunc(v.Voters, func(m facts.Member) bool { return m.ID != victim.ID && !m.Foreign && !v.Healthy[m.ID] })
}

// victim is the voter to remove when there are too many: the one that is already leaving,
// else one that is not healthy, else one that is to be replaced, else a follower, the
// leader last (S6, S8). Among equals it is one on the node with the most members, then
// the youngest. It is none that is not the operator's to remove.
func victim(v *facts.View) *facts.Member {
	if len(v.Voters) <= v.Cluster.Size || v.Cluster.Size < 1 {
		return nil
	}
	onNode := map[string]int{}
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil {
			onNode[p.Node]++
		}
	}
	cost := func(m facts.Member) [5]int64 {
		p := v.PodOf[m.Name]
		if p == nil {
			return [5]int64{}
		}
		return [5]int64{
			boolInt(v.Healthy[m.ID]),
			boolInt(v.WhyMove(&m) == ""),
			boolInt(p.Role != facts.Leaving) + boolInt(m.ID == v.Leader),
			-int64(onNode[p.Node]),
			-p.Created.Unix(),
		}
	}
	var victim *facts.Member
	for _, m := range v.Voters {
		if m.IsUnmanaged() {
			continue
		}
		if victim == nil {
			victim = &m
			continue
		}
		if a, b := cost(m), cost(*victim); slices.Compare(a[:], b[:]) < 0 {
			victim = &m
		}
	}
	return victim
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// AwaitReplacement waits for a Pod that can take a lost member's place.
func AwaitReplacement(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		if why := v.Loss(m); why != "" && v.CanRemove(m) {
			return step.Wait(joinersPollInterval(v), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("replacing lost member %s (%s): %s", m.Name, why, joinersProgress(v))).Explains(v1beta2.ConditionRecovering)
		}
	}
	return nil
}
