package simulate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// intrusion is what somebody else does, between two calls of the shipped operator, to an object that
// the next one is about: a user, another operator whose call was under way, or a controller of
// another one's objects. It reports whether there was something to do it to.
type intrusion func(*world, *shipped) bool

// intrude lets such a thing happen.
func (w *world) intrude(op *operator) {
	if len(w.cfg.Intrusions) == 0 || w.settling || w.calm || !w.random.chance(w.cfg.Intrudes) {
		return
	}
	if w.cfg.Intrusions[w.random.below(len(w.cfg.Intrusions))](w, op.shipped) {
		w.disturbed++
		w.publish()
		w.checkTruth()
	}
}

// stranger is the uid of an owner that no EtcdCluster is; what it owns is collected, since it is
// not there.
const stranger = "stranger"

func ownedByStranger() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Other", Name: stranger, UID: stranger, Controller: new(true)}}
}

// isStrangers reports whether it is owned by a stranger.
func isStrangers(o metav1.Object) bool {
	ref := metav1.GetControllerOf(o)
	return ref != nil && ref.UID == stranger
}

// about is the name of the object that the next call is about, if that begins with one of the words.
func (s *shipped) about(calls ...string) string {
	for _, call := range calls {
		if name, ok := strings.CutPrefix(s.next, call+" "); ok {
			return name
		}
	}
	return ""
}

// decided is the action that is being carried out; nil while it observes.
func (s *shipped) decided() action.Action {
	if s.op.todo == nil {
		return nil
	}
	return s.op.todo.decision.Action
}

// isNext reports whether the next call is one of those.
func (s *shipped) isNext(calls ...string) bool { return slices.Contains(calls, s.next) }

const (
	readingVolume  = "reading *v1.PersistentVolumeClaim"
	deletingVolume = "deleting *v1.PersistentVolumeClaim"
	creatingVolume = "creating PVC"
	listingPods    = "listing *v1.PodList"
	listingVolumes = "listing *v1.PersistentVolumeClaimList"
)

// edit is a change of a volume's object by somebody else.
func (c *claim) edit(change func(*corev1.PersistentVolumeClaim)) {
	o := c.object.DeepCopy()
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	change(o)
	c.retired = o.Labels[v1beta2.LabelRetiredBy]
	c.set(o)
}

// retire is the mark of a restore on the volume.
func retire(o *corev1.PersistentVolumeClaim) { o.Labels[v1beta2.LabelRetiredBy] = stranger }

// giveAway makes the volume another one's.
func giveAway(o *corev1.PersistentVolumeClaim) {
	delete(o.Labels, v1beta2.LabelOwner)
	o.OwnerReferences = ownedByStranger()
}

// unmark takes the mark of a survivor's seed from the volume.
func unmark(o *corev1.PersistentVolumeClaim) {
	delete(o.Annotations, v1beta2.AnnotationSurvivorPermit)
}

// editing changes the volume that the next call is about.
func editing(what string, change func(*corev1.PersistentVolumeClaim), calls ...string) intrusion {
	return func(w *world, s *shipped) bool {
		c := w.claim(s.about(calls...))
		if c == nil || s.decided() == nil || c.deleting {
			return false
		}
		w.say("somebody %s volume %s", what, c.name)
		c.edit(change)
		return true
	}
}

// replaceVolume has another volume in the place of the one that the next call is about.
func replaceVolume(w *world, s *shipped) bool {
	c := w.claim(s.about(readingVolume))
	if c == nil || s.decided() == nil {
		return false
	}
	w.say("somebody replaces volume %s", c.name)
	o := c.object.DeepCopy()
	w.dropClaim(c)
	w.publish() // so that the new one is another for watches
	next := w.createClaim(c.name)
	next.set(o)
	next.capacity = next.requested
	return true
}

// deleteVolume deletes it while something still holds it.
func deleteVolume(w *world, s *shipped) bool {
	c := w.claim(s.about(readingVolume))
	if c == nil || s.decided() == nil || c.deleting {
		return false
	}
	w.say("somebody deletes volume %s", c.name)
	c.deleting = true
	return true
}

