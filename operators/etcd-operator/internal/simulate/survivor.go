package simulate

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what the loss of a majority matters to: the faults that bring it about, the
// calls by which an operator begins a cluster anew with a survivor's data, and what is
// checked of that against the truth (S13).

// errOther says that what is to be changed is not what it was made for.
var errOther = errors.New("it is another one")

// loseMajority takes a majority of the voters away, with all that they have.
func (w *world) loseMajority(f Fault) bool {
	if w.cfg.Gentle {
		return true
	}
	unadopted := w.cluster.number > 0 && w.cluster.clusterID == 0 // without volumes it begins empty
	if w.main < 0 || w.majorityLost || unadopted {
		return false
	}
	view := w.births[w.main].view
	keep := (countVoters(view) - 1) / 2
	if f.B%4 == 0 {
		keep = 0
	}
	w.say("FAULT %s: %d of %s are left", f.Kind, keep, describeMembers(view))
	for i := range view {
		m := view[(f.A+i)%len(view)]
		if m.Learner {
			continue
		}
		if keep--; keep >= 0 {
			continue
		}
		if p := w.pod(m.Name); p != nil {
			w.loseRun(p)
		}
		if c := w.claim(m.Name); c != nil {
			w.attic = append(w.attic, c)
			w.dropClaim(c)
		}
	}
	return true
}

// bringBack makes a claim again on the volume that a lost one had.
func (w *world) bringBack(f Fault) bool {
	if len(w.attic) == 0 {
		return false
	}
	if len(w.restores) > 0 {
		return true // who brings old volumes back beside a restore has two clusters
	}
	i := f.A % len(w.attic)
	c := w.attic[i]
	if d := c.disk.data; d != nil && d.birth != w.main && d.birth != w.lost {
		return true // of a cluster in whose place a restore's has come
	}
	if o := c.disk.owner; o != nil && o.ClusterUID != clusterUID(w.cluster.number) {
		return true // of an earlier EtcdCluster: a PVC that does not say so starts no etcd on it
	}
	w.attic = slices.Delete(w.attic, i, i+1)
	if w.claim(c.name) != nil || w.pod(c.name) != nil || (c.node >= 0 && w.nodes[c.node].gone) {
		return true
	}
	w.say("FAULT %s: %s", f.Kind, c.name)
	w.createClaim(c.name)
	back := w.claim(c.name)
	back.disk, back.node = c.disk, c.node
	return true
}

// loseRun takes a Pod away with what runs for it, wherever that is.
func (w *world) loseRun(p *pod) {
	if r := w.runOf(p.uid); r != nil {
		w.dropRun(r)
	}
	w.dropPod(p)
}

// wantSurvivor lets the cluster begin anew, or no more.
func (w *world) wantSurvivor(f Fault) bool {
	if f.A%3 == 0 {
		w.say("the user sets quorumLoss Survivor: %t", f.B%3 > 0)
		w.edit(func(c *etcdCluster) { c.survive = f.B%3 > 0 })
		return true
	}
	if !w.majorityLost {
		return false
	}
	w.say("the user asks for a recovery in place of cluster %x", w.cluster.clusterID)
	w.cluster.recover = w.cluster.clusterID
	w.cluster.version++
	return true
}

// recordSurvivor is one write of the status, if live lists have the same Pods and volumes.
func (w *world) recordSurvivor(op *operator, t *todo, a action.RecordSurvivor) error {
	if !w.cfg.has(NoLiveHolders) {
		if !w.samePodUIDs(&t.seen) {
			return errConflict
		}
		n := 0
		for _, c := range w.claims {
			if c.retired != "" {
				continue
			}
			if n++; !slices.ContainsFunc(t.seen.Claims, func(s facts.Claim) bool { return s.Name == c.name && s.UID == c.uid }) {
				return errConflict
			}
		}
		if n != len(t.seen.Claims) {
			return errConflict
		}
	}
	r := a.Recovery
	return w.writeStatus(op, func(c *etcdCluster) {
		w.touch("a survivor is chosen")
		c.recovery = &r
	})
}

func (w *world) samePodUIDs(seen *facts.Observation) bool {
	return slices.EqualFunc(w.pods, seen.Pods, func(p *pod, s facts.Pod) bool {
		return p.name == s.Name && p.uid == s.UID && (p.deleting == never) == s.DeletingSince.IsZero()
	})
}

