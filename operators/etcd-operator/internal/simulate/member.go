package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// healthInterval is how long a member must have been connected to another for etcd
// to count that one when members change (etcdserver.HealthInterval).
const healthInterval = 5 * time.Second

// What etcd says to a membership change that it refuses.
var (
	errUnavailable = errors.New("etcdserver: request timed out")
	errUnhealthy   = errors.New("etcdserver: unhealthy cluster")
	errNotStarted  = errors.New("etcdserver: re-configuration failed due to not enough started members")
	errNotReady    = errors.New("etcdserver: can only promote a learner member which is in sync with leader")
	errLearners    = errors.New("etcdserver: too many learner members in cluster")
	errNotFound    = errors.New("etcdserver: member not found")
	errNotLearner  = errors.New("etcdserver: can only promote a learner member")
	errExists      = errors.New("etcdserver: Peer URLs already exists")
	errNoSpace     = errors.New("etcdserver: mvcc: database space exceeded")
)

// connectedVoters counts the voters, itself included, that a member has been
// connected to for the health interval.
func (w *world) connectedVoters(r *run) int {
	n := 0
	for _, m := range r.disk.data.view {
		if m.Learner {
			continue
		}
		if m.ID == r.disk.data.id {
			n++
		} else if p := r.etcd.peer(m.ID); p != nil && p.active != never && w.now-p.active >= healthInterval {
			n++
		}
	}
	return n
}

func startedVoters(view []facts.Member, but uint64) (started, all int) {
	for _, m := range view {
		if m.Learner || m.ID == but {
			continue
		}
		all++
		if m.Started {
			started++
		}
	}
	return started, all
}

// addMember is MemberAddAsLearner asked of one member.
func (w *world) addMember(r *run, name string) error {
	view := r.disk.data.view
	if slices.ContainsFunc(view, func(m facts.Member) bool { return m.Name == name }) {
		return errExists
	}
	if n := countVoters(view); n > 1 && w.connectedVoters(r) < quorum(n+1) {
		return errUnhealthy
	}
	w.serial++
	id := hash(name, fmt.Sprint(w.serial))
	if err := w.propose(r, entry{kind: addLearner, id: id, name: name}); err != nil {
		return err
	}
	// The limit is checked when the entry is applied, by each member for itself.
	if findMember(r.disk.data.view, id) == nil {
		return errLearners
	}
	return nil
}

// promoteMember is MemberPromote: the leader decides by what it knows of the
// learner's log, not by whether the learner lives.
func (w *world) promoteMember(r *run, id uint64) error {
	l := w.leaderOf(r)
	if l == nil {
		return errUnavailable
	}
	d := l.disk.data
	m := findMember(d.view, id)
	if m == nil {
		return errNotFound
	}
	if !m.Learner {
		return errNotLearner
	}
	match := 0
	if p := l.etcd.peer(id); p != nil {
		match = p.match
	}
	if match == 0 || float64(d.log[match-1].index) < 0.9*float64(d.log[len(d.log)-1].index) {
		return errNotReady
	}
	started, all := startedVoters(d.view, 0)
	if started+1 < quorum(all+1) {
		return errNotStarted
	}
	return w.propose(l, entry{kind: promote, id: id, name: m.Name})
}

// removeMember is MemberRemove asked of one member.
func (w *world) removeMember(r *run, id uint64) error {
	view := r.disk.data.view
	m := findMember(view, id)
	if m == nil {
		return errNotFound
	}
	if !m.Learner {
		if started, all := startedVoters(view, id); started < quorum(all) {
			return errNotStarted
		}
		p := r.etcd.peer(id)
		down := id != r.disk.data.id && (p == nil || p.active == never)
		if n := countVoters(view); !down && w.connectedVoters(r)-1 < 1+(n-1)/2 {
			return errUnhealthy
		}
	}
	return w.propose(r, entry{kind: remove, id: id, name: m.Name})
}

// propose puts an entry in the leader's log and waits for it to be applied. If it
// is not, nobody knows whether it will be.
func (w *world) propose(r *run, e entry) error {
	l := w.leaderOf(r)
	if l == nil {
		return errUnavailable
	}
	for _, pending := range l.disk.data.log[l.disk.data.applied:] {
		if pending.kind >= addVoter {
			return errUnavailable // raft: one change of the members at a time
		}
	}
	w.appendEntry(l, e)
	d := l.disk.data
	n := len(d.log)
	w.replicate(l)
	if d.applied < n {
		return errUnavailable
	}
	if r == l || r.etcd == nil {
		return nil
	}
	if l.etcd == nil {
		return errUnavailable // it has removed itself, and the one that was asked waits
	}
	w.send(l, r, true)
	return nil
}

// transferLeadership is the API call MoveLeader, asked of the leader.
func (w *world) transferLeadership(l *run, to uint64) error {
	q := w.member(l.disk.data.birth, to)
	if !l.etcd.leading || q == nil || !w.reaches(l, q) || !isVoter(l.disk.data.view, to) || !w.hasQuorum(l) || w.slow(q) {
		return errUnavailable
	}
	w.send(l, q, true)
	if q.etcd == nil || !upToDate(q.disk.data.log, l.disk.data.log) {
		return errUnavailable
	}
	voters := []*run{q}
	for _, m := range q.disk.data.view {
		if o := w.member(q.disk.data.birth, m.ID); o != nil && o != q && !m.Learner && w.reaches(q, o) && upToDate(q.disk.data.log, o.disk.data.log) {
			voters = append(voters, o)
		}
	}
	if !isVoter(q.disk.data.view, to) || len(voters) < quorum(countVoters(q.disk.data.view)) {
		return errUnavailable
	}
	w.lead(q, l.disk.data.term+1, voters)
	w.replicate(q)
	return nil
}
