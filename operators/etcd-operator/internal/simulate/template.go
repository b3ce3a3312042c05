package simulate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what a user asks of the shape of Pods, and of nodes that are to be
// emptied.

// Templates. A Pod of the last two does not run, or finds no place.
var templates = []string{"t0", "t1", "t2", "t3", crashingTemplate, unplaceableTemplate}

const (
	goodTemplate        = "t0"
	crashingTemplate    = "crashing"
	unplaceableTemplate = "unplaceable"
)

// wantedTemplate is what plan.Cluster.Template is: what the spec says, the restart that is
// asked for by an annotation, and whom to trust.
func (c *etcdCluster) wantedTemplate() string {
	return c.template + "/" + strconv.Itoa(c.restart) + c.recordedTrust()
}

// badTemplate reports whether no Pod comes to run under a template.
func badTemplate(template string) bool {
	return strings.HasPrefix(template, crashingTemplate) || strings.HasPrefix(template, unplaceableTemplate)
}

// seedTemplate is that of a restore's seed. One under which nothing runs is the restore's
// to notice.
func (w *world) seedTemplate() string {
	if t := w.cluster.wantedTemplate(); !badTemplate(t) {
		return t
	}
	return goodTemplate + w.cluster.recordedTrust()
}

// editTemplate is a user who edits the spec of the Pods, or asks for a restart: that is no
// change of the spec, and so of no generation.
func (w *world) editTemplate(f Fault) {
	if f.Kind == AskRestart {
		w.say("the user asks for a restart")
		w.cluster.restart++
		w.cluster.version++
		return
	}
	template := templates[f.A%len(templates)]
	w.say("the user sets template %s", template)
	w.edit(func(c *etcdCluster) { c.template = template })
}

// cordon is a user who wants a node to be emptied, or not any more.
func (w *world) cordon(f Fault) bool {
	cordon := f.Kind == Cordon
	var found []int
	for i := range w.nodes {
		if !w.nodes[i].gone && w.nodes[i].cordoned != cordon {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return false
	}
	i := found[f.A%len(found)]
	w.say("FAULT %s: %s", f.Kind, nodeName(i))
	w.nodes[i].cordoned = cordon
	return true
}

// uncordonForRoom lets all nodes be used again if there would else not be room for every
// member and the one that takes another's place, or if a member does not run, or is about
// to end: its volume may be on a node that is to be emptied. Nor does an operator that may
// not read nodes know that a Pod which it is to recreate would find no place.
func (w *world) uncordonForRoom() {
	free := 0
	for i := range w.nodes {
		if !w.nodes[i].gone && !w.nodes[i].cordoned {
			free++
		}
	}
	needed := 1
	if w.cfg.AntiAffinity {
		needed = w.cluster.size + 1
	}
	down := w.main < 0 || slices.ContainsFunc(w.births[w.main].view, func(m facts.Member) bool {
		p := w.pod(m.Name)
		return w.member(w.main, m.ID) == nil || p == nil || p.deleting != never
	})
	stopped := slices.ContainsFunc(w.restores, func(r *restore) bool { return !r.done && !r.adopted }) // it may give volumes back
	if free >= needed && !down && !stopped && (w.cfg.NodesReadable || !w.cfg.LocalVolumes) {
		return
	}
	w.say("all nodes may be used")
	for i := range w.nodes {
		w.nodes[i].cordoned = false
	}
	w.addNodes(needed)
}

// addNodes is a person who makes room for the member that is to take the place of one whose claim
// is being deleted.
func (w *world) addNodes(needed int) {
	if !slices.ContainsFunc(w.claims, func(c *claim) bool { return c.deleting && w.pod(c.name) != nil }) {
		return
	}
	for _, n := range w.nodes {
		needed -= boolInt(!n.gone)
	}
	for range needed {
		w.say("node %s is added", nodeName(len(w.nodes)))
		w.nodes = append(w.nodes, newNode(len(w.nodes)))
	}
}

// recreatePod is the deletion of a member's Pod that is to be recreated.
func (w *world) recreatePod(t *todo, a action.RecreatePod) error {
	p := w.pod(a.Name)
	switch {
	case p == nil || p.uid != a.UID:
		return errGone
	case w.cfg.has(NoLivePods):
	case t.sent && !slices.ContainsFunc(t.seen.Pods, func(q facts.Pod) bool { return q.UID == p.uid && samePod(p, &q) }):
		return errConflict // its resourceVersion is another one
	case !t.sent && (!w.samePods(&t.seen) || !w.isMembers(w.claim(a.Name))):
		return errConflict
	}
	w.touch("a Pod is deleted to be recreated")
	w.checkStartable(t, p)
	w.checkPodDeletion(t, p, false)
	w.checkRecreate(t, p)
	w.deletePod(p)
	return nil
}

// checkRecreate: a member that serves is ended for another Pod only while all others live
// (S6), another one leads (S8), and its data is on a volume (S7).
func (w *world) checkRecreate(t *todo, p *pod) {
	r := w.runOf(p.uid)
	if w.main < 0 || r == nil || r.etcd == nil || r.disk.data.birth != w.main || w.memberNamed(p.name) == nil || t.disturbed != w.disturbed || t.sent {
		return
	}
	view := w.births[w.main].view
	for _, m := range view {
		q := w.member(w.main, m.ID)
		switch {
		case m.Name == p.name:
		case q == nil || !w.reaches(r, q):
			w.fail("S6", "the Pod of %s is recreated while %s does not run", p.name, m.Name)
		case w.pod(m.Name) != nil && (w.pod(m.Name).from != "" || w.pod(m.Name).deleting != never):
			w.fail("S6", "the Pod of %s is recreated while %s is restarted", p.name, m.Name)
		}
	}
	// Of two operators one may move the lead meanwhile.
	if r.etcd.leading && len(view) > 1 && len(w.operators) == 1 {
		w.fail("S8", "the Pod of %s is recreated, and it leads", p.name)
	}
}
