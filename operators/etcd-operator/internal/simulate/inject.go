package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// How each kind of fault comes about: which target it finds, and what it does to it.

// edit is a change of the spec by the user.
func (w *world) edit(change func(*etcdCluster)) {
	change(&w.cluster)
	w.cluster.generation++
	w.cluster.version++
}

// inject makes one fault happen. It returns false if there is no target for it.
func (w *world) inject(f Fault) bool {
	switch f.Kind {
	case KillContainer, HoldContainer:
		return w.killContainer(f)
	case DeletePod, ForceDeletePod, FinishPod, DrainPod:
		return w.endPod(f)
	case StopNode, CutNode, SilenceNode, LoseNode:
		return w.loseNode(f)
	case WipeDisk, WipeWhileDown, WipeSeed, DeleteUserClaim:
		return w.loseDisk(f)
	case LoseMajority:
		return w.loseMajority(f)
	case BringBack:
		return w.bringBack(f)
	case WantSurvivor:
		return w.wantSurvivor(f)
	case KillLearner, KillLeader, MoveAway, LeadLeaving:
		return w.disturbRaft(f)
	case CrashOperator, StallOperator, TearCall, LoseReply, FailCall, RepeatCall, LateCall:
		op := w.operators[f.A%len(w.operators)]
		op.mishap, op.mishapIn = f.Kind, f.B%5
	case PartitionOperator:
		op := w.operators[f.A%len(w.operators)]
		op.cutOffUntil = w.step + f.For
		op.cannotReach = func(node int) bool { return (f.B>>(node%8))&1 == 1 }
	case Fill, FillSlowly, CorruptMember, CorruptSomebody:
		return w.spoilDatabase(f)
	case AlterData:
		return w.alterData(f)
	case SecondOperator:
		if len(w.operators) > 1 {
			return true
		}
		w.operators = append(w.operators, newOperator(w, "b"))
		w.shipBeside(w.operators[1])
	case EditSize:
		size := 1 + f.A%w.cfg.largest()
		w.say("the user sets size %d", size)
		w.edit(func(c *etcdCluster) { c.size = size })
		return true
	case Restore:
		if len(w.restores) >= 4 || w.cluster.number > 0 {
			return true
		}
		w.startRestore(f)
	case EraseFence:
		if w.cluster.fence.Mark == "" {
			return false
		}
		w.mark(func(f *facts.Fence) { f.Mark = "" })
	case OldMarks:
		return w.putBackMarks(f)
	case DeleteCluster:
		w.edit(func(c *etcdCluster) { c.deleting = true })
	case ChangeLearners:
		if w.stats.Faults[ChangeLearners] > 0 {
			return true // one such Pod: after two nobody can tell how the cluster grew
		}
		w.learners = pick(&w.random, 0, 1, 3, 7)
		if w.learners > w.cfg.Learners { // a release of the operator with a larger constant
			w.cfg.Learners = w.learners
		}
	case PassTime:
		w.now += w.cfg.MemberTimeout
	case CorruptDisk, StarveMember:
		return w.spoil(f)
	case EditStorage, EditPolicy:
		return w.editVolumes(f)
	case Recreate:
		return w.recreate(f)
	case EditVersion:
		w.editVersion(versions[f.A%len(versions)])
		return true
	case EditRepository:
		repository := []string{goodRepository, otherRepository, badRepository}[f.A%3]
		w.say("the user sets repository %s", repository)
		w.edit(func(c *etcdCluster) { c.repository = repository })
		return true
	case EnableAuth:
		return w.enableAuth(f)
	case LackCredentials:
		if w.main < 0 || w.births[w.main].authAt == 0 {
			return false
		}
		w.lacking = refusals[f.A%len(refusals)]
		w.until[LackCredentials] = max(w.until[LackCredentials], w.step+f.For)
	case LackCertificates, SpoilCertificates, RotateCA:
		return w.spoilCertificates(f)
	case AddByHand, ChangePeerURL:
		return w.useEtcdctl(f)
	case EditTemplate, AskRestart:
		w.editTemplate(f)
		return true
	case AskDefragment, AskLeader:
		w.request(f)
		return true
	case Cordon, Uncordon:
		return w.cordon(f)
	case Pause:
		w.edit(func(c *etcdCluster) { c.paused = true })
		fallthrough
	case RefusePods, RefuseClaims, SlowMember, PartitionPeers, NameConflict, SlowAnswers, LagPods, LagClaims, LagStatus, Unschedulable, ImageTrouble, SlowAddress:
		w.until[f.Kind] = max(w.until[f.Kind], w.step+f.For)
	}
	w.say("FAULT %s", f)
	return true
}

