package simulate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
)

// This file is what is checked of the effects of etcd-restore-operator: each against what it has
// seen live right before (S11), and what comes of it against the truth.

// restoreLooks are what a reconcile has seen live.
type restoreLooks struct {
	// fence is that of the EtcdCluster when it was read; looked is true when it was.
	fence  facts.Fence
	looked bool
	// ready are the seeds that were ready to start when their Pod was read.
	ready map[string]bool
	// observed are the uids of what its first look has found, by kind and name, and volumes the
	// revisions of those that it has read live since.
	observed map[string]string
	volumes  map[string]int
	// base is the resourceVersion of the EtcdRestore from which it has decided.
	base string
	// restore is the EtcdRestore as it was last read live, which begins an action; nil if it was
	// not, or was not there. pods are those of the last live list since, by uid; nil if there was none.
	restore *v1beta2.EtcdRestore
	pods    map[string]bool
}

// shows reports whether its last look at Pods, if it has looked, has found one.
func (l *restoreLooks) shows(p *pod) bool { return l.pods == nil || l.pods[p.uid] }

// seed is the name of the seed that was recorded when it last read the EtcdRestore live: a request
// that lands late may find another one there.
func (l *restoreLooks) seed() string {
	if l.restore == nil {
		return ""
	}
	return l.restore.Status.SeedMember
}

// note notes a live read.
func (s *restorer) note(o client.Object, name string) {
	switch o.(type) {
	case *v1beta2.EtcdRestore:
		s.looks.restore, s.looks.pods = nil, nil
		if r := s.w.restoreOf(name); r != nil {
			s.looks.restore = r.object
		}
	case *v1beta2.EtcdCluster:
		s.looks.fence, s.looks.looked = s.w.cluster.fence, true
	case *corev1.Pod:
		if s.looks.ready == nil {
			s.looks.ready = map[string]bool{}
		}
		p := s.w.pod(name)
		s.looks.ready[name] = p != nil && p.deleting == never && s.w.isPrepared(p)
	case *corev1.PersistentVolumeClaim:
		if s.looks.volumes == nil {
			s.looks.volumes = map[string]int{}
		}
		if c := s.w.claim(name); c != nil {
			s.looks.volumes[name] = c.revision
		}
	default: // nothing rests on it
	}
}

// observe notes an object that a read has found: the first look at each is what is decided on.
func (s *restorer) observe(o client.Object) {
	if s.looks.observed == nil {
		s.looks.observed = map[string]string{}
	}
	if key := kindAndName(o); s.looks.observed[key] == "" {
		s.looks.observed[key] = string(o.GetUID())
	}
}

func kindAndName(o client.Object) string { return fmt.Sprintf("%T %s", o, o.GetName()) }

// checkObserved: what is changed or deleted is what was observed, and no other of its name (S11).
func (s *restorer) checkObserved(what string, o client.Object, uid string) {
	if s.looks.observed[kindAndName(o)] != uid {
		s.w.fail("S11", "%s %s by restore %s, and is not the one that was observed", o.GetName(), what, s.of.uid)
	}
}

// checkBase: the EtcdRestore was read right before an effect, and was as it was decided on (S11).
func (s *restorer) checkBase(what string) {
	if read := s.looks.restore; read == nil || read.ResourceVersion != s.looks.base {
		s.w.fail("S11", "%s by restore %s, which has changed", what, s.of.uid)
	}
}

// checkLeft: the cluster was left to this restore when it looked (S12).
func (s *restorer) checkLeft(what string) {
	s.checkBase(what)
	if !s.looks.looked || s.looks.fence.By != s.of.uid {
		s.w.fail("S12", "%s by restore %s, to which the cluster is not left", what, s.of.uid)
	}
}

// hasStarted reports whether the seed that it has read of has had its start permit: an old member
// that somebody creates again is stopped at once then.
func (s *restorer) hasStarted() bool {
	p := s.w.pod(s.looks.seed())
	return p != nil && p.snapshot == s.of.uid && p.object.Annotations[v1beta2.AnnotationRestorePermit] != s.of.uid+simulated.Prepare
}

// stopsFirst reports whether members are stopped before a seed is made: it has found none, or one
// that is being deleted.
func (s *restorer) stopsFirst() bool {
	p := s.w.pod(s.looks.seed())
	return s.looks.restore.Spec.StopMembers == v1beta2.StopMembersFirst && (p == nil || p.deleting != never || s.looks.observed[kindAndName(p.object)] == "")
}

