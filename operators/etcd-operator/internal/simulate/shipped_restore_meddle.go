package simulate

import "strings"

// meddleRestore lets something happen between two calls of etcd-restore-operator: another one is
// a step ahead, etcd-operator takes its turn, the user deletes the EtcdRestore, the Pod that the
// call is about is gone, or the seed's container ends.
func (w *world) meddleRestore(s *restorer) {
	if w.calm || w.settling || !w.random.chance(w.cfg.Meddles) {
		return
	}
	target := w.pod(s.next[strings.LastIndexByte(s.next, ' ')+1:])
	switch n := w.random.below(100); {
	case n < 45:
		w.anotherRestorer(s)
	case n < 65:
		w.run(w.operators[0])
	case n < 70:
		w.deleteRestore(s.of)
		w.anotherRestorer(s)
	case n < 80 && target != nil && (target.persistent || target.snapshot != ""):
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
	until := w.until
	w.until[LagPods], w.until[LagClaims], w.until[LagStatus] = 0, 0, 0
	b.deliver()
	w.until = until
	w.say("operator %s is ahead", b.id)
	for b.begin(s.of); w.broken == nil; w.publish() {
		if _, more := b.resume(); !more {
			b.over()
			return
		}
	}
}
