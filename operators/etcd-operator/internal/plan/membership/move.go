package membership

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file replace a member that is healthy: another one is added first,
// and it is removed after (S4, S6). They do no more than say that there is to be one
// member more than size for the time being: it is created, added, promoted, and the
// other one removed by the rules that grow and shrink a cluster.

// moveReason is the reason of what is done to replace a member.
func moveReason(v *facts.View, m *facts.Member) string {
	if isUpdate(v, m) {
		return v1beta2.ClusterReasonUpdatingMembers
	}
	return v1beta2.ClusterReasonMovingMember
}

// isUpdate reports whether a member is replaced to get a Pod as the spec says, and not for want of
// a node or a volume that stays.
func isUpdate(v *facts.View, m *facts.Member) bool {
	p := v.PodOf[m.Name]
	return p != nil && !p.Cordoned && !p.Persistent
}

// moveProgress says how far a replacement is.
func moveProgress(v *facts.View, m *facts.Member, why, what string) string {
	said := fmt.Sprintf("replacing member %s: %s; %s", m.Name, why, what)
	if isUpdate(v, m) {
		return v.UpdateProgress(said)
	}
	return said
}

// replacedBy is what is said of a member that is removed after it was replaced.
func replacedBy(v *facts.View, m *facts.Member) (reason, message string) {
	reason = v1beta2.ClusterReasonMemberMoved
	if isUpdate(v, m) {
		reason = v1beta2.ClusterReasonMemberUpdated
	}
	return reason, fmt.Sprintf("removed member %s, whose replacement has joined: %s", m.Name, v.WhyMove(m))
}

// removalBlocker says why a member that was replaced cannot be removed yet; empty if it can.
// A member that has been down for long is removed in its place (see victim).
func removalBlocker(v *facts.View, victim *facts.Member) string {
	if v.Surplus() == 0 || slices.ContainsFunc(v.Voters, func(m facts.Member) bool { return isLongDown(v, m) }) {
		return ""
	}
	return v.DisruptionBlocker(victim)
}

// isLongDown reports whether a voter has not been ready for so long that it is not waited
// for.
func isLongDown(v *facts.View, m facts.Member) bool {
	p := v.PodOf[m.Name]
	return p != nil && !v.Healthy[m.ID] && !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) > facts.OldPodAge
}

// AwaitNewcomer waits for the learner that is to take the place of a member.
func AwaitNewcomer(v *facts.View) *step.Step {
	m, why := v.ToMove()
	if v.Surplus() == 0 || len(v.Healthy) < len(v.Voters) || v.Learners() == 0 {
		return nil
	}
	for _, l := range v.List {
		if p := v.PodOf[l.Name]; l.Learner && p != nil {
			return step.Wait(step.PollInterval(v, p), moveReason(v, m), moveProgress(v, m, why, fmt.Sprintf("waiting for member %s: %s", l.Name, v.WhyUnhealthy(l))))
		}
	}
	return nil
}

// AwaitMove waits for a Pod that is to take the place of a member, and for the moment to
// go on. Where there is no room for it all stays as it is, and whatever else there is to
// do has been done.
func AwaitMove(v *facts.View) *step.Step {
	m, why := v.ToMove()
	if m == nil {
		return nil
	}
	if v.Surplus() == 0 {
		return step.Wait(step.BlockerPollInterval(v), moveReason(v, m), moveProgress(v, m, why, "waiting to begin: "+v.MoveBlocker()))
	}
	for _, p := range v.Candidates() {
		switch {
		case p.Cordoned:
			return step.Wait(step.Shortly, moveReason(v, m), moveProgress(v, m, why, fmt.Sprintf("no room for the replacement: node %s of Pod %s is cordoned too", p.Node, p.Name)))
		case !p.CanJoin():
			return step.Wait(joinersPollInterval(v), moveReason(v, m), moveProgress(v, m, why, fmt.Sprintf("waiting for Pod %s: %s%s", p.Name, v.Progress(p), v.RevertAdvice(p))))
		}
	}
	if len(v.LowLimits()) > 0 {
		return step.Wait(joinersPollInterval(v), moveReason(v, m), moveProgress(v, m, why, joinersProgress(v)))
	}
	if held := v.DisruptionBlocker(victim(v)); held != "" {
		return step.Wait(step.BlockerPollInterval(v), moveReason(v, m), moveProgress(v, m, why, "waiting to continue: "+held))
	}
	if v.JoinersHeldBack() != nil {
		return step.Wait(step.Idle, moveReason(v, m), moveProgress(v, m, why, v.RejectionsText()))
	}
	return step.Wait(step.Shortly, moveReason(v, m), moveProgress(v, m, why, "waiting for a replacement Pod"))
}
