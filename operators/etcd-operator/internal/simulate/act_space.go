package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file carries out what the planner does about space: compaction, defragmentation, and the
// end of alarms; and checks it against the truth.

// compact is the compaction through a member, and then the write of the status.
func (w *world) compact(op *operator, a action.Compact, n int) (more bool, err error) {
	if n == 1 {
		return false, w.writeStatus(op, func(c *etcdCluster) {
			w.touch("a repair is recorded")
			at := a.At.Sub(epoch).Truncate(time.Second)
			c.begun, c.repaired, c.compacted = at, at, a.Revision
		})
	}
	r := w.endpoint(op)
	if r == nil {
		return false, errNobody
	}
	w.touch("the database is compacted")
	return true, w.compactBy(r)
}

// compactBy is the call that compacts, which nobody makes who need not.
func (w *world) compactBy(r *run) error {
	if !w.cfg.AutoRepair || !slices.ContainsFunc(w.births[w.main].committed, func(e entry) bool { return e.kind == raise && e.alarm == facts.NoSpace }) {
		w.fail("Alarm", "the database is compacted, and nobody asked for it")
	}
	return w.propose(r, entry{kind: compact})
}

// disarmAlarm is the call that disarms an alarm.
func (w *world) disarmAlarm(t *todo, r *run, a action.DisarmAlarm) error {
	w.checkDisarm(t, a)
	return w.propose(r, entry{kind: disarm, id: a.MemberID, alarm: a.Alarm})
}

// checkDisarm: no alarm is disarmed while its cause lasts.
func (w *world) checkDisarm(t *todo, a action.DisarmAlarm) {
	if a.Alarm == facts.Corrupt && (a.MemberID == 0 || findMember(w.births[w.main].view, a.MemberID) != nil) {
		w.fail("Alarm", "the CORRUPT of %x is disarmed, and it is a member's, or nobody's", a.MemberID)
	}
	if a.Alarm != facts.NoSpace || t.disturbed != w.disturbed {
		return
	}
	for _, q := range w.etcds() {
		// One operator may disarm what another has, and writes have filled again.
		if d := q.disk.data; len(w.operators) == 1 && d.birth == w.main && d.size >= w.quotaOf(q) && slices.Contains(d.alarms, facts.Alarm{MemberID: a.MemberID, Kind: a.Alarm}) {
			w.fail("Alarm", "NOSPACE is disarmed, and the database of %s has %d of %d", q.name, d.size, w.quotaOf(q))
		}
	}
}

// defragment is what act does: it looks, writes on the Pod, makes the call within its
// deadline, and writes that it was answered.
func (w *world) defragment(op *operator, t *todo, a action.Defragment, n int) (more bool, err error) {
	p := w.pod(a.Name)
	if p == nil || p.uid != a.UID {
		return false, errGone
	}
	r := w.runOf(p.uid)
	switch n {
	case 0:
		via := w.endpoint(op)
		switch {
		case via == nil:
			return false, errNobody
		case !w.samePods(&t.seen) || !slices.Equal(via.disk.data.view, a.Members):
			return false, errConflict
		case len(a.Members) > 1 && via.etcd.leader == a.ID:
			return false, errConflict // it leads now (S8)
		}
		w.touch("a member is to be defragmented")
		p.defragmented, p.defragmentDone, t.marked = w.now, false, w.now
		if r != nil && r.disk.data != nil {
			p.sizeBefore = r.disk.data.size
		}
		return true, nil
	case 1:
		if (w.now-t.marked > deadline && !w.cfg.has(NoDeadline)) || r == nil || r.etcd == nil || !r.etcd.serves || !w.sees(op, r.node) {
			return false, errUnavailable
		}
		w.checkDefragment(t, r, a)
		w.beginDefragment(r)
		return !w.busy(r), nil
	}
	p.defragmentDone = true
	return false, nil
}

func (w *world) beginDefragment(r *run) {
	w.say("%s defragments", r.name)
	r.etcd.busyUntil = w.now + w.delay(longestDefragment)
}

// checkDefragment: a member is taken from its work only while all others do theirs (S6),
// and another one leads (S8).
func (w *world) checkDefragment(t *todo, r *run, a action.Defragment) {
	if t.disturbed != w.disturbed || w.main < 0 {
		return
	}
	view := w.births[w.main].view
	for _, m := range view {
		if q := w.member(w.main, m.ID); m.Name != a.Name && (q == nil || !w.reaches(r, q)) {
			w.fail("S6", "%s is defragmented while %s does not run", a.Name, m.Name)
		}
	}
	// Of two operators one may move the lead meanwhile.
	if r.etcd.leading && len(view) > 1 && len(w.operators) == 1 {
		w.fail("S8", "%s is defragmented, and it leads", a.Name)
	}
}

// checkBusy: at most one member at a time serves nothing because of us (S6).
func (w *world) checkBusy() {
	var busy []string
	for _, r := range w.runs {
		if r.etcd != nil && r.disk.data.birth == w.main && w.busy(r) {
			busy = append(busy, r.name)
		}
	}
	if len(busy) > 1 {
		w.fail("S6", "%s are defragmented at a time", fmt.Sprint(busy))
	}
}
