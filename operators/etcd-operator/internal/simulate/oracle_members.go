package simulate

import (
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of actions on etcd: changes of membership, and leadership.

// settled checks that a membership change was decided on the list of the newest
// linearizable read, that H is a quorum of it, and that all of H agree (S3).
func (k *check) settled(members []facts.Member) *Violation {
	if k.o.Cluster.ClusterID == 0 {
		return violation("S1", "changes members before the cluster id is latched")
	}
	read := k.newest()
	if read == nil || !slices.Equal(read.Members, members) {
		return violation("S3", "no linearizable read gave the list %s, or a later one gave another", describeMembers(members))
	}
	k.leader, k.alarms, k.voters, k.learners = read.Leader, read.Alarms, nil, nil
	k.healthy = map[uint64]bool{} // one that was promoted, and does not know it yet, is not in it
	for _, m := range members {
		if a := k.answer(m); a != nil && a.Leader == read.Leader && a.Term == read.Term {
			k.applied = max(k.applied, a.Applied)
		}
	}
	for _, m := range members {
		if m.Learner {
			k.learners = append(k.learners, m)
			continue
		}
		k.voters = append(k.voters, m)
		a := k.answer(m)
		if a == nil || a.Learner || a.Leader == 0 || a.Leader != read.Leader || a.Term != read.Term || len(a.Errors) > 0 || a.Applied+maxLag < k.applied || k.isCorrupt(m.ID) || a.Refused != "" {
			continue
		}
		k.healthy[m.ID] = true
		if !slices.Equal(a.Members, members) {
			return violation("S3", "%s lists %s, and %s was decided on", m.Name, describeMembers(a.Members), describeMembers(members))
		}
	}
	if len(k.healthy) < quorum(len(k.voters)) {
		return violation("S3", "%d of %d voters are healthy", len(k.healthy), len(k.voters))
	}
	return nil
}

func (k *check) addLearner(a action.AddLearner) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	if v := k.grows(a.Members); v != nil {
		return v
	}
	p := k.pod(a.Name)
	if p == nil || p.Node == "" || !p.Addressed || !p.Answer.Waiting {
		return violation("S4", "%s is added, and its Pod does not wait under its address", a.Name)
	}
	if slices.ContainsFunc(a.Members, func(m facts.Member) bool { return m.Name == a.Name }) {
		return violation("S3", "%s is added twice", a.Name)
	}
	if v := k.surplus(a.Members, p); v != nil {
		return v
	}
	if k.replays35(p) {
		return violation("S3", "%s is added, and replays what 3.5 may have refused", a.Name)
	}
	if len(k.learners) == 0 {
		return nil
	}
	for _, m := range a.Members {
		q := k.pod(m.Name)
		if q == nil || q.Learners != p.Learners || p.Learners < 2 {
			return violation("S3", "a further learner is added, and %s may have another limit", m.Name)
		}
		if an := k.answer(m); (m.Started && (an == nil || an.Version < "3.6")) || (!m.Started && q.Version < "3.6") {
			return violation("S3", "a further learner is added, and %s may be older than 3.6", m.Name)
		}
	}
	return nil
}

func (k *check) promote(a action.Promote) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	m := findMember(k.learners, a.ID)
	if m == nil || m.Name != a.Name {
		return violation("S5", "%s is not a learner in the list", a.Name)
	}
	if m.Foreign {
		return violation("S9", "%s gets a vote, and a person has added it", a.Name)
	}
	an := k.answer(*m)
	if an == nil || an.Applied+maxLag < k.applied || an.Leader != k.leader || len(an.Errors) > 0 || k.isCorrupt(a.ID) {
		return violation("S5", "learner %s has not answered itself, caught up", a.Name)
	}
	if k.pod(a.Name).StartPermit != nil {
		return violation("S2", "learner %s gets a vote, and may still start without data", a.Name)
	}
	if n := len(k.voters); n > 1 && len(k.healthy) < quorum(n+1) {
		return violation("S5", "%d of %d voters are healthy without learner %s", len(k.healthy), n, a.Name)
	}
	if b := k.d.Budget; k.o.Cluster.DisruptionBudget && b != facts.KeepBudget && max(k.size(), len(k.voters)+1) >= 3 && b < quorum(len(k.voters)+1) {
		return violation("Budget", "%s becomes voter %d under a PodDisruptionBudget of %d", a.Name, len(k.voters)+1, b)
	}
	return nil
}

