package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is the other side of a fence: a restore that asks for it, stops the old
// members, retires their volumes, makes a seed from a snapshot and hands it over, or
// gives up at any moment and gives all back. It reads live, makes one call at a time,
// and what it finds tells it how to go on: it may stand still, or be started again,
// between any two. In runs of the shipped code etcd-restore-operator does the same
// (shipped_restore.go): there a restore is what the truth of it is.

// restore is one EtcdRestore.
type restore struct {
	uid   string
	stage stage
	// givesUp is the stage from which on it gives up, if its seed is not adopted.
	givesUp stage
	// force takes away the Pods of old members that do not end: acceptRunningOldMembers.
	force bool
	// rename gives each seed another name than the last.
	rename bool
	// until is the step until which it stands still.
	until int

	seed, seedUID string
	seeds         int
	// gaveUp is for good.
	gaveUp, adopted, done bool

	etcdRestore
}

// stage is how far a restore has come.
type stage int

const (
	asking stage = iota
	stopping
	retiring
	seeding
	starting
	offering
	tooLate // no restore comes so far
)

// forceAfter is how long a restore waits for a Pod to end before it uses force.
const forceAfter = time.Minute

func (w *world) startRestore(f Fault) {
	r := &restore{uid: fmt.Sprintf("r%d", len(w.restores)), givesUp: tooLate, force: f.For > 30, rename: f.A%2 == 0}
	// What a majority loses with its Pods cannot be given back.
	if f.B%3 == 0 && (w.cfg.Persistent || !w.cfg.Gentle) {
		r.givesUp = stage(f.B / 3 % int(tooLate))
	}
	w.restores = append(w.restores, r)
	if r.givesUp != tooLate {
		r.deleteAt = w.step + 1 + f.B%60
	}
	if w.ships() {
		w.shipRestore(r)
	}
	w.say("restore %s begins, and gives up from stage %d of %d on", r.uid, r.givesUp, tooLate)
}

// tickRestores lets restores make some calls.
func (w *world) tickRestores() {
	if w.ships() {
		w.tickRestorers()
		return
	}
	for _, r := range w.restores {
		calls := 3
		if !w.calm {
			calls = w.random.between(0, 4)
		}
		for ; calls > 0 && !r.done && w.step >= r.until && w.broken == nil; calls-- {
			w.restoreCall(r)
			if !w.calm && !w.settling && w.random.chance(4) {
				r.until = w.step + w.random.below(25)
				w.say("restore %s stands still until step %d", r.uid, r.until)
			}
		}
	}
}

// restoreCall is the next call of a restore.
func (w *world) restoreCall(r *restore) {
	f := &w.cluster.fence
	switch {
	case w.cluster.deleting:
		r.done = true
	case r.adopted:
		w.completeRestore(r)
	case r.gaveUp || r.stage >= r.givesUp:
		r.gaveUp = true
		w.abortRestore(r)
	case r.stage == asking && f.By == r.uid:
		r.stage = stopping
	case r.stage == asking:
		if f.By == "" && f.Asked() == "" {
			w.say("restore %s asks for a fence", r.uid)
			w.mark(func(f *facts.Fence) { f.Mark = r.uid })
		}
	case r.stage == stopping:
		w.stopOldPods(r)
	case r.stage == retiring:
		i := slices.IndexFunc(w.claims, func(c *claim) bool { return c.retired == "" && c.name != r.seed })
		if i < 0 {
			r.stage = seeding
			return
		}
		w.claims[i].retired = r.uid
	case r.stage == seeding:
		w.makeSeed(r)
	case w.seedLost(r):
		w.dropSeed(r)
	case r.stage == starting:
		if s := w.runOf(r.seedUID); s != nil && w.readable(s) {
			r.stage = offering
		}
	case f.Seeded != r.offer():
		w.say("restore %s hands seed %s over", r.uid, r.seed)
		w.mark(func(f *facts.Fence) {
			f.Seeded = r.offer()
			if f.Mark == r.uid {
				f.Mark = ""
			}
		})
	}
}

func (r *restore) offer() string { return r.uid + "/" + r.seed + "/" + r.seedUID }

// mark changes annotations of the EtcdCluster.
func (w *world) mark(change func(*facts.Fence)) {
	change(&w.cluster.fence)
	w.cluster.version++
}

// stopOldPods deletes the next Pod that is not the seed's, and waits until all are gone.
func (w *world) stopOldPods(r *restore) {
	for _, p := range w.pods {
		switch {
		case p.uid == r.seedUID:
		case p.deleting == never:
			w.deletePod(p)
			return
		case r.force && w.now-p.deleting > forceAfter:
			w.dropPod(p)
			return
		default:
			return // it ends
		}
	}
	r.stage = retiring
}

