package simulate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file models users of etcdctl. They add a learner, change the peer URL of a voter, or give a voter a
// second peer URL. After a while they undo the change. Existing members keep their streams, so they still reach
// each other.

// byHand is the peer URL of a member that a person adds or moves. Each has its own: etcd refuses one
// that another member has (ErrPeerURLexists).
func byHand(name string) string { return "http://by-hand-" + name + ":2380" }

// useEtcdctl does what a person does. It returns false while etcd would refuse it, or
// nobody would do it: while a majority does not answer.
func (w *world) useEtcdctl(f Fault) bool {
	if w.main < 0 {
		return false
	}
	l := w.target(0, func(r *run) bool { return r.etcd != nil && r.etcd.leading && r.disk.data.birth == w.main })
	if l == nil || !w.hasQuorum(l) {
		return false
	}
	view := l.disk.data.view
	switch f.Kind {
	case AddByHand:
		if slices.ContainsFunc(view, func(m facts.Member) bool { return m.Learner }) {
			return false
		}
		w.serial++
		name := fmt.Sprintf("hand-%d", w.serial)
		if w.propose(l, entry{kind: addLearner, id: hash(name), name: name, hand: true, at: byHand(name)}) != nil {
			return false
		}
	case ChangePeerURL:
		m := view[f.A%len(view)]
		at := byHand(m.Name)
		if w.ships() && f.B%2 == 1 { // a second peer URL
			at += "," + w.peerURL(m.Name)
		}
		if m.Learner || m.At != "" || w.propose(l, entry{kind: update, id: m.ID, at: at}) != nil {
			return false
		}
	}
	w.until[f.Kind] = max(w.until[f.Kind], w.step+f.For)
	w.say("FAULT %s", f)
	return true
}

// tickPeople undoes what people have done, when they are done.
func (w *world) tickPeople() {
	w.keepStatic()
	w.keepRootSecret()
	if w.main < 0 {
		return
	}
	l := w.target(0, func(r *run) bool { return r.etcd != nil && r.etcd.leading && r.disk.data.birth == w.main })
	if l == nil || !w.hasQuorum(l) {
		return
	}
	for _, m := range l.disk.data.view {
		var undo entry
		switch {
		case m.Foreign && !w.during(AddByHand):
			undo = entry{kind: remove, id: m.ID, name: m.Name}
		case !m.Foreign && m.At != "" && !w.during(ChangePeerURL):
			undo = entry{kind: update, id: m.ID}
		default:
			continue
		}
		if w.propose(l, undo) == nil {
			w.say("a person undoes what was done to %s", m.Name)
		}
		return
	}
}

// asks reports whether a condition is true, and its message has the words: users know no more
// of what they are asked than that.
func asks(c *metav1.Condition, words string) bool {
	return c != nil && c.Status == metav1.ConditionTrue && strings.Contains(c.Message, words)
}

// obeyExisted is a user who wants the empty cluster that was asked for, and deletes the PVC that is in
// its way as the conditions say: two restore operators have worked on one EtcdRestore, and one has
// made its seed's volume after the other had ended the restore and its fence. No member ever had it.
func (w *world) obeyExisted() {
	told := slices.ContainsFunc(w.operators[0].last.Status.Conditions, func(c metav1.Condition) bool {
		return strings.Contains(c.Message, "not starting an empty cluster") && strings.Contains(c.Message, "or delete them to start empty")
	})
	if !told || w.cfg.Existed != "" || len(w.restorers) < 2 {
		return
	}
	for _, c := range w.claims {
		if c.disk.data != nil || c.deleting || c.retired != "" {
			continue
		}
		w.say("the user deletes PVC %s, as the planner says", c.name)
		w.deleteClaim(c)
		return
	}
}

// obeyRemoval has the user remove the member that the planner asks him to, by the command that
// Degraded tells him, if etcd does it.
func (w *world) obeyRemoval(l *run) {
	last := &w.operators[0].last
	id := last.RemoveByHand
	c := meta.FindStatusCondition(last.Status.Conditions, v1beta2.ConditionDegraded)
	if id == 0 || !asks(c, fmt.Sprintf("run etcdctl member remove %016x ", id)) {
		return
	}
	m := findMember(l.disk.data.view, id)
	if m == nil || !w.hasQuorum(l) {
		return
	}
	name := m.Name
	if w.propose(l, entry{kind: remove, id: id, name: name}) == nil {
		w.say("the user removes %s, as the planner says", name)
	}
}