// adoptSurvivor is one write of the status, if the Pods are those that were observed, and
// no other one gets clients.
func (w *world) adoptSurvivor(op *operator, t *todo, a action.AdoptSurvivor) error {
	if !w.samePodUIDs(&t.seen) || slices.ContainsFunc(w.pods, func(p *pod) bool { return p.name != a.Name && p.role == facts.Voter }) {
		return errConflict
	}
	err := w.writeStatus(op, func(c *etcdCluster) {
		w.touch("a survivor's seed is adopted")
		r := *c.recovery
		r.Phase = "Growing"
		c.recovery = &r
		c.bootstrap, c.clusterID, c.status = facts.Bootstrap{Member: a.Name, Token: a.Token}, a.ClusterID, &t.decision.Status
		c.current, c.target, c.index, c.upgradeSize = r.Version, "", 0, 0
		c.repaired, c.compacted = never, 0
	})
	if err == nil {
		w.beginAnew(a)
	}
	return err
}

func (w *world) endRecovery(op *operator, a action.EndRecovery) error {
	return w.writeStatus(op, func(c *etcdCluster) {
		w.touch("a recovery is ended")
		if !a.Complete {
			c.recovery = nil
			return
		}
		r := *c.recovery
		r.Phase = "Complete"
		c.recovery = &r
	})
}

// dropSurvivorsSeed deletes a seed's Pod, or its volume if no Pod has its name.
func (w *world) dropSurvivorsSeed(a action.DropSeed) error {
	if w.cluster.bootstrap.Token == a.Token {
		return errOther
	}
	if p := w.pod(a.Name); p != nil {
		if p.uid != a.PodUID || p.recovery == nil || p.recovery.Token != a.Token {
			return errOther
		}
		w.touch("a seed is deleted")
		w.checkSeedDrop(p.name)
		w.deletePod(p)
		return nil
	}
	c := w.claim(a.Name)
	if c == nil || c.uid != a.ClaimUID || c.reseed != a.Token {
		return errOther
	}
	w.touch("a seed's volume is deleted")
	w.checkSeedDrop(c.name)
	w.deleteClaim(c)
	return nil
}

// takeSnapshot is the seed's init container: it makes a data dir from the survivor's
// snapshot, of a new cluster with one member, or says why it can't. The ids of that follow
// from its name and the token.
func (w *world) takeSnapshot(r *run, rec *facts.Recovery) string {
	var from *run
	for _, q := range w.runs {
		if q.etcd != nil && q.etcd.serves && q.disk.data.id == rec.MemberID && q.disk.data.cluster == rec.ClusterID && w.connected(r.node, q.node) {
			from = q
		}
	}
	if from == nil {
		return "the survivor does not answer"
	}
	d := from.disk.data
	if d.committed == 0 || d.log[d.committed-1].index < rec.Committed {
		return "the survivor knows of less than it did"
	}
	b := birth{
		member: r.name, uid: r.uid, token: rec.Token, cluster: hash(r.name, rec.Token, "cluster"), minor: minorOf(r.version),
		inherited: d.applied, reseeded: true,
	}
	w.births = append(w.births, b)
	id := hash(r.name, rec.Token)
	seed := &data{birth: len(w.births) - 1, cluster: b.cluster, id: id, name: r.name}
	seed.log = []entry{w.entry(entry{kind: addVoter, id: id, name: r.name, term: 1}, nil)}
	seed.term, seed.committed = 1, 1
	r.disk.data = seed
	w.say("%s is made from the snapshot of %s, with %d entries", r.name, from.name, b.inherited)
	w.checkHistory(seed)
	w.apply(r)
	return ""
}

// beginAnew makes the history that a survivor's seed goes on with the cluster's, and checks
// that nothing is lost with it that could be kept.
func (w *world) beginAnew(a action.AdoptSurvivor) {
	next := -1
	for i := range w.births {
		if b := &w.births[i]; b.reseeded && b.member == a.Name && b.token == a.Token && b.cluster == a.ClusterID {
			next = i // on an emptyDir it may have been made more than once
		}
	}
	if r := w.runOf(a.UID); r != nil && r.disk.data != nil && r.disk.data.cluster == a.ClusterID {
		next = r.disk.data.birth
	}
	if next < 0 {
		w.fail("S13", "cluster id %x is latched for seed %s, which has another", a.ClusterID, a.Name)
		return
	}
	old := &w.births[w.main]
	// A membership change in the last moment may be known to nobody who is left.
	if n, voters := w.intact(old.view), countVoters(old.view); n >= quorum(voters+1) {
		w.fail("S13", "a cluster begins anew while %d of %d voters have data", n, voters)
	}
	inherited := w.births[next].inherited
	for _, d := range w.disksThere() {
		if d.data != nil && d.data.birth == w.main && d.data.committed > inherited {
			w.fail("S13", "a cluster begins anew with %d entries, and %s has committed %d", inherited, d.data.name, d.data.committed)
		}
	}
	w.lost, w.grown = w.main, false
	w.main, w.majorityLost = next, false
	w.diskLost()
}

