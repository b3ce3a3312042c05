package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// MaxLag is how many log entries a member's applied index may be behind the
// leader's for the member to count as caught up. It is etcd's own default of
// SnapshotCatchUpEntries: a member that is nearer needs no snapshot.
const MaxLag = 5000

// readList picks the member list: the one of the most advanced answer, among
// those whose linearizable read succeeded if there are any.
func (v *Members) readList() {
	var best *Answer
	for i := range v.Pods {
		a := &v.Pods[i].Answer
		if !v.Ours(a) || len(a.Members) == 0 || a.Learner {
			continue
		}
		if best == nil || better(a, best) {
			best = a
		}
	}
	if best == nil {
		return
	}
	v.Sure, v.List = best.Read, best.Members
	v.Leader, v.term, v.Alarms = best.Leader, best.Term, best.Alarms
	for _, m := range v.List {
		if !m.Learner {
			v.Voters = append(v.Voters, m)
		}
	}
}

// better reports whether a's member list is more recent than b's, as far as can be told.
func better(a, b *Answer) bool {
	if a.Read != b.Read {
		return a.Read
	}
	if a.Term != b.Term {
		return a.Term > b.Term
	}
	return a.Applied > b.Applied
}

// Ours reports whether an answer is from etcd of this cluster, not of another one
// that happens to run under our names.
func (v *Objects) Ours(a *Answer) bool {
	return a.Reached && (v.Cluster.ClusterID == 0 || a.ClusterID == v.Cluster.ClusterID)
}

// findHealthy fills in healthy and applied.
func (v *Members) findHealthy() {
	if !v.Sure || v.Leader == 0 {
		return
	}
	for _, m := range v.List {
		if a := v.Answer(m); a != nil && a.Leader == v.Leader && a.Term == v.term {
			v.Applied = max(v.Applied, a.Applied)
		}
	}
	for _, m := range v.Voters {
		// A voter that has not applied its own promotion yet still refuses clients.
		if a := v.Answer(m); v.CaughtUp(m) && !a.Learner && a.Refused == "" {
			v.Healthy[m.ID] = true
		}
	}
}

// CaughtUp reports whether a member answered itself, follows the leader, reports
// no error, has applied nearly all that anyone has, and is not called corrupt.
func (v *Members) CaughtUp(m Member) bool {
	a := v.Answer(m)
	return a != nil && !v.IsCorrupt(m.ID) && a.Leader == v.Leader && a.Term == v.term && len(a.Errors) == 0 && a.Applied+MaxLag >= v.Applied
}

// Answer is what the member itself said, or nil if it was not reached.
func (v *Objects) Answer(m Member) *Answer {
	p := v.PodOf[m.Name]
	if p == nil || !v.Ours(&p.Answer) || p.Answer.MemberID != m.ID {
		return nil
	}
	return &p.Answer
}

// agreed reports whether every healthy voter tells the same list.
func (v *Members) agreed() bool {
	for _, m := range v.Voters {
		if v.Healthy[m.ID] && !slices.Equal(v.Answer(m).Members, v.List) {
			return false
		}
	}
	return true
}

// HasQuorum reports whether the healthy voters are a quorum (of H in V).
func (v *Members) HasQuorum() bool {
	return v.Sure && quorum.Holds(len(v.Healthy), len(v.Voters))
}

// CanRemove reports whether the cluster keeps its quorum without the member (S4),
// and the last change has settled (S3).
func (v *Members) CanRemove(m Member) bool {
	if !v.Settled {
		return false
	}
	if m.Learner {
		return true
	}
	return quorum.SurvivesRemoval(len(v.Voters), len(v.Healthy), v.Healthy[m.ID])
}

// CanPromote reports whether the cluster would keep its quorum even if the learner
// died as it gets its vote (S5); from one voter to two it cannot. A learner that
// still has a start permit gets no vote (S2): it could start without data.
func (v *Members) CanPromote(m Member) bool {
	if !v.Settled || !m.Learner || !m.Started || !v.CaughtUp(m) || v.PodOf[m.Name].StartPermit != nil {
		return false
	}
	return quorum.SurvivesPromotion(len(v.Voters), len(v.Healthy))
}

// IsMember reports whether the name is in the member list, or its Pod answers as one of
// the members there.
func (v *Members) IsMember(name string) bool {
	p := v.PodOf[name]
	return slices.ContainsFunc(v.List, func(m Member) bool {
		return m.Name == name || (p != nil && v.Ours(&p.Answer) && p.Answer.MemberID == m.ID)
	})
}

// FewerLearners reports whether a Pod's etcd would allow fewer learners than one
// that is there does. It would leave out some as it replays the log (S3).
func (v *Members) FewerLearners(p *Pod) bool {
	return slices.ContainsFunc(v.List, func(m Member) bool {
		other := v.PodOf[m.Name]
		return other != nil && p.Learners < other.Learners
	})
}

// Name is the name of the member with an id; empty if there is none.
func (v *Members) Name(id uint64) string {
	for _, m := range v.List {
		if m.ID == id {
			return m.Name
		}
	}
	return ""
}

// NameOrID is how a member is told to a person; empty for id 0.
func (v *Members) NameOrID(id uint64) string {
	if id == 0 {
		return ""
	}
	return cmp.Or(v.Name(id), fmt.Sprintf("%016x", id))
}

// healthyIDs are sorted.
func (v *Members) healthyIDs() []uint64 { return slices.Sorted(maps.Keys(v.Healthy)) }

// Learners counts the members without a vote.
func (v *Members) Learners() int { return len(v.List) - len(v.Voters) }

// KnownVoters are the voters, or while nobody tells (a member that restarts without
// quorum does not answer) those that were last reported. What is lost is said by
// them, and which Pod without data gives way; nothing else rests on them.
func (v *Members) KnownVoters() []Member {
	if len(v.List) > 0 {
		return v.Voters
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

// canHaveData reports whether the name is that of a member which has had data. We
// make no voter that has not.
func (v *Members) canHaveData(name string) bool {
	for _, m := range v.List {
		if m.Name == name {
			return m.Started || !m.Learner
		}
	}
	return false
}

// countForeign counts the members that the operator did not make.
func (v *Members) countForeign() int {
	n := 0
	for _, m := range v.List {
		if m.Foreign {
			n++
		}
	}
	return n
}
