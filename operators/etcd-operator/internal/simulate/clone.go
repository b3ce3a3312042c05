package simulate

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// clone copies a world, so that it can go on in two ways.
func (w *world) clone() *world {
	c := *w
	c.stats = newStats()
	c.trace = nil
	c.nodes = slices.Clone(w.nodes)
	c.births = slices.Clone(w.births)
	for i := range c.births {
		b := &c.births[i]
		b.committed, b.removed, b.removedIDs = slices.Clip(b.committed), slices.Clip(b.removed), slices.Clip(b.removedIDs)
	}
	c.publishedPods = slices.Clone(w.publishedPods)
	c.publishedClaims = slices.Clone(w.publishedClaims)
	c.faults, c.armed = slices.Clone(w.faults), slices.Clone(w.armed)

	disks := map[*disk]*disk{}
	copyDisk := func(d *disk) *disk {
		if disks[d] == nil {
			disks[d] = &disk{restored: d.restored, corrupt: d.corrupt, owner: d.owner}
			if d.data != nil {
				// Both may append to the log: neither in place.
				d.data.log = slices.Clip(d.data.log)
				data := *d.data
				disks[d].data = &data
			}
		}
		return disks[d]
	}
	c.pods = make([]*pod, len(w.pods))
	for i, p := range w.pods {
		q := *p
		c.pods[i] = &q
	}
	c.claims = make([]*claim, len(w.claims))
	for i, old := range w.claims {
		c.claims[i] = &claim{old.claimObject, old.node, copyDisk(old.disk)}
	}
	c.attic = make([]*claim, len(w.attic))
	for i, old := range w.attic {
		c.attic[i] = &claim{old.claimObject, old.node, copyDisk(old.disk)}
	}
	c.runs = make([]*run, len(w.runs))
	for i, r := range w.runs {
		q := *r
		q.disk = copyDisk(r.disk)
		if r.etcd != nil {
			p := *r.etcd
			p.peers = slices.Clone(p.peers)
			q.etcd = &p
		}
		c.runs[i] = &q
	}
	c.lates = slices.Clone(w.lates)
	c.restores = make([]*restore, len(w.restores))
	for i, r := range w.restores {
		q := *r
		c.restores[i] = &q
	}
	c.operators = make([]*operator, len(w.operators))
	for i, op := range w.operators {
		q := *op
		q.pods, q.claims = slices.Clone(op.pods), slices.Clone(op.claims)
		q.clusterQueue, q.podQueue, q.claimQueue = slices.Clone(op.clusterQueue), slices.Clone(op.podQueue), slices.Clone(op.claimQueue)
		q.asked = slices.Clone(op.asked)
		if op.todo != nil {
			t := *op.todo
			q.todo = &t
		}
		if op.half != nil {
			h := *op.half
			h.Pods = slices.Clone(h.Pods)
			q.half = &h
		}
		c.operators[i] = &q
	}
	return &c
}

// longAgo is the age from which moments are no longer told apart.
const longAgo = 10 * time.Minute

var keySeed = maphash.MakeSeed()