// makeSeed makes the seed's volume and Pod, if no other Pod has come meanwhile.
func (w *world) makeSeed(r *restore) {
	if len(w.pods) > 0 {
		r.stage = stopping
		return
	}
	if r.seed == "" {
		r.seed = fmt.Sprintf("%s-%s", clusterName, r.uid)
		if r.rename {
			r.seed = fmt.Sprintf("%s-%d", r.seed, r.seeds)
		}
		r.seeds++
		return
	}
	if w.cfg.Persistent && w.claim(r.seed) == nil {
		w.createClaim(r.seed)
		return
	}
	if w.cfg.TLS && w.cluster.recordedTrust() == "" {
		return // the Secrets may not be there
	}
	p := &pod{template: w.seedTemplate(), trust: w.cluster.recordedTrust(), name: r.seed, role: facts.Seed, persistent: w.cfg.Persistent, version: w.seedVersion(), repository: goodRepository, learners: w.cfg.Learners, snapshot: r.uid}
	w.createPod(p)
	r.seedUID, r.stage = p.uid, starting
	w.say("restore %s makes seed %s (%s)", r.uid, p.name, p.uid)
}

// seedVersion is the version that is recorded for the cluster, if it runs.
func (w *world) seedVersion() string {
	if v := w.cluster.current; runnable(v) && v != "" {
		return v
	}
	return w.cfg.Version
}

// seedLost reports whether the seed will not serve: its Pod has ended or finds no
// place, or its data is gone.
func (w *world) seedLost(r *restore) bool {
	p := w.pod(r.seed)
	if p == nil || p.uid != r.seedUID || p.deleting != never || p.finished {
		return true
	}
	if p.node < 0 {
		return p.unschedulable != "" && w.now-p.created >= w.cfg.MemberTimeout
	}
	s := w.runOf(p.uid)
	return s != nil && s.disk.restored && s.disk.data == nil
}

// dropSeed takes an offer back, and only then the seed that was offered. If that has
// gone by itself nobody can adopt it.
func (w *world) dropSeed(r *restore) {
	p := w.pod(r.seed)
	if w.cluster.fence.Seeded == r.offer() && (p != nil || r.gaveUp) {
		w.mark(func(f *facts.Fence) { f.Seeded = "" })
		return
	}
	if p != nil {
		w.deletePod(p)
		return
	}
	if c := w.claim(r.seed); c != nil {
		w.dropClaim(c)
		return
	}
	r.seed, r.seedUID, r.stage = "", "", seeding
}

// abortRestore gives all back, and then lifts the fence.
func (w *world) abortRestore(r *restore) {
	if r.seed != "" {
		w.dropSeed(r)
		return
	}
	for _, c := range w.claims {
		if c.retired == r.uid {
			c.retired = ""
			return
		}
	}
	switch f := &w.cluster.fence; {
	case f.By != r.uid:
		// It was never acknowledged, or has been lifted.
		if f.Mark == r.uid {
			w.mark(func(f *facts.Fence) { f.Mark = "" })
		}
		r.done = true
	case f.Lifted != r.uid:
		w.say("restore %s lifts its fence", r.uid)
		w.mark(func(f *facts.Fence) {
			f.Lifted = r.uid
			if f.Mark == r.uid {
				f.Mark = ""
			}
		})
	}
}

// completeRestore deletes the volumes of the old members once the cluster has grown, or
// another restore has taken it further.
func (w *world) completeRestore(r *restore) {
	if w.cluster.fence.Adopted.Restore == r.uid && countVoters(w.births[w.main].view) != w.cluster.size {
		return
	}
	for _, c := range w.claims {
		if c.retired == r.uid {
			w.deleteClaim(c)
			return
		}
	}
	r.done = true
}

// restoreData is the seed's init container: it makes a data dir from the snapshot, of a
// new cluster with one member. It finds what it has made, and then does nothing.
func (w *world) restoreData(r *run) {
	r.disk.restored = true
	w.serial++
	b := birth{member: r.name, uid: r.uid, token: r.snapshot, cluster: hash(r.name, r.snapshot, fmt.Sprint(w.serial), "cluster"), restored: true, minor: minorOf(r.version)}
	if s := w.cluster.status; s != nil {
		b.revision = s.HighestRevision
	}
	b.revision += revisionBump
	if w.main >= 0 && w.births[w.main].authAt > 0 {
		b.authAt = 1 // the snapshot has it
	}
	w.births = append(w.births, b)
	id := hash(r.name, r.snapshot, fmt.Sprint(w.serial))
	d := &data{birth: len(w.births) - 1, cluster: b.cluster, id: id, name: r.name}
	d.log = []entry{w.entry(entry{kind: addVoter, id: id, name: r.name, term: 1}, nil)}
	d.term, d.committed, d.told, d.stored = 1, 1, b.minor, b.minor
	r.disk.data = d
	w.checkHistory(d)
	w.apply(r)
}