// checkStop: a seed that is handed over is not deleted (S12), and old members are stopped only for
// a seed that is ready to start (S7).
func (s *restorer) checkStop(p *pod) {
	s.checkLeft("Pod " + p.name + " is deleted")
	s.checkObserved("is deleted", p.object, p.uid)
	r, read := s.of, s.looks.restore
	switch {
	case read == nil: // checkLeft tells
	case p.snapshot != "":
		if s.looks.fence.Seeded == r.uid+"/"+p.name+"/"+p.uid {
			s.w.fail("S12", "seed %s is deleted by restore %s, which has handed it over", p.name, r.uid)
		}
	case read.Status.Snapshot == nil:
		s.w.fail("S7", "member %s is stopped by restore %s, whose snapshot is not verified", p.name, r.uid)
	case read.DeletionTimestamp != nil || s.looks.seed() == "" || s.w.cluster.fence.By != r.uid || s.hasStarted() || s.stopsFirst():
	case p.deleting == never && s.w.anyServes() && !s.looks.ready[s.looks.seed()]:
		s.w.fail("S7", "member %s is stopped for seed %s, which is not ready to start", p.name, s.looks.seed())
	}
}

// anyServes reports whether a Pod of an old member is not being deleted.
func (w *world) anyServes() bool {
	for _, p := range w.pods {
		if p.snapshot == "" && p.deleting == never {
			return true
		}
	}
	return false
}

// checkDrop: of volumes only a seed's that is not handed over is deleted, and those that were
// retired when the restored cluster has been whole (S7).
func (s *restorer) checkDrop(c *claim) {
	r := s.of
	s.checkObserved("is deleted", c.object, c.uid)
	switch {
	case c.retired == r.uid && !r.grown && !s.w.isWhole(r):
		s.w.fail("S7", "volume %s of an old member is deleted, and the cluster that restore %s made has not been whole", c.name, r.uid)
	case c.retired == r.uid:
	case c.object.Labels[v1beta2.LabelCluster] != "" && c.name != s.looks.seed():
		s.w.fail("S7", "volume %s is deleted by restore %s, whose seed's it is not", c.name, r.uid)
	default:
		s.checkLeft("volume " + c.name + " is deleted")
		if strings.HasPrefix(s.looks.fence.Seeded, r.uid+"/"+c.name+"/") {
			s.w.fail("S12", "the volume of seed %s is deleted by restore %s, which has handed it over", c.name, r.uid)
		}
	}
}

// checkRelabel: volumes are retired, and given back, while the cluster is left to the restore, and
// only those whose members are being stopped (S7, S12).
func (s *restorer) checkRelabel(c *claim, next *corev1.PersistentVolumeClaim) {
	s.checkLeft("the label of volume " + c.name + " is changed")
	if next.Labels[v1beta2.LabelRetiredBy] != c.retired { // and is not just marked before the fence is lifted, whichever it is
		s.checkObserved("gets another label", c.object, c.uid)
	}
	if s.looks.volumes[c.name] != c.revision {
		s.w.fail("S11", "the label of volume %s is changed by restore %s, and it has changed since it was read", c.name, s.of.uid)
	}
	retires := c.retired == "" && next.Labels[v1beta2.LabelRetiredBy] != ""
	if p := s.w.pod(c.name); retires && p != nil && p.deleting == never && s.looks.observed[kindAndName(p.object)] == p.uid {
		s.w.fail("S7", "volume %s is retired, and its member is not being stopped", c.name)
	}
	if retires && s.w.cluster.fence.By != s.of.uid {
		s.w.fail("S7", "volume %s is retired by restore %s, to which the cluster is not left any more", c.name, s.of.uid)
	}
	if retires && c.name == s.of.object.Status.SeedMember {
		s.w.fail("S7", "the volume of seed %s is retired", c.name)
	}
}

// checkPermitted: a seed starts only when no old member can serve that its last look has found, unless the user accepts those
// that don't end; and only one that is not being deleted (S1).
func (s *restorer) checkPermitted(p *pod, next *corev1.Pod) {
	s.checkObserved("gets another permit", p.object, p.uid)
	if next.Annotations[v1beta2.AnnotationRestorePermit] != s.of.uid || p.object.Annotations[v1beta2.AnnotationRestorePermit] == s.of.uid {
		return
	}
	s.checkLeft("seed " + p.name + " gets its start permit")
	for _, q := range s.w.pods {
		if q == p || !s.looks.shows(q) || q.deleting != never && (s.of.force || q.finished) || q.owner != s.w.cluster.number {
			continue
		}
		if r := s.w.runOf(q.uid); r != nil && r.etcd != nil || q.deleting == never {
			s.w.fail("S1", "seed %s gets its start permit beside %s, which may serve", p.name, q.name)
		}
	}
}

// checkForward: a cluster begins beyond all that clients of the one before can have seen (S12).
func (w *world) checkForward(restore string, b *birth) {
	if !w.ships() || w.main < 0 {
		return
	}
	old := &w.births[w.main]
	if n := len(old.committed); n > 0 && b.revision <= old.revision+int64(old.committed[n-1].index) {
		w.fail("S12", "restore %s begins at revision %d, which clients have seen", restore, b.revision)
	}
}