// takeVolumesName has a volume of a name that a new member is to get, which it cannot use: one that
// was changed in one of those ways, or is being deleted.
func takeVolumesName(ways ...func(*corev1.PersistentVolumeClaim)) intrusion {
	return func(w *world, s *shipped) bool {
		name := s.about(creatingVolume)
		if name == "" || w.claim(name) != nil {
			return false
		}
		c := w.createClaim(name)
		w.say("somebody has made volume %s", name)
		if change := ways[w.random.below(len(ways))]; change != nil {
			c.edit(change)
		} else {
			c.deleting = true
		}
		return true
	}
}

// addVolume makes a volume of the cluster right before the operator looks at all, to choose a survivor.
func addVolume(w *world, s *shipped) bool {
	_, ok := s.decided().(action.RecordSurvivor)
	return ok && w.makeVolume(s) != nil
}

// addStrangersVolume makes one with the cluster's labels, which is a stranger's, right before the
// operator looks at all to begin.
func addStrangersVolume(w *world, s *shipped) bool {
	if _, ok := s.decided().(action.RecordBootstrap); !ok {
		return false
	}
	c := w.makeVolume(s)
	if c == nil {
		return false
	}
	c.edit(giveAway)
	return true
}

// makeVolume makes a volume before volumes are listed; nil if they are not, or members have none.
func (w *world) makeVolume(s *shipped) *claim {
	if !s.isNext(listingVolumes) || !w.cfg.Persistent {
		return nil
	}
	w.serial++
	c := w.createClaim(clusterName + "-other" + resourceVersion(w.serial))
	w.say("somebody makes volume %s", c.name)
	return c
}

// giveAwayObserved makes one of the volumes another one's right before the operator looks at all.
func giveAwayObserved(w *world, s *shipped) bool {
	if !s.isNext(listingVolumes) || s.decided() == nil {
		return false
	}
	for _, c := range w.claims {
		if w.isMembers(c) {
			w.say("somebody gives volume %s away", c.name)
			c.edit(giveAway)
			return true
		}
	}
	return false
}

// serveOld gives a Pod of the old cluster its clients back, right before the operator looks whether
// one has any.
func serveOld(w *world, s *shipped) bool {
	x, ok := s.decided().(action.AdoptSurvivor)
	if !ok || !s.isNext(listingPods) {
		return false
	}
	for _, p := range w.pods {
		r := w.runOf(p.uid)
		if p.name == x.Name || p.role == facts.Voter || r == nil || r.disk.data == nil || r.disk.data.birth != w.main {
			continue
		}
		w.say("somebody labels Pod %s as a voter", p.name)
		w.editPod(p, func(o *corev1.Pod) { o.Labels[v1beta2.LabelRole] = v1beta2.RoleVoter })
		p.role = facts.Voter
		return true
	}
	return false
}

// editPod is a change of a Pod's labels and annotations by somebody else.
func (w *world) editPod(p *pod, change func(*corev1.Pod)) {
	p.object = p.object.DeepCopy()
	change(p.object)
}

// annotatePod changes the Pod that is patched next.
func annotatePod(w *world, s *shipped) bool {
	p := w.pod(s.about("patching Pod"))
	if p == nil || s.decided() == nil {
		return false
	}
	w.say("somebody annotates Pod %s", p.name)
	w.serial++
	w.editPod(p, func(o *corev1.Pod) {
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations["example.com/note"] = resourceVersion(w.serial)
	})
	return true
}

// replacePod has another Pod in the place of the seed or the member that the next call is about, as
// a second operator makes it that has seen the first one go.
func replacePod(w *world, s *shipped) bool {
	p := w.pod(s.about("patching Pod", "deleting *v1.Pod"))
	if p == nil {
		return false
	}
	switch s.decided().(type) {
	case action.Defragment, action.RevokeSurvivorPermit, action.DropSeed:
	default:
		return false
	}
	w.say("Pod %s is replaced", p.name)
	next := *p
	w.loseRun(p)
	w.publish()
	next.object, next.ready, next.routed, next.addressed, next.ip = p.object.DeepCopy(), false, false, false, false
	w.createPod(&next)
	return true
}