// revisionBump is by how much a restore goes beyond the highest revision of the EtcdCluster.
const revisionBump = 1_000_000_000

// refusal is for how long some seeds refuse writes: a person mends them meanwhile.
const refusal = 5 * time.Minute

// write is what becomes of the write that is tried at the seed that is handed over. Here it
// is told of every seed, so that what adopts the wrong one is not kept from it by chance.
func (w *world) write(r *run, read bool) facts.Write {
	switch {
	case !read || !w.births[r.disk.data.birth].restored:
		return facts.Write{}
	case w.refusesWrites(r):
		return facts.Write{Refused: errNoSpace.Error()}
	}
	return facts.Write{Acknowledged: true}
}

// refusesWrites reports whether a seed has no room for writes yet.
func (w *world) refusesWrites(r *run) bool {
	p := w.pod(r.name)
	return p != nil && p.uid == r.uid && hash(r.uid, "no room")%3 == 0 && w.now-p.created < refusal
}

// adopt makes the history that a restore's seed goes on with the cluster's.
func (w *world) adopt(a action.AdoptSeed) {
	w.checkAdoption(a)
	for i := range w.births {
		if !w.isOfSeed(w.births[i], a) {
			continue // a seed may have prepared its data more than once
		}
		w.checkForward(a.Restore, &w.births[i])
		w.main, w.majorityLost = i, false
		if b := &w.births[i]; b.revision <= w.begunAt {
			w.fail("S12", "restore %s begins at revision %d, and one before it at %d", a.Restore, b.revision, w.begunAt)
		}
		w.begunAt = w.births[i].revision
	}
	for _, r := range w.restores {
		r.adopted = r.adopted || r.uid == a.Restore
	}
	w.diskLost()
}

// touch is called before every effect of an operator on the cluster: none comes about
// between the acknowledgement of a fence and its end (S12).
func (w *world) touch(what string) {
	if by := w.cluster.fence.By; by != "" && !w.lookedBefore() {
		w.fail("S12", "%s, and the cluster is left to restore %s", what, by)
	}
}

// isOfSeed reports whether a cluster is that of the seed which is adopted: it was prepared in its Pod, or
// on its volume in an earlier Pod of the name.
func (w *world) isOfSeed(b birth, a action.AdoptSeed) bool {
	return b.cluster == a.ClusterID && (b.uid == a.UID || w.cfg.Persistent && b.restored && b.member == a.Name)
}

// checkAdoption: the seed is the Pod that was handed over, by uid, once, and its own
// cluster id is latched (S1, S12).
func (w *world) checkAdoption(a action.AdoptSeed) {
	i := slices.IndexFunc(w.restores, func(r *restore) bool { return r.uid == a.Restore })
	if i < 0 || w.restores[i].seedUID != a.UID || w.restores[i].stage != offering {
		w.fail("S12", "Pod %s (%s) is adopted, and restore %s has not handed it over", a.Name, a.UID, a.Restore)
		return
	}
	if r := w.runOf(a.UID); r != nil && w.refusesWrites(r) {
		w.fail("S12", "the seed of restore %s is adopted, and refuses writes", a.Restore)
	}
	if p := w.pod(a.Name); p != nil && p.uid == a.UID && p.deleting == never && w.restores[i].isGivenUp(a.Name) {
		w.fail("S12", "seed %s of restore %s is adopted, which has recorded another seed", a.Name, a.Restore)
	}
	if w.restores[i].adopted {
		w.fail("S12", "the seed of restore %s is adopted twice", a.Restore)
	}
	if !slices.ContainsFunc(w.births, func(b birth) bool { return w.isOfSeed(b, a) }) {
		w.fail("S1", "cluster id %x is latched for seed %s, which has another", a.ClusterID, a.Name)
	}
}

// checkBeside: no old cluster is led on while the one that a restore made is adopted,
// but by what nobody reaches (S1).
func (w *world) checkBeside() {
	if w.main < 0 || !w.births[w.main].restored {
		return
	}
	for _, r := range w.runs {
		p := w.pod(r.name)
		if r.etcd != nil && r.etcd.leading && r.disk.data.birth < w.main && p != nil && p.uid == r.uid && w.kubeletTalks(r.node) && !w.isAccepted(p) {
			w.fail("S1", "%s leads the old cluster on beside the one that was restored", r.name)
		}
	}
}
