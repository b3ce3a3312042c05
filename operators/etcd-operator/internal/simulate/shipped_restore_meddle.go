package simulate

import (
	"slices"
	"strings"
)

// meddleRestore lets something happen between two calls of etcd-restore-operator: another one is
// a step ahead, etcd-operator takes its turn, a call lands that was sent before, the user deletes
// the EtcdRestore or meddles with other objects, the Pod that the call is about is gone, or the
// seed's container ends.
func (w *world) meddleRestore(s *restorer) {
	w.intrudeRestore(s)
	if w.calm || w.settling || w.cfg.Deletes && w.meddleWithMarks(s) || !w.random.chance(w.cfg.Meddles) {
		return
	}
	name := s.next[strings.LastIndexByte(s.next, ' ')+1:]
	target := w.pod(name)
	switch n := w.random.below(100); {
	case n < 25:
		w.anotherRestorer(s)
	case n < 35:
		w.run(w.operators[0])
	case n < 45:
		w.wholeReconcile(w.operators[0])
	case n < 50:
		w.deleteRestore(s.of)
		w.anotherRestorer(s)
	case n < 60:
		w.landOne(func(l late) bool { return l.land != nil })
	case n < 80:
		w.meddleAsUser(s, name)
	case n < 85 && target != nil && (target.persistent || target.snapshot != ""):
		w.say("FAULT %s: %s", ForceDeletePod, target.name)
		w.dropPod(target)
		w.disturbed++
	case n < 95:
		if r := w.runOf(s.of.seedPod(w)); r != nil && r.etcd == nil && r.state == waiting {
			w.say("FAULT %s: %s", KillContainer, r.name)
			w.crash(r)
		}
	}
	w.publish()
	w.checkTruth()
}

// meddleWithMarks has users delete EtcdRestores at work, and the marks on the EtcdCluster change
// right before they are looked at, or set. It reports whether something has happened.
func (w *world) meddleWithMarks(s *restorer) bool {
	f, o := &w.cluster.fence, s.of.object
	percent := boolInt(f.Asked() == s.of.uid || w.isUnderWay(s.of))
	if s.of.stage == offering || w.isUnderWay(s.of) && f.By == s.of.uid {
		percent = 15
	}
	switch {
	case o.DeletionTimestamp == nil && w.random.chance(percent):
		w.deleteRestore(s.of)
	case s.next == readsCluster && s.looks.restore != nil && w.isUnderWay(s.of) && w.random.chance(80): // act's own look
		w.landOne(func(l late) bool { return l.marks == s.of.uid })
	case s.next == marksCluster && w.random.chance(40):
		w.wholeReconcile(w.operators[0])
	default:
		return false
	}
	w.publish()
	w.checkTruth()
	return true
}

// The calls that read the EtcdCluster live, and that change a mark on it.
const (
	readsCluster = "reading *v1beta2.EtcdCluster " + clusterName
	marksCluster = "patching *v1beta2.EtcdCluster " + clusterName
)

// isUnderWay reports whether a change of a mark is under way for a restore.
func (w *world) isUnderWay(r *restore) bool {
	return slices.ContainsFunc(w.lates, func(l late) bool { return l.marks == r.uid })
}

// wholeReconcile has etcd-operator end the reconcile that is under way, and make another one, with
// caches that don't lag.
func (w *world) wholeReconcile(op *operator) {
	s := op.shipped
	if w.step < op.deadUntil || w.step < op.stalledUntil || !w.finish(op) {
		return
	}
	w.deliverAll(func() { w.deliver(op) })
	s.begin()
	w.finish(op)
	op.wake, op.woken = w.now, true
}

// finish lets a reconcile of etcd-operator go on to its end; false if it waits for something.
func (w *world) finish(op *operator) bool {
	for s := op.shipped; s.underWay; w.publish() {
		if s.blocked != nil && s.blocked() || w.broken != nil {
			return false
		}
		if _, more := s.resume(); !more {
			s.underWay, op.todo = false, nil
		}
	}
	return true
}

// deliverAll delivers with caches that don't lag.
func (w *world) deliverAll(deliver func()) {
	until := w.until
	w.until[LagPods], w.until[LagClaims], w.until[LagStatus] = 0, 0, 0
	deliver()
	w.until = until
}

// landOne lets the first of such calls land that are under way.
func (w *world) landOne(which func(late) bool) {
	if i := slices.IndexFunc(w.lates, which); i >= 0 {
		l := w.lates[i]
		w.lates = slices.Delete(w.lates, i, i+1)
		l.land()
		w.disturbed++
	}
}

// seedPod is the uid of the Pod of the restore's seed; empty if there is none.
func (r *restore) seedPod(w *world) string {
	if p := w.pod(r.object.Status.SeedMember); p != nil && p.snapshot == r.uid {
		return p.uid
	}
	return ""
}

// anotherRestorer is a second etcd-restore-operator, which has lost its lease and does not know
// it: it makes one whole reconcile of the same EtcdRestore, with caches that don't lag.
func (w *world) anotherRestorer(s *restorer) {
	if len(w.restorers) == 1 {
		w.shipRestorer(s.scheme)
		w.restorers[1].stalledUntil = w.step + w.cfg.Steps // until faults stop it makes no other steps
	}
	b := w.restorers[1]
	if b == s || b.underWay || s.of.gone {
		return
	}
	w.publish()
	w.deliverAll(b.deliver)
	w.say("operator %s is ahead", b.id)
	for b.begin(s.of); w.broken == nil; w.publish() {
		if _, more := b.resume(); !more {
			b.over()
			return
		}
	}
}
