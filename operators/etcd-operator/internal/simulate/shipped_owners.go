package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file edits the owner references and labels of members' Pods and PVCs, as anyone may who can write
// them. The etcd in the Pod runs on and the volume keeps its data: no member may count as lost (S9), and
// no survivor may be chosen (S13).

// unclear changes the metadata of an object so that it does not say any more whose the object is. No
// other controller owns it. The numbers 0 to 7 are the ways to do so.
func (w *world) unclear(o metav1.Object, way int) {
	labels := o.GetLabels()
	ours := member.Owner(w.object(&w.cluster))
	ours.Controller = nil
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs"}
	if _, isPod := o.(*corev1.Pod); !isPod { // Services select Pods by that label
		delete(labels, v1beta2.LabelOwner)
	}
	switch way % 4 {
	case 0:
		labels[v1beta2.LabelOwner] = clusterUID(w.cluster.number)
		o.SetOwnerReferences([]metav1.OwnerReference{theirs})
	case 1:
		o.SetOwnerReferences([]metav1.OwnerReference{theirs})
	case 2:
		o.SetOwnerReferences([]metav1.OwnerReference{ours})
	case 3:
		o.SetOwnerReferences(nil)
	}
	if way >= 4 { // no list shows it
		delete(labels, v1beta2.LabelCluster)
	}
}

// voterToConfuse is a voter whose object is edited next; nil if there is none. Only one is edited at a
// time, while all voters have their data: what else is lost would be the fault's, not the edit's.
func (w *world) voterToConfuse() *facts.Member {
	if w.main < 0 || w.cluster.gone || w.cluster.deleting || w.cluster.clusterID == 0 || w.anyUnclear() {
		return nil
	}
	view := w.births[w.main].view
	voters := slices.DeleteFunc(slices.Clone(view), func(m facts.Member) bool { return m.Learner })
	if len(voters) == 0 || w.intact(view) < len(voters) {
		return nil
	}
	return &voters[w.random.below(len(voters))]
}

// isUnclear reports whether an object's owner is in doubt.
func isUnclear(o metav1.Object) bool {
	_, retired := o.GetLabels()[v1beta2.LabelRetiredBy]
	if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && member.IsRetained(claim) {
		return false
	}
	return !retired && metav1.GetControllerOf(o) == nil
}

func (w *world) anyUnclear() bool {
	return slices.ContainsFunc(w.claims, func(c *claim) bool { return isUnclear(c.object) }) ||
		slices.ContainsFunc(w.pods, func(p *pod) bool { return isUnclear(p.object) })
}

// confuseVolume edits a voter's PVC, and deletes its Pod, or does not.
func confuseVolume(w *world, _ *shipped) bool {
	m := w.voterToConfuse()
	if m == nil {
		return false
	}
	c := w.claim(m.Name)
	if c == nil || !w.isMembers(c) || c.disk.data == nil {
		return false
	}
	way := w.random.below(8)
	w.say("a user edits owner and labels of volume %s in way %d", c.name, way)
	c.edit(func(o *corev1.PersistentVolumeClaim) { w.unclear(o, way) })
	if p := w.pod(c.name); p != nil && w.random.chance(70) {
		w.say("and deletes its Pod")
		w.loseRun(p)
	}
	return true
}

// confusePod edits a voter's Pod.
func confusePod(w *world, _ *shipped) bool {
	m := w.voterToConfuse()
	if m == nil {
		return false
	}
	p := w.pod(m.Name)
	if p == nil || p.deleting != never || p.unlabelled() {
		return false
	}
	way := w.random.below(8)
	w.say("a user edits owner and labels of Pod %s in way %d", p.name, way)
	w.editPod(p, func(o *corev1.Pod) { w.unclear(o, way) })
	p.owner = -1
	return true
}

// clarify is a user who follows the operator's advice about such objects, and deletes those that an
// EtcdCluster has left.
func (w *world) clarify() {
	if !w.ships() {
		return
	}
	for _, c := range slices.Clone(w.claims) {
		switch {
		case !isUnclear(c.object) || c.deleting:
		case w.cluster.gone:
			w.deleteClaim(c)
		default:
			w.say("the user says whose volume %s is", c.name)
			c.edit(func(o *corev1.PersistentVolumeClaim) {
				o.OwnerReferences, o.Labels[v1beta2.LabelOwner] = nil, clusterUID(w.cluster.number)
			})
			w.disturbed++
		}
	}
	for _, p := range slices.Clone(w.pods) {
		switch {
		case !isUnclear(p.object) || p.deleting != never:
		case w.cluster.gone:
			w.deletePod(p)
		default:
			w.say("the user says whose Pod %s is", p.name)
			w.editPod(p, func(o *corev1.Pod) { o.OwnerReferences = []metav1.OwnerReference{member.Owner(w.object(&w.cluster))} })
			p.owner = w.cluster.number
			w.disturbed++
		}
	}
}

// isDoubtful reports whether the operator observed that an object of the name is in doubt.
func isDoubtful(o *facts.Observation, name string) bool {
	return slices.ContainsFunc(o.Doubtful, func(d facts.Doubtful) bool { return d.Name == name })
}

// isInDoubt reports whether the owner of a volume, as it was read, is in doubt.
func (s *shipped) isInDoubt(c *claimObject) bool {
	return member.IsInDoubt(s.w.object(&s.looks.base), c.object)
}

// checkDoubt: no survivor is chosen while a volume that may be a voter's was there at the last look, unless
// the voter's Pod has answered: its data was compared then.
func (s *shipped) checkDoubt(what string) {
	if s.w.main < 0 {
		return
	}
	for name, c := range s.looks.volumes {
		hasAnswered := slices.ContainsFunc(s.op.todo.seen.Pods, func(p facts.Pod) bool { return p.Name == name && p.Answer.Reached })
		if m := s.w.memberNamed(name); m != nil && !m.Learner && !hasAnswered && s.isInDoubt(&c) {
			s.w.fail("S13", "%s, and volume %s, whose owner is in doubt, exists", what, name)
		}
	}
}
