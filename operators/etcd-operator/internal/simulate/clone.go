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
	c.hadPermits = slices.Clip(w.hadPermits)
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
			disks[d].prepared = d.prepared
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
		c.claims[i] = &claim{old.claimObject, copyDisk(old.disk), old.restore}
	}
	c.attic = make([]*claim, len(w.attic))
	for i, old := range w.attic {
		c.attic[i] = &claim{old.claimObject, copyDisk(old.disk), old.restore}
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
	c.restorers = nil // what they run cannot be copied
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
	t := &teller{w: w, names: w.names()}
	t.kubernetes()
	t.etcd()
	t.operators()
	// Ids of members follow from names and serials: the same in the same order.
	return maphash.String(keySeed, canonicalIDs(t.b.String()))
}

// teller writes down what a world is like.
type teller struct {
	w     *world
	names []string
	b     strings.Builder
}

func (t *teller) put(args ...any) { fmt.Fprintln(&t.b, args...) }

// name stands for a name by its place among all, or is the name itself.
func (t *teller) name(s string) any {
	if t.names == nil {
		return s
	}
	return slices.Index(t.names, s)
}

func (t *teller) ago(at time.Duration) time.Duration {
	if at == never {
		return never
	}
	return min(max(t.w.now-at, -longAgo), longAgo)
}

func (t *teller) left(until int) int { return max(0, until-t.w.step) }

// kubernetes is what the API server knows, and what will happen.
func (t *teller) kubernetes() {
	c := &t.w.cluster
	t.put(c.number, c.adopt, c.storage, c.retain, t.left(t.w.adoptAt))
	t.put(c.size, c.wanted, c.repository, c.template, c.restart, c.waitsForRound(), t.name(c.waitsForLeader()), c.current, c.target, c.index, c.upgradeSize, t.ago(c.begun), t.ago(c.repaired), t.w.quota, c.paused, c.deleting, t.name(c.bootstrap.Member), c.clusterID != 0, t.w.main, len(t.w.births), t.w.budget, t.w.learners, t.w.majorityLost)
	t.put(c.survive, c.recover == c.clusterID, t.w.lost, t.w.grown)
	if r := c.recovery; r != nil {
		t.put(r.Phase, t.name(r.Survivor), t.name(r.Seed), r.ClusterID == c.clusterID, len(r.Survivors), len(r.Members))
	}
	t.put(c.fence.Mark, c.fence.By, c.fence.Lifted, c.fence.Seeded != "", c.fence.Adopted.Restore, len(t.w.lates))
	for _, r := range t.w.restores {
		t.put("x", r.stage, r.givesUp, t.left(r.until), t.name(r.seed), r.adopted, r.done)
	}
	t.put(t.w.lacking, t.w.secrets.wanted-t.w.secrets.leaf, bits.OnesCount64(t.w.secrets.trusted), t.ago(t.w.secrets.reissued), t.w.lackingCertificate, c.recordedTrust() == t.w.secrets.trust())
	for k := range t.w.until {
		if t.left(t.w.until[k]) > 0 {
			t.put(k, t.left(t.w.until[k]))
		}
	}
	for i := range t.w.nodes {
		n := &t.w.nodes[i]
		t.put("n", t.left(n.off), t.left(n.silent), t.left(n.cut), n.gone, n.cordoned, t.ago(n.silentSince), t.ago(n.lostSince))
	}
	for _, p := range t.w.pods {
		t.pod(p)
	}
	for _, c := range t.w.claims {
		t.put("c", t.name(c.name), c.deleting, c.node, c.retired, c.disk.restored, c.disk.corrupt, c.owner, c.retained, c.version, c.requested, c.capacity, c.refused)
	}
}

// etcd is what members run, and what is on their disks.
func (t *teller) etcd() {
	for i := range t.w.births {
		t.put(t.w.births[i].minor, t.w.births[i].downgrade, t.w.births[i].oldIndex, t.w.births[i].authAt > 0)
	}
	for _, c := range t.w.claims {
		t.data(c.disk.data)
	}
	for _, r := range t.w.runs {
		t.put("r", t.name(r.name), t.w.pod(r.name) != nil && t.w.pod(r.name).uid == r.uid, r.node, r.state, t.ago(r.due), r.failures, r.address == never, t.ago(r.address), t.ago(r.stopAt), r.used, r.said.Reason, r.catchUp, r.version, r.repository, r.begun, r.exit, r.started, t.left(r.oomUntil), r.leaf, r.mounted, r.trusted)
		t.data(r.disk.data)
		if r.etcd == nil {
			continue
		}
		t.put(r.etcd.leader, r.etcd.leading, r.etcd.serves, max(0, r.etcd.busyUntil-t.w.now))
		for _, p := range r.etcd.peers {
			t.put(p.id, len(r.disk.data.log)-p.match, p.active == never, min(t.ago(p.active), 2*healthInterval))
		}
	}
}

// operators is what they know, and are about to do.
func (t *teller) operators() {
	for _, op := range t.w.operators {
		t.put("o", min(t.ago(op.since), 15*time.Second), t.left(op.deadUntil), t.left(op.stalledUntil), op.mishap, op.mishapIn, op.woken, max(0, op.wake-t.w.now), op.cluster.status == t.w.cluster.status, op.cluster == t.w.cluster, len(op.clusterQueue), len(op.podQueue), len(op.claimQueue))
		for i := range op.pods {
			if p := t.w.pod(op.pods[i].name); p == nil || *p != op.pods[i] {
				t.pod(&op.pods[i])
			}
		}
		if op.todo != nil {
			t.put(describe(op.todo.decision), op.todo.next)
		}
	}
}

func (t *teller) pod(p *pod) {
	t.put("p", t.name(p.name), p.role, t.ago(p.created), t.ago(p.deleting), p.finished, p.node, p.unschedulable, p.trouble, p.ip, p.addressed, p.learners, p.version, p.repository, p.template, p.trust, p.from, p.changedFrom(), p.ready, t.ago(p.readyAt), p.routed, t.w.now-p.roleAt < time.Second, t.ago(p.defragmented), p.defragmentDone, p.recovery != nil, p.survivorPermit, len(t.w.attic),
		min(p.restarts-p.provenRestarts, 6), p.exit, p.looping, t.ago(p.runningSince), p.provenImage == p.image())
	if p.permit != nil {
		t.put(p.permit.Attempt, p.permit.New, p.permit.CatchUp, len(p.permit.After))
		for _, m := range p.permit.Members {
			t.put(t.name(m))
		}
	}
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

func (t *teller) data(d *data) {
	if d == nil {
		return
	}
	truth := t.w.births[d.birth].committed
	common := commonPrefix(truth, d.log)
	t.put("d", d.birth, d.alarms, d.size, d.inUse, t.name(d.name), d.id, t.w.highestTerm()-d.term, len(truth)-common, len(truth)-d.committed, len(truth)-d.applied, d.told, d.stored, d.altered, len(d.snapView))
	for _, e := range d.log[common:] {
		t.put(e.kind, t.name(e.name))
	}
	for _, m := range d.view {
		t.put(t.name(m.Name), m.ID, m.Learner, m.Started)
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