// deletePodNext deletes the Pod that is read next, in grace.
func deletePodNext(w *world, s *shipped) bool {
	p := w.pod(s.about("reading *v1.Pod"))
	if p == nil || p.deleting != never || s.decided() == nil {
		return false
	}
	w.say("somebody deletes Pod %s", p.name)
	w.deletePod(p)
	return true
}

// addPod makes a stranger's Pod of the name that the operator looks for before it deletes the volume
// of that name; it is about to end.
func addPod(w *world, s *shipped) bool {
	name := s.about("reading *v1.Pod")
	if _, ok := s.decided().(action.DeleteClaim); !ok || name == "" || w.pod(name) != nil {
		return false
	}
	w.say("somebody makes Pod %s", name)
	p := &pod{name: name, object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, OwnerReferences: ownedByStranger()}}}
	w.createPod(p)
	p.deleting = w.now
	return true
}

// reapplyBeside is a user who creates the Pod of an old member again, right before it is looked whether
// the seed that a restore has handed over is alone.
func reapplyBeside(w *world, s *shipped) bool {
	if _, ok := s.decided().(action.AdoptSeed); !ok || !s.isNext("listing *v1.PartialObjectMetadataList") {
		return false
	}
	before := len(w.pods)
	w.reapplyPod()
	return len(w.pods) > before
}

// findNode has the Pod of a member that is about to be removed find a node.
func findNode(w *world, s *shipped) bool {
	x, ok := s.decided().(action.RemoveMember)
	if !ok || !s.isNext(listingPods) || x.Pod == nil {
		return false
	}
	p := w.pod(x.Name)
	i := slices.IndexFunc(w.nodes, func(n node) bool { return !n.gone && n.lostSince == never })
	if p == nil || p.node >= 0 || p.deleting != never || i < 0 {
		return false
	}
	w.say("Pod %s finds node %s", p.name, nodeName(i))
	p.node, p.unschedulable = i, ""
	return true
}

// crashStaying has members end that are to stay when another one is removed, right before they are
// asked: with that one there is a quorum, and without it there is none.
func crashStaying(w *world, s *shipped) bool {
	x, ok := s.decided().(action.RemoveMember)
	if !ok || !s.isNext("asking members") || w.main < 0 || w.member(w.main, x.ID) == nil {
		return false
	}
	var stay []*run
	for _, m := range x.Members {
		if r := w.member(w.main, m.ID); r != nil && !m.Learner && m.ID != x.ID {
			stay = append(stay, r)
		}
	}
	voters := countVoters(x.Members)
	enough := quorum(voters-1) - 1 // one fewer than would do
	if enough+1 < quorum(voters) || len(stay) <= enough {
		return false
	}
	slices.SortStableFunc(stay, func(a, b *run) int { return boolInt(b.etcd.leading) - boolInt(a.etcd.leading) })
	for _, r := range stay[enough:] {
		w.say("%s ends", r.name)
		w.crash(r)
	}
	return true
}

// permitNow lets a permit that another operator has granted earlier reach the Pod of a learner that
// is about to be removed.
func permitNow(w *world, s *shipped) bool {
	x, ok := s.decided().(action.RemoveMember)
	if !ok || !s.isNext(listingPods) || x.Pod == nil {
		return false
	}
	p := w.pod(x.Name)
	m := findMember(x.Members, x.ID)
	if p == nil || p.deleting != never || m == nil || !m.Learner || m.Started || x.Pod.StartPermit != nil && p.permit != nil && p.permit.Attempt != x.Pod.StartPermit.Attempt {
		return false
	}
	g := launcher.StartPermit{Attempt: 1, State: launcher.StateExisting}
	if p.permit != nil {
		g.Attempt = int64(p.permit.Attempt) + 1
	}
	c := w.object(&w.cluster)
	var peers []member.Peer
	for _, m := range x.Members {
		peers = append(peers, member.Peer{Name: m.Name, URL: member.PeerURL(c, m.Name)})
	}
	g.InitialCluster = member.InitialCluster(peers)
	w.say("a start permit that was under way reaches Pod %s", p.name)
	w.editPod(p, func(o *corev1.Pod) { o.Annotations[v1beta2.AnnotationStartPermit] = g.String() })
	p.permit = observe.PodOf(c, p.object).StartPermit
	return true
}