// disksThere are the disks that a Pod, or one recreated, finds.
func (w *world) disksThere() []*disk {
	var all []*disk
	for _, c := range w.claims {
		if c.retired == "" {
			all = append(all, c.disk)
		}
	}
	for _, r := range w.runs {
		if p := w.pod(r.name); !r.persisted && p != nil && p.uid == r.uid && !p.finished && p.deleting == never {
			all = append(all, r.disk)
		}
	}
	return all
}

// noteGrowth notes when a cluster that began anew has come to its size.
func (w *world) noteGrowth() {
	if w.lost < 0 || w.grown {
		return
	}
	view := w.births[w.main].view
	w.grown = countVoters(view) >= w.cluster.size && w.intact(view) == countVoters(view)
}

// checkOldData: what survivors hold is kept until the new cluster has come to its size
// (S13).
func (w *world) checkOldData(name string, d *disk) {
	if w.lost >= 0 && !w.grown && d.data != nil && d.data.birth == w.lost {
		w.fail("S13", "%s of the old cluster is deleted with its data, and the new one has %d voters of %d", name, countVoters(w.births[w.main].view), w.cluster.size)
	}
}

// checkMarks: while a volume has data from before the cluster began anew, another one is marked as made
// for that (S13).
func (w *world) checkMarks() {
	ours := slices.DeleteFunc(slices.Clone(w.claims), func(c *claim) bool { return !w.isMembers(c) })
	if slices.ContainsFunc(ours, func(c *claim) bool { return c.reseed != "" }) {
		return
	}
	for _, c := range ours {
		if d := c.disk.data; d != nil && d.birth != w.main {
			w.fail("S13", "no volume is marked as made for a recovery, and %s has data from before it", c.name)
		}
	}
}

// checkKept: checkOldData of a Pod whose data goes with it.
func (w *world) checkKept(p *pod) {
	if r := w.runOf(p.uid); r != nil && !p.persistent {
		w.checkOldData(p.name, r.disk)
	}
}

// checkSeedDrop: what is deleted as a seed belongs to no member, of the old cluster or the new
// (S7).
func (w *world) checkSeedDrop(name string) {
	if w.memberNamed(name) != nil {
		w.fail("S7", "%s is deleted as a seed that was not adopted, and is a member", name)
	}
}

// choosable reports whether, by the truth, nothing keeps the cluster from beginning anew:
// there is somebody left, and all that might hold data answers.
func (w *world) choosable() bool {
	c := &w.cluster
	if !c.survive && c.recover != c.clusterID || c.recovery != nil && c.recovery.Phase == "Growing" {
		return false
	}
	left := 0
	for _, p := range w.pods {
		r := w.runOf(p.uid)
		switch {
		case p.deleting != never || r == nil && p.role != facts.Joiner:
			return false
		case r == nil || r.state == waiting:
		case r.etcd == nil || !r.etcd.serves || r.disk.data.birth != w.main || !w.nodeReady(p.node):
			return false
		case slices.ContainsFunc(r.disk.data.alarms, func(a facts.Alarm) bool { return a.Kind == facts.Corrupt }):
			return false // nobody knows whose data is right
		case w.asksForLogin(r):
			return false // and nobody can log in without a quorum
		default:
			left++
		}
	}
	for _, cl := range w.claims {
		if w.pod(cl.name) == nil {
			return false
		}
	}
	return left > 0
}

// crowdedOut reports whether a survivor that can't give way, since its data would go with
// it, takes the place of one that is to join.
func (w *world) crowdedOut() bool {
	r := w.cluster.recovery
	return r != nil && r.Phase == "Growing" && !w.cfg.Persistent && w.cfg.AntiAffinity &&
		slices.ContainsFunc(w.pods, func(p *pod) bool { return p.unschedulable != "" && p.node < 0 })
}

// obeyRoom has the user delete the Pod and the volume that the planner names: neither holds
// data.
func (w *world) obeyRoom() {
	last := &w.operators[0].last
	c := meta.FindStatusCondition(last.Status.Conditions, v1beta2.ConditionDegraded)
	if last.DeleteEmpty == "" || !asks(c, "delete Pod "+last.DeleteEmpty) {
		return
	}
	p, cl := w.pod(last.DeleteEmpty), w.claim(last.DeleteEmpty)
	if p == nil || cl == nil || p.deleting != never || cl.deleting {
		return
	}
	if cl.disk.data != nil {
		w.fail("S7", "the user is told to delete the volume of %s, which holds data", p.name)
		return
	}
	w.say("the user deletes %s and its volume, as the planner says", p.name)
	w.deleteClaim(cl)
	w.deletePod(p)
}
