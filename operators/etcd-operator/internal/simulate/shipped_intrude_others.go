package simulate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// This file is what somebody else does to Services and the PodDisruptionBudget between two calls of
// the shipped operator, and what brings a cluster to where its rarer actions are decided.

// takeChild makes a Service, or the PodDisruptionBudget, a stranger's, while the operator asks the
// members: it has looked for such conflicts.
func takeChild(kind string) intrusion {
	return func(w *world, s *shipped) bool {
		if !s.isNext("asking members") || s.decided() != nil {
			return false
		}
		for _, key := range slices.Sorted(maps.Keys(w.children)) {
			if !strings.HasPrefix(key, kind) || w.left(w.children[key]) {
				continue
			}
			w.say("somebody makes %s his own", key)
			w.replaceChild(key)
			return true
		}
		return false
	}
}

// replaceBudget has another PodDisruptionBudget in the place of the one that is deleted next.
func replaceBudget(w *world, s *shipped) bool {
	key := "*v1.PodDisruptionBudget " + s.about("deleting *v1.PodDisruptionBudget")
	if w.children[key] == nil {
		return false
	}
	w.say("somebody replaces %s", key)
	w.replaceChild(key)
	return true
}

func (w *world) replaceChild(key string) {
	o := w.children[key].DeepCopyObject().(metav1.Object)
	w.childSerial++
	o.SetUID(types.UID("child-" + resourceVersion(w.childSerial)))
	o.SetOwnerReferences(ownedByStranger())
	o.SetAnnotations(nil)
	switch x := o.(type) {
	case *corev1.Service:
		w.children[key] = x
	case *policyv1.PodDisruptionBudget:
		w.children[key], w.budget = x, 0
	}
}

// keepChild is a child as it is from now on: of the uid that it has had.
func (w *world) keepChild(key string, o client.Object) {
	if is := w.children[key]; is != nil {
		o.SetUID(is.GetUID())
	} else {
		w.childSerial++
		o.SetUID(types.UID("child-" + resourceVersion(w.childSerial)))
	}
	w.children[key] = o
}

// anyIntrusions lists the intrusions that every run tolerates: objects that other owners left are
// garbage-collected, and a user corrects objects whose owner is in doubt.
var anyIntrusions = []intrusion{
	takeChild("*v1.Service"), takeVolumesName(giveAway, nil), addStrangersVolume, annotatePod, findNode, permitNow, deleteHolder,
	confuseVolume, confusePod,
}

// restoreNow is a user who creates an EtcdRestore while a call is under way; its operator asks for the
// EtcdCluster at once.
func restoreNow(w *world, s *shipped) bool {
	if len(w.lates) == 0 || len(w.restores) >= 2 || w.cluster.number > 0 || w.cluster.clusterID == 0 || s.decided() != nil || w.restorers[0].underWay {
		return false
	}
	w.startRestore(Fault{Kind: Restore, A: w.random.below(2), B: 1, For: 3})
	r, of := w.restorers[0], w.restores[len(w.restores)-1]
	for range 4 {
		w.publish()
		if r.deliver(); w.broken != nil || w.cluster.fence.Mark == of.uid {
			return true
		}
		for r.begin(of); w.broken == nil; w.publish() {
			if _, more := r.resume(); !more {
				r.over()
				break
			}
		}
	}
	return true
}

// loseOnce takes a majority of the voters away, once.
func loseOnce(w *world, _ *shipped) bool {
	if w.main < 0 || w.majorityLost || w.lost >= 0 || w.step < 5 {
		return false
	}
	return w.loseMajority(Fault{Kind: LoseMajority, A: w.random.below(1000), B: 1})
}

// recreateOnce deletes the EtcdCluster and makes another one of its name, which asks for the volumes
// soon.
func recreateOnce(w *world, _ *shipped) bool {
	return w.cluster.number == 0 && w.step >= 5 && w.recreate(Fault{Kind: Recreate, A: 1, B: w.random.below(2), For: 3})
}

// withdraw is a user who does not want a survivor any more, while its seed is being made.
func withdraw(w *world, s *shipped) bool {
	r := w.cluster.recovery
	if r == nil || r.Phase != "Seeding" || w.pod(r.Seed) == nil || s.decided() != nil || !w.random.chance(20) {
		return false
	}
	w.say("the user does not want a survivor any more")
	w.edit(func(c *etcdCluster) { c.survive = false })
	w.cluster.recover = 0
	return true
}

// abortAhead has the survivor lost right before its seed is made, and another operator see it.
func abortAhead(w *world, s *shipped) bool {
	x, ok := s.decided().(action.CreatePods)
	if !ok || len(x.Pods) == 0 || x.Pods[0].Recovery == nil {
		return false
	}
	p := w.pod(x.Pods[0].Recovery.Survivor)
	if p == nil {
		return false
	}
	w.say("survivor %s is lost", p.name)
	w.loseRun(p)
	w.publish()
	w.another(s.op)
	return true
}

// expand asks for larger volumes.
func expand(w *world, s *shipped) bool {
	return w.main >= 0 && w.step >= 5 && w.cluster.storage < largest && s.decided() == nil && w.random.chance(10) && w.editVolumes(Fault{Kind: EditStorage})
}

// deleteHolder deletes a Pod that may hold data, right before the operator looks at all.
func deleteHolder(w *world, s *shipped) bool {
	switch s.decided().(type) {
	case action.RecordSurvivor, action.AdoptSurvivor, action.GrowClaim:
	default:
		return false
	}
	i := slices.IndexFunc(w.pods, func(p *pod) bool { return p.deleting == never && p.node >= 0 })
	if !s.isNext(listingPods) || i < 0 {
		return false
	}
	w.say("somebody deletes Pod %s", w.pods[i].name)
	w.deletePod(w.pods[i])
	return true
}
