package simulate

import (
	"maps"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is what Kubernetes does by itself to the objects of the shipped code.

// shipBeside makes an operator that came later the shipped code, where the first one is, and has
// another etcd-restore-operator, too.
func (w *world) shipBeside(op *operator) {
	if !w.ships() {
		return
	}
	scheme := w.operators[0].shipped.reconciler.Client.Scheme()
	w.ship(op, scheme)
	if len(w.restorers) == 1 {
		w.shipRestorer(scheme)
	}
}

// left reports whether an object is what an EtcdCluster that is no more has left.
func (w *world) left(o metav1.Object) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && (w.cluster.gone || w.cluster.deleting || clusterNumber(string(owner.UID)) != w.cluster.number)
}

// collect is Kubernetes' garbage collector, which deletes what the owner of is deleted, sooner or
// later; and how an EtcdCluster comes to its end, or into being.
func (w *world) collect() {
	if !w.ships() {
		return
	}
	switch c := &w.cluster; {
	case c.deleting && !c.gone && (w.calm || w.random.chance(20)):
		w.say("the EtcdCluster is gone")
		c.gone = true
	case w.bornAt > 0 && w.step >= w.bornAt:
		w.say("EtcdCluster %d is made", c.number)
		w.bornAt, c.gone = 0, false
		c.version++
	}
	for _, p := range slices.Clone(w.pods) {
		if p.deleting == never && w.left(p.object) && (w.calm || w.random.chance(30)) {
			w.say("Pod %s is collected: its owner is gone", p.name)
			w.deletePod(p)
		}
	}
	for _, c := range slices.Clone(w.claims) {
		if !c.deleting && w.left(c.object) && (w.calm || w.random.chance(30)) {
			w.say("volume %s is collected: its owner is gone", c.name)
			w.deleteClaim(c)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.children)) {
		if o := w.children[key]; w.left(o) && (w.calm || w.random.chance(30)) {
			if _, ok := o.(*policyv1.PodDisruptionBudget); ok {
				w.budget = 0
			}
			delete(w.children, key)
		}
	}
}

// recreateLater takes the EtcdCluster away and makes another one of its name, at once or after
// some steps. What it has left goes by and by.
func (w *world) recreateLater(f Fault, next etcdCluster) {
	w.bornAt = max(w.step, 1) // 0 is never
	if f.A%3 == 0 {
		w.bornAt += f.For
	}
	next.gone = true
	w.cluster, w.adoptAt = next, w.bornAt+1
	if f.A%2 == 0 {
		w.adoptAt += f.For
	}
}

// remains says what is left of an EtcdCluster that was deleted; empty if nothing is that goes
// with it.
func (w *world) remains() string {
	switch {
	case !w.ships():
	case len(w.pods) > 0:
		return "a Pod is left of an EtcdCluster that was deleted: " + w.pods[0].name
	case slices.ContainsFunc(w.claims, func(c *claim) bool { return !c.retained && c.retired == "" }):
		return "a volume is left of an EtcdCluster that was deleted"
	}
	return ""
}
