package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// What this file says of a quorum that is away: whether it may come back, who is
// missing, and why.

// awaitQuorum waits while no quorum answers: nothing is added, removed or deleted
// meanwhile (S4, S7, S9).
func awaitQuorum(v *view) *step {
	if v.hasQuorum() {
		return nil
	}
	if why := v.quorumLost(); why != "" {
		s := wait(v.lossPollInterval(), v1beta2.ClusterReasonQuorumLost, v.lossReport(why)).as(QuorumLost).inBrief(why)
		s.namesBackups = true
		return s
	}
	requeueAfter := shortly
	for i := range v.Pods {
		if p := &v.Pods[i]; v.pollInterval(p) == fastPoll || (p.isRestarting() && v.restartPollInterval(p) == fastPoll) {
			requeueAfter = fastPoll
		}
	}
	s := wait(requeueAfter, v1beta2.ClusterReasonNoQuorum, "waiting for a quorum: "+v.whoIsMissing()+v.differingAdvice()).as(NoQuorum)
	if len(v.knownVoters()) == 1 && v.Cluster.wasUpdating() {
		s.reason, s.outcome = v1beta2.ClusterReasonUpdatingMembers, InProgress // the only member's Pod is recreated
	}
	if m, _ := v.memberToRemoveByHand(); m != nil {
		s.removeByHand = m.ID
	}
	return s
}

// differingAdvice says what a person can do where a quorum lacks a member whose data differs:
// the operator removes none without a quorum of the others. Empty if no member's data differs.
func (v *view) differingAdvice() string {
	if !v.isAnyDiffering() {
		return ""
	}
	const safe = "; the operator removes no member until a majority with the same data is healthy"
	if m, why := v.memberToRemoveByHand(); m != nil {
		return safe + ": " + removeByHand(*m, why) + orRestore
	}
	return safe + ": bring its members back" + orRestore
}

// isAnyDiffering reports whether the data of any voter differs.
func (v *view) isAnyDiffering() bool {
	return slices.ContainsFunc(v.voters, func(m Member) bool { return v.Cluster.differs(m.ID) })
}

// memberToRemoveByHand is the member that a person is to remove next where a quorum lacks one
// whose data differs, and why it: first those whose data is lost for good, and, when nobody else
// is missing, those whose data differs. They still vote, so that etcd carries it out. It is nil
// if there is none.
func (v *view) memberToRemoveByHand() (m *Member, why string) {
	if !v.sure || !v.isAnyDiffering() {
		return nil, ""
	}
	var lost, differing []Member
	for _, m := range v.voters {
		switch {
		case v.healthy[m.ID] || m.isUnmanaged():
		case v.dataGone(m):
			lost = append(lost, m)
		case v.Cluster.differs(m.ID):
			differing = append(differing, m)
		}
	}
	missing := len(v.voters) - len(v.healthy) - len(lost) - len(differing)
	switch {
	case len(lost) > 0:
		return &lost[0], "its data is lost for good"
	case missing == 0 && len(v.healthy) > 0 && len(differing) > 0:
		return &differing[0], "its data differs"
	}
	return nil, ""
}

// orRestore is the other way out of a quorum that lacks one whose data differs.
const orRestore = ", or restore the cluster from a backup with an EtcdRestore"

// removeByHand is what a person writes to remove a member that the operator does not.
func removeByHand(m Member, why string) string {
	return fmt.Sprintf("run etcdctl member remove %016x (%s: %s)", m.ID, cmp.Or(m.Name, "no name"), why)
}

// quorumLost says that a majority's data is lost for good, if it is so as far as
// anyone could tell: a membership change in the last moment may be unknown.
func (v *view) quorumLost() string {
	if v.sure {
		return ""
	}
	voters := v.knownVoters()
	if len(voters) == 0 && v.canAnyHoldData() {
		return ""
	}
	var lost []string
	for _, m := range voters {
		if v.dataGone(m) {
			lost = append(lost, m.Name)
		}
	}
	switch {
	case len(voters) == 0:
		return "no member is left, and no data"
	case len(voters)-len(lost) >= quorum.Majority(len(voters)):
		return ""
	}
	return fmt.Sprintf("the data of %d of %d voters is lost: %s", len(lost), len(voters), strings.Join(lost, ", "))
}