// key is the same for two worlds that go on alike: the same up to names, serial
// numbers, and how long the history is. (How long it is matters to etcd's 90 percent
// rule for promotions alone; that is let go.)
func (w *world) key() uint64 {
	var b strings.Builder
	names := w.names()
	name := func(s string) int { return slices.Index(names, s) }
	ago := func(t time.Duration) time.Duration {
		if t == never {
			return never
		}
		return min(max(w.now-t, -longAgo), longAgo)
	}
	left := func(until int) int { return max(0, until-w.step) }
	put := func(args ...any) { fmt.Fprintln(&b, args...) }

	c := &w.cluster
	put(c.number, c.adopt, c.storage, c.retain, left(w.adoptAt))
	put(c.size, c.wanted, c.repository, c.template, c.restart, c.current, c.target, c.index, c.upgradeSize, ago(c.begun), ago(c.repaired), w.quota, c.paused, c.deleting, name(c.bootstrap.Member), c.clusterID != 0, w.main, len(w.births), w.budget, w.learners, w.majorityLost)
	for i := range w.births {
		put(w.births[i].minor, w.births[i].downgrade, w.births[i].oldIndex, w.births[i].authAt > 0)
	}
	put(c.survive, c.recover == c.clusterID, w.lost, w.grown)
	if r := c.recovery; r != nil {
		put(r.Phase, name(r.Survivor), name(r.Seed), r.ClusterID == c.clusterID, len(r.Survivors), len(r.Members))
	}
	put(c.fence.Mark, c.fence.By, c.fence.Lifted, c.fence.Seeded != "", c.fence.Adopted.Restore, len(w.lates))
	for _, r := range w.restores {
		put("x", r.stage, r.givesUp, left(r.until), name(r.seed), r.adopted, r.done)
	}
	put(w.lacking, w.secrets.wanted-w.secrets.leaf, bits.OnesCount64(w.secrets.trusted), ago(w.secrets.reissued), w.lackingCertificate, c.recordedTrust() == w.secrets.trust())
	for k := range w.until {
		if left(w.until[k]) > 0 {
			put(k, left(w.until[k]))
		}
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		put("n", left(n.off), left(n.silent), left(n.cut), n.gone, n.cordoned, ago(n.silentSince), ago(n.lostSince))
	}
	putPod := func(p *pod) {
		put("p", name(p.name), p.role, ago(p.created), ago(p.deleting), p.finished, p.node, p.unschedulable, p.trouble, p.ip, p.addressed, p.learners, p.version, p.repository, p.template, p.trust, p.from, p.ready, ago(p.readyAt), p.routed, w.now-p.roleAt < time.Second, ago(p.defragmented), p.defragmentDone, p.recovery != nil, p.survivorPermit, len(w.attic),
			min(p.restarts-p.provenRestarts, 6), p.exit, p.looping, ago(p.runningSince), p.provenImage == p.image())
		if p.permit != nil {
			put(p.permit.Attempt, p.permit.New, p.permit.CatchUp, len(p.permit.After))
			for _, m := range p.permit.Members {
				put(name(m))
			}
		}
	}
	for _, p := range w.pods {
		putPod(p)
	}
	for _, c := range w.claims {
		put("c", name(c.name), c.deleting, c.node, c.retired, c.disk.restored, c.disk.corrupt, c.owner, c.retained, c.version, c.requested, c.capacity, c.refused)
		w.putData(put, name, c.disk.data)
	}
	for _, r := range w.runs {
		put("r", name(r.name), w.pod(r.name) != nil && w.pod(r.name).uid == r.uid, r.node, r.state, ago(r.due), r.failures, r.address == never, ago(r.address), ago(r.stopAt), r.used, r.said.Reason, r.catchUp, r.version, r.repository, r.begun, r.exit, r.started, left(r.oomUntil), r.leaf, r.mounted, r.trusted)
		w.putData(put, name, r.disk.data)
		if r.etcd == nil {
			continue
		}
		put(r.etcd.leader, r.etcd.leading, r.etcd.serves, max(0, r.etcd.busyUntil-w.now))
		for _, p := range r.etcd.peers {
			put(p.id, len(r.disk.data.log)-p.match, p.active == never, min(ago(p.active), 2*healthInterval))
		}
	}
	for _, op := range w.operators {
		put("o", min(ago(op.since), 15*time.Second), left(op.deadUntil), left(op.stalledUntil), op.mishap, op.mishapIn, op.woken, max(0, op.wake-w.now), op.cluster.status == w.cluster.status, op.cluster == w.cluster, len(op.clusterQueue), len(op.podQueue), len(op.claimQueue))
		for i := range op.pods {
			if p := w.pod(op.pods[i].name); p == nil || *p != op.pods[i] {
				putPod(&op.pods[i])
			}
		}
		if op.todo != nil {
			put(describe(op.todo.decision), op.todo.next)
		}
	}
	// Ids of members follow from names and serials: the same in the same order.
	return maphash.String(keySeed, canonicalIDs(b.String()))
}

// names are all names in use, sorted: a name stands for its place among them.
func (w *world) names() []string {
	var all []string
	for _, p := range w.pods {
		all = append(all, p.name)
	}
	for _, c := range w.claims {
		all = append(all, c.name)
	}
	for _, r := range w.runs {
		all = append(all, r.name)
	}
	if w.main >= 0 {
		for _, m := range w.births[w.main].view {
			all = append(all, m.Name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

func (w *world) putData(put func(...any), name func(string) int, d *data) {
	if d == nil {
		return
	}
	truth := w.births[d.birth].committed
	common := commonPrefix(truth, d.log)
	put("d", d.birth, d.alarms, d.size, d.inUse, name(d.name), d.id, w.highestTerm()-d.term, len(truth)-common, len(truth)-d.committed, len(truth)-d.applied, d.told, d.stored, d.altered, len(d.snapView), len(d.baseView))
	for _, e := range d.log[common:] {
		put(e.kind, name(e.name))
	}
	for _, m := range d.view {
		put(name(m.Name), m.ID, m.Learner, m.Started)
	}
}

func (w *world) highestTerm() uint64 {
	var t uint64
	for _, r := range w.runs {
		if r.disk.data != nil {
			t = max(t, r.disk.data.term)
		}
	}
	return t
}

// canonicalIDs replaces each long number by the order in which it first occurs.
func canonicalIDs(s string) string {
	seen := map[string]int{}
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' })
	for i, word := range words {
		if len(word) >= 15 && strings.Trim(word, "0123456789") == "" {
			if _, ok := seen[word]; !ok {
				seen[word] = len(seen)
			}
			words[i] = fmt.Sprintf("#%d", seen[word])
		}
	}
	return strings.Join(words, " ")
}
