package simulate

import "strings"

// restoreIntrusion is what somebody else does, between two calls of etcd-restore-operator, right before
// the one at which a precondition would not hold any more. It reports whether there was something to do.
type restoreIntrusion func(*world, *restorer) bool

// intrudeRestore lets such a thing happen.
func (w *world) intrudeRestore(s *restorer) {
	if w.cfg.RestoreIntrusion == nil || w.settling || s.looks.restore == nil || !w.random.chance(50) {
		return
	}
	if w.cfg.RestoreIntrusion(w, s) {
		w.disturbed++
		w.publish()
		w.checkTruth()
	}
}

// createMemberAgain is a user who creates the Pod of an old member again, right before a seed that is
// ready to start is to be alone.
func createMemberAgain(w *world, s *restorer) bool {
	p := w.pod(s.looks.seed())
	if s.next != listingPods || p == nil || p.snapshot != s.of.uid || s.hasStarted() || !w.isPrepared(p) {
		return false
	}
	before := len(w.pods)
	w.reapplyPod()
	return len(w.pods) > before
}

// rollBack is a user who deletes the EtcdRestore right before one of the cluster's volumes is read to be
// retired, and a second etcd-restore-operator that gives everything back before it is.
func rollBack(w *world, s *restorer) bool {
	c := w.claim(s.nextVolume())
	if c == nil || c.retired != "" || s.of.object.DeletionTimestamp != nil || w.cluster.fence.By != s.of.uid {
		return false
	}
	w.deleteRestore(s.of)
	for range 10 {
		w.anotherRestorer(s)
		w.wholeReconcile(w.operators[0])
	}
	return true
}

// giveVolumeBack is a person who gives a retired volume back, right before it is read, or deleted.
func giveVolumeBack(w *world, s *restorer) bool {
	c := w.claim(s.nextVolume())
	if c == nil || c.retired != s.of.uid || !s.of.grown {
		return false
	}
	w.relabelClaim(s.of, c)
	return c.retired == ""
}

// nextVolume is the name of the volume that the next call reads or deletes.
func (s *restorer) nextVolume() string {
	for _, call := range []string{readingVolume, deletingVolume} {
		if name, ok := strings.CutPrefix(s.next, call+" "); ok {
			return name
		}
	}
	return ""
}