// isAccepted reports whether a Pod is one of those that the user lets run on while it is deleted:
// acceptRunningOldMembers. The model's restores take its object away.
func (w *world) isAccepted(p *pod) bool {
	adopted := func(r *restore) bool { return r.force && r.uid == w.cluster.fence.Adopted.Restore }
	return w.ships() && p.deleting != never && slices.ContainsFunc(w.restores, adopted)
}

// mark is a change of the annotations by which a restore and etcd-operator talk.
func (s *restorer) mark(marks map[string]string) {
	w, r := s.w, s.of
	was := w.cluster.fence
	w.mark(func(f *facts.Fence) {
		f.Mark, f.Seeded, f.Lifted = marks[v1beta2.AnnotationFence], marks[v1beta2.AnnotationSeeded], marks[v1beta2.AnnotationFenceLifted]
	})
	is := &w.cluster.fence
	s.checkBase("a mark is set")
	switch {
	case is.Mark == was.Mark:
	case is.Mark != "" && was.Asked() != "":
		w.fail("S12", "restore %s asks for a cluster that restore %s has asked for", r.uid, was.Mark)
	case is.Mark == r.uid && r.gone && is.Asked() != "":
		w.fail("S12", "restore %s asks for a fence, and its EtcdRestore is gone", r.uid)
	case is.Mark == "" && was.By == r.uid && is.Lifted == was.Lifted && is.Seeded == was.Seeded:
		w.fail("S12", "restore %s withdraws a fence that is acknowledged", r.uid)
	}
	withdraws := is.Lifted == r.uid && is.Seeded == was.Seeded && was.By == "" && (was.Asked() == "" || was.Mark == r.uid)
	if (is.Lifted != was.Lifted || is.Seeded != was.Seeded) && was.By != r.uid && !withdraws {
		w.fail("S12", "restore %s marks a cluster that is not left to it", r.uid)
	}
	if is.Lifted == r.uid && is.Lifted != was.Lifted {
		s.checkGivenBack()
	}
	switch is.Seeded {
	case was.Seeded:
	case "":
		r.stage = starting
	default:
		parts := strings.Split(is.Seeded, "/")
		r.seed, r.seedUID, r.stage = parts[1], parts[2], offering
		w.say("restore %s hands seed %s over", r.uid, r.seed)
		s.checkOffered(parts[1], parts[2])
	}
}

// checkGivenBack: a fence is lifted when all is given back, as far as its last look has shown
// (S7, S12).
func (s *restorer) checkGivenBack() {
	for _, c := range s.w.claims {
		if c.retired == s.of.uid && !c.deleting {
			s.w.fail("S7", "restore %s lifts its fence, and volume %s is retired", s.of.uid, c.name)
		}
	}
	for _, p := range s.w.pods {
		if s.looks.shows(p) && p.snapshot == s.of.uid && p.deleting == never {
			s.w.fail("S12", "restore %s lifts its fence, and its seed %s runs", s.of.uid, p.name)
		}
	}
}

// isGivenUp reports whether the shipped code has recorded another seed than this one.
func (r *restore) isGivenUp(seed string) bool {
	return r.object != nil && r.object.Status.SeedMember != seed
}

// checkOffered: what is handed over is never restored again: its permit was withdrawn (S2). It is
// the seed that was recorded when the EtcdRestore was read; one that was given up since is not
// adopted (checkAdoption).
func (s *restorer) checkOffered(name, uid string) {
	p := s.w.pod(name)
	if p != nil && p.uid == uid && p.object.Annotations[v1beta2.AnnotationRestorePermit] != "" {
		s.w.fail("S2", "seed %s is handed over with its start permit", name)
	}
	if read := s.looks.seed(); read != name {
		s.w.fail("S11", "seed %s is handed over, and %q was recorded", name, read)
	}
}

// checkDismissal: an EtcdCluster is deleted only by the restore that has made it, before its seed
// was adopted (S12).
func (s *restorer) checkDismissal() {
	if c := &s.w.cluster; c.restoredBy != s.of.uid || c.fence.Adopted.Restore == s.of.uid || strings.HasPrefix(c.fence.Seeded, s.of.uid+"/") {
		s.w.fail("S12", "restore %s deletes an EtcdCluster that it has not made, or has handed over", s.of.uid)
	}
}

// isPrepared reports whether a seed's launcher waits for its permit alone.
func (w *world) isPrepared(p *pod) bool {
	r := w.runOf(p.uid)
	return r != nil && p.prepared && (r.disk.prepared != nil || r.disk.data != nil) && r.state == waiting
}
