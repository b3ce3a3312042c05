package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file edits the owner references and labels of members' Pods and PVCs, as anyone can who has write
// access. The etcd in the Pod keeps running, and the volume keeps its data. So no member counts as lost (S9),
// and no survivor is chosen (S13).

// unclear edits the metadata of an object so that its owner is in doubt: no other controller owns it. way, from
// 0 to 7, selects the edit.
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
	if way >= 4 { // lists do not contain it
		delete(labels, v1beta2.LabelCluster)
	}
}

// voterToConfuse returns the voter whose object is edited next; nil if there is none. Only one object is edited
// at a time, and only while all voters have their data. So a loss of data is never due to the edit.
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

// confuseVolume edits a voter's PVC. It also deletes the voter's Pod in some cases.
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

// clarify acts as a user who follows the operator's advice about doubtful objects, and deletes the objects that
// an earlier EtcdCluster left.
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
				o.Labels[v1beta2.LabelCluster] = clusterName
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

// isDoubtful reports whether the Observation lists an object with this name as doubtful.
func isDoubtful(o *facts.Observation, name string) bool {
	return slices.ContainsFunc(o.Doubtful, func(d facts.Doubtful) bool { return d.Name == name })
}

// isInDoubt reports whether the owner of a PVC, as read, is in doubt.
func (s *shipped) isInDoubt(c *claimObject) bool {
	return member.IsInDoubt(s.w.object(&s.looks.base), c.object)
}

// checkDoubt: no survivor is chosen if the last look found a doubtful PVC that might be a voter's. A PVC is
// exempt if the voter's Pod has answered, because its data was compared then.
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
