package simulate

import (
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is an operator's caches: what the API server tells its watches, how far they lag, and
// what the operator sees of a Pod in them.

type podEvent struct {
	pod  pod
	gone bool
}

type claimEvent struct {
	claim claimObject
	gone  bool
}

// relist fills the caches from the API server, as an operator does when it starts.
func (op *operator) relist(w *world) {
	op.cluster, op.pods, op.claims = w.cluster, nil, nil
	for _, p := range w.pods {
		op.pods = append(op.pods, *p)
	}
	for _, c := range w.claims {
		op.claims = append(op.claims, c.claimObject)
	}
	op.clusterQueue, op.podQueue, op.claimQueue = nil, nil, nil
	op.todo, op.half, op.woken, op.last, op.since, op.reading = nil, nil, true, plan.Decision{}, w.now, nil
	op.rejections, op.orphans = nil, nil
	if op.shipped != nil {
		op.shipped.relist()
	}
}

// publish tells every operator's watches what has changed.
func (w *world) publish() {
	if w.cluster != w.publishedCluster {
		w.publishedCluster = w.cluster
		for _, op := range w.watchers() {
			op.clusterQueue = append(op.clusterQueue, w.cluster)
		}
	}
	for i := 0; i < len(w.publishedPods); i++ {
		if old := &w.publishedPods[i]; !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.uid == old.uid }) {
			w.tellPod(podEvent{*old, true})
			w.publishedPods = slices.Delete(w.publishedPods, i, i+1)
			i--
		}
	}
	for _, p := range w.pods {
		i := slices.IndexFunc(w.publishedPods, func(old pod) bool { return old.uid == p.uid })
		switch {
		case i < 0:
			w.publishedPods = append(w.publishedPods, *p)
			w.tellPod(podEvent{*p, false})
		case w.publishedPods[i] != *p:
			p.revision = w.nextRevision()
			w.publishedPods[i] = *p
			w.tellPod(podEvent{*p, false})
		}
	}
	for i := 0; i < len(w.publishedClaims); i++ {
		if old := &w.publishedClaims[i]; !slices.ContainsFunc(w.claims, func(c *claim) bool { return c.uid == old.uid }) {
			w.tellClaim(claimEvent{*old, true})
			w.publishedClaims = slices.Delete(w.publishedClaims, i, i+1)
			i--
		}
	}
	for _, c := range w.claims {
		i := slices.IndexFunc(w.publishedClaims, func(old claimObject) bool { return old.uid == c.uid })
		switch {
		case i < 0:
			w.publishedClaims = append(w.publishedClaims, c.claimObject)
			w.tellClaim(claimEvent{c.claimObject, false})
		case w.publishedClaims[i] != c.claimObject:
			c.revision = w.nextRevision()
			w.publishedClaims[i] = c.claimObject
			w.tellClaim(claimEvent{c.claimObject, false})
		}
	}
}

// watchers are all that have caches.
func (w *world) watchers() []*operator {
	if len(w.restorers) == 0 {
		return w.operators
	}
	all := slices.Clip(w.operators)
	for _, s := range w.restorers {
		all = append(all, s.caches)
	}
	return all
}

func (w *world) tellPod(e podEvent) {
	for _, op := range w.watchers() {
		op.podQueue = append(op.podQueue, e)
	}
}

func (w *world) tellClaim(e claimEvent) {
	for _, op := range w.watchers() {
		op.claimQueue = append(op.claimQueue, e)
	}
}

