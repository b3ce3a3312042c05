package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file checks changes of the members against the truth: what was promoted or removed, and what
// remains (S4, S5, S8, S9).

// truth is the cluster as it truly was before a membership change.
type truth struct {
	birth  int
	leader uint64
	view   []facts.Member
	// alive are the ids of the voters that run and that the leader reaches.
	alive []uint64
	// learnerAlive are those of learners.
	learnersAlive []uint64
}

func (w *world) look(r *run) truth {
	s := truth{birth: r.disk.data.birth}
	l := w.leaderOf(r)
	if l == nil {
		return s
	}
	s.leader, s.view = l.disk.data.id, l.disk.data.view
	for _, m := range s.view {
		q := w.member(s.birth, m.ID)
		if q == nil || (q != l && !w.reaches(l, q)) {
			continue
		}
		if m.Learner {
			s.learnersAlive = append(s.learnersAlive, m.ID)
		} else {
			s.alive = append(s.alive, m.ID)
		}
	}
	return s
}

// checkPromotion: a learner that was given a vote was alive, and the others are a
// quorum without it, except from one voter to two (S5). What died after the
// Observation cannot be known.
func (w *world) checkPromotion(t *todo, before truth, a action.Promote) {
	voters := countVoters(before.view)
	if t.disturbed == w.disturbed {
		if !slices.Contains(before.learnersAlive, a.ID) {
			w.fail("S5", "learner %s gets a vote and is dead", a.Name)
		}
		if alive := len(before.alive); voters > 1 && alive < quorum(voters+1) {
			w.fail("S5", "learner %s gets a vote while %d of %d voters are alive", a.Name, alive, voters)
		}
	}
	// The budget is raised before (docs/design/architecture.md), for one voter more than the last
	// look right before has shown: an earlier promotion that was not answered may be committed
	// between that and the call, and the next look tells. Of two operators one may lower it in
	// between, for a moment.
	if asked := w.askedBefore(t); asked != nil {
		if asked.number != w.cluster.number {
			return // the budget goes with the EtcdCluster, which was deleted since
		}
		voters = min(voters, countVoters(asked.view))
	}
	if len(w.operators) == 1 && w.cfg.DisruptionBudget && max(voters+1, t.seen.Cluster.Size) >= 3 && w.budget < quorum(voters+1) && t.decision.Budget != facts.KeepBudget {
		w.fail("Budget", "learner %s becomes voter %d and the PodDisruptionBudget is %d", a.Name, voters+1, w.budget)
	}
}

// checkRemoval: what remains is a quorum that lives (S4) and has data, the leader
// was asked to step aside (S8), and nobody is removed who merely does not answer
// (S9).
func (w *world) checkRemoval(t *todo, before truth, a action.RemoveMember) {
	m := findMember(before.view, a.ID)
	if m == nil || m.Learner {
		return
	}
	voters := countVoters(before.view) - 1
	size := (&check{o: t.seen}).size()
	alive := len(before.alive)
	lives := slices.Contains(before.alive, a.ID)
	if lives {
		alive--
	}
	if t.disturbed == w.disturbed {
		if alive < quorum(voters) {
			w.fail("S4", "member %s is removed and leaves %d voters, of which %d live", a.Name, voters, alive)
		}
		if a.ID == before.leader && alive > 0 && a.Pod != nil && a.Pod.Answer.Reached { // else nobody can ask it
			w.fail("S8", "the leader %s is removed without a hand-over", a.Name)
		}
		if lives && voters < size && !w.given(m.Name) && !w.isCorrupt(a.ID) {
			w.fail("S9", "member %s is removed, and it lives", a.Name)
		}
		if !lives && voters < size && !w.given(m.Name) && !w.isCorrupt(a.ID) && w.hasData(m.ID) {
			w.fail("S9", "member %s is removed, and its data is whole", a.Name)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(before.view), func(m facts.Member) bool { return m.ID == a.ID })
	if !w.majorityLost && w.intactWhenSeen(rest, t) < quorum(voters) {
		w.fail("S4", "member %s is removed and leaves %d voters, of which %d have data", a.Name, voters, w.intact(rest))
	}
}

// intactWhenSeen counts the voters that have their data, or had it at the last look right before:
// what is lost between that and the call nobody can know (docs/design/invariants.md, What is not
// kept).
func (w *world) intactWhenSeen(view []facts.Member, t *todo) int {
	n := 0
	asked := w.askedBefore(t)
	for _, m := range view {
		if !m.Learner && (w.hasData(m.ID) || asked != nil && slices.Contains(asked.whole, m.ID)) {
			n++
		}
	}
	return n
}

// given reports whether a member may be given up although it may live (S9): its Pod
// is gone or has ended, or its node has been lost, its deletion has been pending, or
// it has been in trouble while its claim is deleted, for the member timeout.
func (w *world) given(name string) bool {
	p := w.pod(name)
	if p == nil || p.node < 0 {
		if !w.cfg.Persistent || w.claim(name) == nil {
			return true
		}
	}
	if p == nil {
		return false
	}
	if p.finished {
		return true
	}
	if w.age(p.deleting) >= w.cfg.MemberTimeout || (p.unschedulable != "" && w.age(p.created) >= w.cfg.MemberTimeout) {
		return true
	}
	if c := w.claim(name); c != nil && c.deleting && p.trouble != "" && w.age(p.created) >= w.cfg.MemberTimeout {
		return true
	}
	return p.node >= 0 && w.age(w.nodes[p.node].lostSince) >= w.cfg.MemberTimeout
}