// canAnyHoldData reports whether any Pod or volume may hold a member's data.
func (v *view) canAnyHoldData() bool {
	return slices.ContainsFunc(v.Pods, func(p Pod) bool { return !v.isCandidate(&p) && !p.isEmpty() }) ||
		slices.ContainsFunc(v.Claims, func(c Claim) bool { return v.pods[c.Name] == nil })
}

// knownVoters are the voters, or while nobody tells (a member that restarts without
// quorum does not answer) those that were last reported. What is lost is said by
// them, and which Pod without data gives way; nothing else rests on them.
func (v *view) knownVoters() []Member {
	if len(v.list) > 0 {
		return v.voters
	}
	var voters []Member
	for _, d := range v.Cluster.LastStatus.MemberDetails {
		if d.Role == v1beta2.MemberVoter {
			voters = append(voters, Member{Name: d.Name, Started: true, Foreign: d.Unmanaged})
		}
	}
	b := v.Cluster.Bootstrap
	if len(voters) == 0 && b != nil && b.Adopted {
		// Whoever has a volume may have a vote.
		for _, c := range v.Claims {
			voters = append(voters, Member{Name: c.Name, Started: true})
		}
		return voters
	}
	if len(voters) == 0 && b != nil {
		// Nothing has been reported since the seed served.
		voters = append(voters, Member{Name: b.Member, Started: true})
	}
	return voters
}

// dataGone reports whether a member's data is lost for good. A node that is gone
// may come back with it.
func (v *view) dataGone(m Member) bool {
	p := v.pods[m.Name]
	switch {
	case m.isUnmanaged():
		return false
	case p == nil:
		return v.claims[m.Name] == nil
	}
	return v.hasEnded(p) || v.pvcMissing(p) || v.isWiped(m, p)
}

// whoIsMissing says of each member that is not healthy why it is not.
func (v *view) whoIsMissing() string {
	var said []string
	for _, m := range v.list {
		if v.healthy[m.ID] {
			continue
		}
		said = append(said, v.nameOrID(m.ID)+": "+v.whyUnhealthy(m))
	}
	if len(v.list) == 0 {
		for i := range v.Pods {
			p := &v.Pods[i]
			said = append(said, p.Name+": "+v.progress(p))
		}
	}
	switch {
	case len(said) > 0:
		return strings.Join(said, "; ")
	case len(v.list) > 0:
		return notSettled
	}
	return "no member answers"
}

// whyUnhealthy says in words what is wrong with a member.
func (v *view) whyUnhealthy(m Member) string {
	if why := v.loss(m); why != "" {
		return why
	}
	p := v.pods[m.Name]
	if p == nil {
		if m.isUnmanaged() {
			return "the operator manages no Pod for it, so its health is unknown"
		}
		if r := v.returnHeldBack(m); r != nil {
			return "its Pod is missing and cannot be created: " + r.Words
		}
		return "its Pod is missing"
	}
	a := v.answer(m)
	switch {
	case v.isCrashing(p):
		return v.doubt(m, p)
	case v.seemsWiped(m, p):
		return v.whyEmptinessUncertain(p)
	case a == nil && p.Answer.Reached:
		return fmt.Sprintf("etcd of another cluster (%016x) answers in its place", p.Answer.ClusterID)
	case a == nil:
		return v.progress(p)
	case a.Refused != "":
		return "etcd's authentication refuses the operator"
	case v.Cluster.differs(m.ID):
		return "its data differs from that of the majority"
	case v.isCorrupt(m.ID):
		return "alarm CORRUPT names it: its data differs from that of the others"
	case a.Leader == 0:
		return "it has no leader"
	case len(a.Errors) > 0:
		return fmt.Sprintf("etcd reports %q", strings.Join(a.Errors, ", "))
	}
	return "it is catching up"
}
