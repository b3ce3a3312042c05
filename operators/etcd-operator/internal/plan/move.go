package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file replace a member that is healthy: another one is added first,
// and it is removed after (S4, S6). They do no more than say that there is to be one
// member more than size for the time being: it is created, added, promoted, and the
// other one removed by the rules that grow and shrink a cluster.

// toMove is the voter to be replaced next, and why: one without a volume whose Pod is
// not as the spec says, or one whose node is to be emptied. Followers come first, the
// leader last; it is nil if there is none, and while a member is unmanaged.
func (v *view) toMove() (next *Member, why string) {
	if slices.ContainsFunc(v.list, Member.isUnmanaged) {
		return nil, "" // see awaitUnmanaged
	}
	for i := range v.voters {
		m := &v.voters[i]
		if reason := v.whyMove(m); reason != "" && (next == nil || next.ID == v.leader) {
			next, why = m, reason
		}
	}
	return next, why
}

// whyMove says why a member is to be replaced though nothing is wrong with it; empty if
// it is not.
func (v *view) whyMove(m *Member) string {
	p := v.pods[m.Name]
	switch {
	case p == nil:
		return ""
	case p.Cordoned:
		return fmt.Sprintf("its node %s is cordoned", p.Node)
	case v.hasOldTemplate(p) && !p.Persistent:
		return "its Pod is not up to date"
	}
	return ""
}

// surplus is how many members more than size there are to be for now: one while a member
// is being replaced that is healthy. It begins once all members are healthy, and ends as soon as
// there is nothing left to replace; if a member is lost meanwhile, the new one replaces that.
func (v *view) surplus() int {
	if m, _ := v.toMove(); m == nil || len(v.voters) < v.Cluster.Size || slices.ContainsFunc(v.voters, v.isTerminatingOrLost) {
		return 0
	}
	begun := v.learners() > 0 || len(v.voters) > v.Cluster.Size || len(v.candidates()) > 0
	if begun || v.moveBlocker() == "" {
		return 1
	}
	return 0
}

// moveBlocker says why no member is added for the sake of another just now.
func (v *view) moveBlocker() string {
	switch {
	case v.Cluster.Target != "":
		return "an upgrade is in progress"
	case v.isRestarting():
		return "a member is being restarted"
	}
	return v.disruptionBlocker(nil)
}

// isOnlyReplacing reports whether the one member that is to be added is only for the sake of
// another that is to be replaced: there are as many as are wanted.
func (v *view) isOnlyReplacing() bool { return v.surplus() > 0 && v.missing() <= v.surplus() }

// moveReason is the reason of what is done to replace a member.
func (v *view) moveReason(m *Member) string {
	if v.isCordoned(m) {
		return v1beta2.ClusterReasonMovingMember
	}
	return v1beta2.ClusterReasonUpdatingMembers
}

// isCordoned reports whether a member's node is to be emptied.
func (v *view) isCordoned(m *Member) bool {
	p := v.pods[m.Name]
	return p != nil && p.Cordoned
}

// moveProgress says how far a replacement is.
func (v *view) moveProgress(m *Member, why, what string) string {
	said := fmt.Sprintf("replacing member %s: %s; %s", m.Name, why, what)
	if !v.isCordoned(m) {
		return v.updateProgress(said)
	}
	return said
}

// replacedBy is what is said of a member that is removed after it was replaced.
func (v *view) replacedBy(m *Member) (reason, message string) {
	reason = v1beta2.ClusterReasonMemberMoved
	if !v.isCordoned(m) {
		reason = v1beta2.ClusterReasonMemberUpdated
	}
	return reason, fmt.Sprintf("removed member %s, whose replacement has joined: %s", m.Name, v.whyMove(m))
}

// removalBlocker says why a member that was replaced cannot be removed yet; empty if it can.
// A member that has been down for long is removed in its place (see victim).
func (v *view) removalBlocker(victim *Member) string {
	if v.surplus() == 0 || slices.ContainsFunc(v.voters, func(m Member) bool { return v.isLongDown(m) }) {
		return ""
	}
	return v.disruptionBlocker(victim)
}

// isLongDown reports whether a voter has not been ready for so long that it is not waited
// for.
func (v *view) isLongDown(m Member) bool {
	p := v.pods[m.Name]
	return p != nil && !v.healthy[m.ID] && !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) > oldPodAge
}

// awaitNewcomer waits for the learner that is to take the place of a member.
func awaitNewcomer(v *view) *step {
	m, why := v.toMove()
	if v.surplus() == 0 || len(v.healthy) < len(v.voters) || v.learners() == 0 {
		return nil
	}
	for _, l := range v.list {
		if p := v.pods[l.Name]; l.Learner && p != nil {
			return wait(v.pollInterval(p), v.moveReason(m), v.moveProgress(m, why, fmt.Sprintf("waiting for member %s: %s", l.Name, v.whyUnhealthy(l))))
		}
	}
	return nil
}

// awaitMove waits for a Pod that is to take the place of a member, and for the moment to
// go on. Where there is no room for it all stays as it is, and whatever else there is to
// do has been done.
func awaitMove(v *view) *step {
	m, why := v.toMove()
	if m == nil {
		return nil
	}
	if v.surplus() == 0 {
		return wait(v.blockerPollInterval(), v.moveReason(m), v.moveProgress(m, why, "waiting to begin: "+v.moveBlocker()))
	}
	for _, p := range v.candidates() {
		switch {
		case p.Cordoned:
			return wait(shortly, v.moveReason(m), v.moveProgress(m, why, fmt.Sprintf("no room for the replacement: node %s of Pod %s is cordoned too", p.Node, p.Name)))
		case !p.canJoin():
			return wait(v.joinersPollInterval(), v.moveReason(m), v.moveProgress(m, why, fmt.Sprintf("waiting for Pod %s: %s%s", p.Name, v.progress(p), v.revertAdvice(p))))
		}
	}
	if held := v.disruptionBlocker(v.victim()); held != "" {
		return wait(v.blockerPollInterval(), v.moveReason(m), v.moveProgress(m, why, "waiting to continue: "+held))
	}
	if v.joinersHeldBack() != nil {
		return wait(idle, v.moveReason(m), v.moveProgress(m, why, v.rejections()))
	}
	return wait(shortly, v.moveReason(m), v.moveProgress(m, why, "waiting for a replacement Pod"))
}