func (k *check) removeMember(a action.RemoveMember) *Violation {
	if v := k.settled(a.Members); v != nil {
		return v
	}
	m := findMember(a.Members, a.ID)
	if m == nil || m.Name != a.Name {
		return violation("S4", "%s is not in the list", a.Name)
	}
	if m.Foreign || m.At != "" {
		return violation("S9", "%s is removed, and a person has added or moved it", a.Name)
	}
	size := k.size()
	if m.Learner {
		if k.answer(*m) != nil && len(k.voters) < size && len(a.Members) <= size && !k.given(a.Name) && !k.isCorrupt(a.ID) {
			return violation("S9", "learner %s is removed, and it answers", a.Name)
		}
		return nil
	}
	left := len(k.voters) - 1
	others := len(k.healthy)
	if k.healthy[a.ID] {
		others--
	}
	if others < quorum(left) {
		return violation("S4", "%s is removed and leaves %d voters, %d of them healthy", a.Name, left, others)
	}
	if a.ID == k.leader && others > 0 && k.answer(*m) != nil { // else nobody can ask it
		return violation("S8", "%s is removed, and it leads", a.Name)
	}
	if k.healthy[a.ID] {
		if left < size {
			return violation("S9", "%s is removed, and it is healthy and wanted", a.Name)
		}
		if others < left {
			return violation("S6", "%s is removed, and another voter is not healthy", a.Name)
		}
		return nil
	}
	if left >= size {
		return nil // one too many, and the one that is not healthy goes
	}
	if !k.given(a.Name) && !k.isCorrupt(a.ID) {
		return violation("S9", "%s is removed, and nothing says that it is lost", a.Name)
	}
	if !k.dataGone(a.Name) && !k.isCorrupt(a.ID) && !k.crowdsOut(a.Name) && !k.replacementWaits(a.Members) && k.standing(a.Members) < size {
		return violation("S4", "%s is removed, and no replacement waits", a.Name)
	}
	return nil
}

// given reports whether a member may be given up (S9).
func (k *check) given(name string) bool {
	if k.dataGone(name) {
		return true
	}
	if k.neverStarted(name) {
		return true // it has nothing to lose: such as one whose version the cluster does not take
	}
	p := k.pod(name)
	if p == nil {
		return false
	}
	expired := func(since time.Time) bool {
		return !since.IsZero() && k.o.Now.Sub(since) >= k.o.Cluster.MemberTimeout
	}
	if k.broken(p) || k.volumeLost(p) || k.losesClaim(p) && expired(p.UnreadySince) {
		return true
	}
	return p.Finished || expired(p.NodeLostSince) || expired(p.DeletingSince) || (p.Unschedulable != "" && expired(p.Created))
}

// dataGone reports whether a member's data is known to be lost.
func (k *check) dataGone(name string) bool {
	p := k.pod(name)
	if p == nil {
		return !k.hasClaim(name)
	}
	onVolume := p.Persistent && slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == name })
	return isEmpty(p) || (p.Answer.Waiting && k.neverStarted(name)) || (p.Finished && !onVolume) || (p.Persistent && p.Node == "" && !onVolume)
}

// neverStarted reports whether a member that is listed has had no data yet.
func (k *check) neverStarted(name string) bool {
	return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && slices.ContainsFunc(p.Answer.Members, func(m facts.Member) bool { return m.Name == name && !m.Started })
	})
}

// isEmpty reports whether a Pod's own launcher has found no data for seconds.
func isEmpty(p *facts.Pod) bool {
	return p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited >= 3*time.Second
}

// standing counts the members that are not given up: voters, and learners that
// answer and can take a lost voter's place.
func (k *check) standing(list []facts.Member) int {
	n := 0
	for _, m := range list {
		answers := k.answer(m) != nil
		if (!k.given(m.Name) || answers) && !k.isCorrupt(m.ID) && (!m.Learner || answers) {
			n++
		}
	}
	return n
}

func (k *check) replacementWaits(members []facts.Member) bool {
	return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return p.Role == facts.Joiner && p.Answer.Waiting && p.Node != "" &&
			!slices.ContainsFunc(members, func(m facts.Member) bool { return m.Name == p.Name })
	})
}

func (k *check) transferLeadership(a action.TransferLeadership) *Violation {
	for i := range k.o.Pods {
		an := &k.o.Pods[i].Answer
		if !k.ours(an) || !an.Read || an.Leader == 0 {
			continue
		}
		to, from := findMember(an.Members, a.ToID), findMember(an.Members, an.Leader)
		if to == nil || from == nil || from.Name != a.From || to.Name != a.To || to.Learner {
			continue
		}
		k.alarms = an.Alarms
		if t := k.answer(*to); t != nil && t.Leader == an.Leader && len(t.Errors) == 0 && !k.isCorrupt(to.ID) {
			return nil
		}
	}
	return violation("S8", "the lead moves from %s to %s, which is not known to follow it", a.From, a.To)
}