// deliver moves events from the watches into the caches: all of them, or only some
// while the kind lags. Within a kind the order is kept.
func (w *world) deliver(op *operator) {
	for n := w.due(len(op.clusterQueue), LagStatus); n > 0; n-- {
		op.woken = op.woken || !sameButStatus(op.cluster, op.clusterQueue[0])
		op.cluster, op.clusterQueue = op.clusterQueue[0], op.clusterQueue[1:]
	}
	for n := w.due(len(op.podQueue), LagPods); n > 0; n-- {
		e := op.podQueue[0]
		op.podQueue, op.woken = op.podQueue[1:], true
		i, found := slices.BinarySearchFunc(op.pods, e.pod.name, func(p pod, n string) int { return strings.Compare(p.name, n) })
		switch {
		case e.gone && found && op.pods[i].uid == e.pod.uid:
			op.pods = slices.Delete(op.pods, i, i+1)
		case !e.gone && found:
			op.pods[i] = e.pod
		case !e.gone:
			op.pods = slices.Insert(op.pods, i, e.pod)
		}
	}
	for n := w.due(len(op.claimQueue), LagClaims); n > 0; n-- {
		e := op.claimQueue[0]
		op.claimQueue, op.woken = op.claimQueue[1:], true
		i, found := slices.BinarySearchFunc(op.claims, e.claim.name, func(c claimObject, n string) int { return strings.Compare(c.name, n) })
		switch {
		case e.gone && found && op.claims[i].uid == e.claim.uid:
			op.claims = slices.Delete(op.claims, i, i+1)
		case !e.gone && found:
			op.claims[i] = e.claim
		case !e.gone:
			op.claims = slices.Insert(op.claims, i, e.claim)
		}
	}
}

// sameButStatus reports whether two versions of an EtcdCluster differ only in the status,
// which wakes nobody.
func sameButStatus(a, b etcdCluster) bool {
	return a.generation == b.generation && a.number == b.number && a.deleting == b.deleting && a.gone == b.gone && a.adopt == b.adopt && a.recover == b.recover &&
		a.restart == b.restart && a.rotate == b.rotate && a.askedRound == b.askedRound && a.askedLeader == b.askedLeader && a.fence.Mark == b.fence.Mark && a.fence.Seeded == b.fence.Seeded && a.fence.Lifted == b.fence.Lifted
}

// due is how many of n queued events arrive now.
func (w *world) due(n int, lag FaultKind) int {
	if n > 0 && w.during(lag) {
		return min(n, w.random.below(3)/2)
	}
	return n
}

func (w *world) observePod(p *pod) facts.Pod {
	seen := facts.Pod{
		Name: p.name, UID: p.uid, Role: p.role, RoleSince: epoch.Add(p.roleAt), Created: epoch.Add(p.created), Finished: p.finished,
		Unschedulable: p.unschedulable, Trouble: p.trouble, ImageUnavailable: strings.HasPrefix(p.trouble, "ImagePullBackOff"), Addressed: p.addressed,
		Persistent: p.persistent, Template: p.template, Version: p.version, Repository: p.repository, From: p.changedFrom(), Learners: p.learners, StartPermit: p.permit,
		SnapshotCount: snapshotEntries, Routed: p.routed,
		Restarts: p.restarts, LastExit: p.exit, Looping: p.looping, ProvenRestarts: p.provenRestarts, ProvenImage: p.provenImage,
	}
	if p.runningSince != never {
		seen.RunningSince = epoch.Add(p.runningSince)
	}
	if p.defragmented != never {
		seen.Defragmented = facts.Defragmented{Since: epoch.Add(p.defragmented), Before: int64(p.sizeBefore) * unit, Done: p.defragmentDone}
	}
	if p.unseeded != "" { // what has ended, and waits, is its agent's container
		seen.LastExit, seen.Restarts, seen.Looping = facts.Exit{}, 0, false
		if seen.Trouble != "" {
			seen.Trouble = agentFailure + ": " + p.unseeded
		}
	}
	if p.recovery != nil {
		seen.Reseed, seen.SurvivorPermit = p.recovery.Token, p.survivorPermit
	}
	if p.ready {
		seen.ReadySince = epoch.Add(p.readyAt)
	} else {
		seen.UnreadySince = epoch.Add(p.readyAt)
	}
	if p.deleting != never {
		seen.DeletingSince = epoch.Add(p.deleting + grace)
	}
	if p.node < 0 {
		return seen
	}
	seen.Node = nodeName(p.node)
	if p.ip {
		seen.IP = "10.0.0.1"
	}
	if n := &w.nodes[p.node]; w.cfg.NodesReadable {
		seen.Cordoned = n.cordoned && !n.gone
		if n.lostSince != never && !n.gone {
			seen.NodeLostSince = epoch.Add(n.lostSince)
		}
	}
	return seen
}