// putBackMarks hands over once more what was handed over before.
func (w *world) putBackMarks(f Fault) bool {
	var old []*restore
	for _, r := range w.restores {
		if r.adopted && r.offer() != w.cluster.fence.Seeded {
			old = append(old, r)
		}
	}
	if len(old) == 0 {
		return false
	}
	r := old[f.A%len(old)]
	w.say("FAULT %s: of restore %s", OldMarks, r.uid)
	w.mark(func(f *facts.Fence) { f.Seeded = r.offer() })
	return true
}

// target picks among the runs that fulfil a condition.
func (w *world) target(n int, fits func(*run) bool) *run {
	var found []*run
	for _, r := range w.runs {
		if fits(r) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[n%len(found)]
}

func (w *world) killContainer(f Fault) bool {
	r := w.target(f.A, func(r *run) bool { return r.state == waiting || r.state == running })
	if r == nil {
		return false
	}
	w.say("FAULT %s: %s", f.Kind, r.name)
	w.crash(r)
	if f.Kind == HoldContainer {
		r.due += w.cfg.MemberTimeout * 2
	}
	return true
}

func (w *world) endPod(f Fault) bool {
	if len(w.pods) == 0 {
		return false
	}
	p := w.pods[f.A%len(w.pods)]
	if !p.persistent && w.tooMuch(func(r *run) bool { return r.uid == p.uid }) {
		return false
	}
	switch f.Kind {
	case DeletePod:
		w.say("FAULT %s: %s", f.Kind, p.name)
		w.deletePod(p)
	case ForceDeletePod:
		w.say("FAULT %s: %s", f.Kind, p.name)
		w.dropPod(p)
	case FinishPod:
		if p.node < 0 || p.finished || !w.kubeletTalks(p.node) {
			return false
		}
		w.say("FAULT %s: %s", f.Kind, p.name)
		w.finishPod(p)
	case DrainPod:
		return w.drain(p)
	}
	return true
}

// drain is an eviction through the API: refused if the PodDisruptionBudget would be
// broken.
func (w *world) drain(p *pod) bool {
	if p.deleting != never || p.node < 0 {
		return false
	}
	if p.role == facts.Voter && w.budget > 0 {
		healthy := 0
		for _, q := range w.pods {
			if q.role == facts.Voter && q.deleting == never && w.ready(q) {
				healthy++
			}
		}
		// IfHealthyBudget: one that is not ready may go while the others fulfil it.
		if left := healthy - boolInt(w.ready(p)); left < w.budget {
			return false
		}
	}
	w.say("FAULT %s: %s", DrainPod, p.name)
	w.checkDrain(p)
	w.deletePod(p)
	return true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *world) loseNode(f Fault) bool {
	i := f.A % len(w.nodes)
	n := &w.nodes[i]
	if n.gone {
		return false
	}
	if f.Kind != SilenceNode && w.tooMuch(func(r *run) bool { return r.node == i && (!r.persisted || w.cfg.LocalVolumes && f.Kind == LoseNode) }) {
		return false
	}
	w.say("FAULT %s: %s for %d steps", f.Kind, nodeName(i), f.For)
	switch f.Kind {
	case StopNode:
		n.off = max(n.off, w.step+f.For)
	case CutNode:
		n.cut = max(n.cut, w.step+f.For)
	case SilenceNode:
		n.silent = max(n.silent, w.step+f.For)
	case LoseNode:
		w.removeNode(i)
	}
	return true
}

func (w *world) removeNode(i int) {
	n := &w.nodes[i]
	n.gone, n.silentSince = true, w.now
	if n.lostSince == never {
		n.lostSince = w.now
	}
	for _, r := range slices.Clone(w.runs) {
		if r.node == i {
			w.dropRun(r)
		}
	}
	for _, c := range w.claims {
		if c.node == i { // a volume on the node's own disk; the claim stays bound to it
			w.wipe(c.disk)
		}
	}
	w.nodes = append(w.nodes, newNode(len(w.nodes)))
	w.diskLost()
}

func (w *world) loseDisk(f Fault) bool {
	r := w.target(f.A, func(r *run) bool {
		if f.Kind == WipeSeed && (len(w.births) == 0 || r.name != w.births[0].member) {
			return false
		}
		return r.disk.data != nil
	})
	if r == nil || w.tooMuch(func(q *run) bool { return q == r }) {
		return false
	}
	switch f.Kind {
	case WipeDisk, WipeSeed:
		w.say("FAULT %s: %s", f.Kind, r.name)
		w.wipe(r.disk)
		if !r.persisted && f.B%2 == 0 && !w.canBeginUnheard(r) {
			w.say("%s loses the record of its start permits, too", r.name)
			r.used = 0
		}
	case WipeWhileDown:
		w.say("FAULT %s: %s", f.Kind, r.name)
		w.wipe(r.disk)
		for _, l := range w.etcds() {
			if l.etcd.leading {
				w.moveSomewhere(l, f.B)
			}
		}
	case DeleteUserClaim:
		c, p := w.claim(r.name), w.pod(r.name)
		if c == nil || p == nil || p.uid != r.uid {
			return false
		}
		w.say("FAULT %s: %s", f.Kind, r.name)
		w.deleteClaim(c)
		if f.B%3 > 0 { // else Kubernetes waits for the end of the Pod
			w.deletePod(p)
		}
	}
	return true
}

func (w *world) disturbRaft(f Fault) bool {
	switch f.Kind {
	case KillLearner:
		r := w.target(f.A, func(r *run) bool {
			return r.etcd != nil && r.etcd.serves && !isVoter(r.disk.data.view, r.disk.data.id)
		})
		if r == nil {
			return false
		}
		w.say("FAULT %s: %s", f.Kind, r.name)
		switch f.B % 3 {
		case 0:
			w.crash(r)
			r.due += w.cfg.MemberTimeout * 2
		case 1:
			w.nodes[r.node].off = max(w.nodes[r.node].off, w.step+f.For)
		case 2:
			if p := w.pod(r.name); p != nil && p.uid == r.uid {
				w.finishPod(p)
			}
		}
		return true
	case KillLeader, MoveAway, LeadLeaving:
		l := w.target(f.A, func(r *run) bool { return r.etcd != nil && r.etcd.leading })
		if l == nil {
			return false
		}
		if f.Kind == MoveAway {
			return w.moveSomewhere(l, f.B)
		}
		if f.Kind == LeadLeaving {
			return w.moveToLeaving(l)
		}
		w.say("FAULT %s: %s", f.Kind, l.name)
		w.crash(l)
		return true
	}
	return false
}

// moveSomewhere moves the leadership to some voter that can take it.
func (w *world) moveSomewhere(l *run, n int) bool {
	view := l.disk.data.view
	for i := range view {
		m := view[(n+i)%len(view)]
		if !m.Learner && m.ID != l.disk.data.id && w.transferLeadership(l, m.ID) == nil {
			w.say("FAULT %s: from %s to %s", MoveAway, l.name, m.Name)
			return true
		}
	}
	return false
}

func (w *world) moveToLeaving(l *run) bool {
	for _, p := range w.pods {
		r := w.runOf(p.uid)
		if p.role == facts.Leaving && r != nil && r != l && r.etcd != nil && w.transferLeadership(l, r.disk.data.id) == nil {
			w.say("FAULT %s: from %s to %s", LeadLeaving, l.name, p.name)
			return true
		}
	}
	return false
}

// tooMuch reports whether a gentle run must not lose what some runs hold: a majority
// would be lost with it, and with the claims that are being deleted.
func (w *world) tooMuch(lost func(*run) bool) bool {
	if !w.cfg.Gentle || w.main < 0 {
		return false
	}
	view := w.births[w.main].view
	left := w.intact(view)
	for _, r := range w.runs {
		if d := r.disk.data; lost(r) && d != nil && d.birth == w.main && isVoter(view, d.id) {
			left--
		}
	}
	for _, c := range w.claims {
		if d := c.disk.data; c.deleting && d != nil && d.birth == w.main && isVoter(view, d.id) {
			left--
		}
	}
	return left < quorum(countVoters(view))
}
