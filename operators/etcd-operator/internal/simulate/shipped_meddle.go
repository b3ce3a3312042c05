package simulate

import (
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// meddle lets something happen between two calls of the shipped operator: another operator
// is a step ahead, there is another Pod of the name that the call is about, a user takes a label
// from a Pod, or one of the run's faults comes about.
func (w *world) meddle(op *operator) {
	if w.settling || !w.random.chance(w.cfg.Meddles) {
		return
	}
	kind := w.cfg.Kinds[w.random.below(len(w.cfg.Kinds))]
	f := Fault{Step: w.step, Kind: kind, A: w.random.below(1000), B: w.random.below(1000), For: pick(&w.random, 3, 10, 30)}
	switch target := w.pod(op.shipped.next[strings.LastIndexByte(op.shipped.next, ' ')+1:]); {
	case w.random.chance(50):
		w.another(op)
	case len(w.pods) > 0 && w.random.chance(15):
		w.takeLabel(w.pods[f.A%len(w.pods)], f.B)
	case target != nil && w.random.chance(50) && (target.persistent || !w.tooMuch(func(r *run) bool { return r.uid == target.uid })):
		w.say("FAULT %s: %s", ForceDeletePod, target.name)
		w.dropPod(target)
		w.disturbed++
		w.publish()
		w.another(op)
	case kind != PartitionPeers && w.inject(f): // members that are parted need a moment to notice
		w.stats.Faults[kind]++
		w.disturbed++
	}
	w.publish()
	w.checkTruth()
}

// another is a second operator, which has lost its lease and does not know it: it makes one
// whole reconcile, with caches that don't lag.
func (w *world) another(op *operator) {
	if len(w.operators) == 1 {
		b := newOperator(w, "b")
		b.stalledUntil = w.step + w.cfg.Steps // until faults stop it makes no other steps
		w.operators = append(w.operators, b)
		w.ship(b, op.shipped.reconciler.Client.Scheme())
	}
	b := w.operators[1]
	if b == op || b.shipped.underWay {
		return
	}
	until := w.until
	w.until[LagPods], w.until[LagClaims], w.until[LagStatus] = 0, 0, 0
	w.deliver(b)
	w.until = until
	w.say("operator %s is ahead", b.id)
	s := b.shipped
	for s.begin(); w.broken == nil; w.publish() {
		if _, more := s.resume(); !more {
			s.underWay, b.todo = false, nil
			return
		}
	}
}

// takeLabel takes one of the labels that lists select by from the Pod of a member, or of the
// recorded seed. Its etcd runs on. One of neither is found no more, and stays.
func (w *world) takeLabel(p *pod, n int) {
	key := []string{v1beta2.LabelApp, v1beta2.LabelCluster}[n%2]
	isMember := w.main >= 0 && w.memberNamed(p.name) != nil || w.main < 0 && w.cluster.bootstrap.Member == p.name
	if !isMember || p.deleting != never || p.unlabelled() {
		return
	}
	w.say("a user takes the label %s from Pod %s", key, p.name)
	p.object = p.object.DeepCopy()
	delete(p.object.Labels, key)
	w.disturbed++
}

// leftUnlabelled counts the Pods of nobody that have lost their labels, such as that of a seed which was
// given up at that moment: no list shows them, and a person deletes them (docs/limits.md).
func (w *world) leftUnlabelled() int {
	n := 0
	for _, p := range w.pods {
		n += boolInt(p.unlabelled() && w.memberNamed(p.name) == nil)
	}
	return n
}

// unlabelled reports whether lists, and Services, do not find a Pod.
func (p *pod) unlabelled() bool {
	return p.object != nil && (p.object.Labels[v1beta2.LabelApp] == "" || p.object.Labels[v1beta2.LabelCluster] == "")
}
