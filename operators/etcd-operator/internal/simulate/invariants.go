package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file checks the invariants of docs/design/invariants.md against the truth. What is
// checked of a Decision against the Observation that it was made on is in oracle.go.
//
// History stands for the thing itself: what a quorum has committed is never taken
// back, and so no acknowledged write is lost.
const history = "History"

// orphans stands for volumes that multiply.
const orphans = "Volumes"

// checkTruth is what must hold after every step and every API call.
func (w *world) checkTruth() {
	joiners := 0
	for _, p := range w.pods {
		switch {
		case p.role == facts.Voter:
			w.checkVoter(p)
		case p.role == facts.Joiner && p.deleting == never:
			joiners++
		}
	}
	// A cache that lags must not make an operator create Pods over and over.
	if most := 2 * v1beta2.MaxSize * len(w.operators); joiners > most {
		w.fail("S11", "%d Pods are there to join a cluster of %d", joiners, w.cluster.size)
	}
	w.checkBeside()
	w.checkGrowth()
	w.noteGrowth()
	if w.configured {
		w.diskLost() // of a voter that had lost it just before its promotion was committed
		w.checkLists()
		w.configured = false
	}
}

// checkOrphans: the volumes of Pods that the API server has refused do not multiply. There
// is one for the seed, and one for all that are to join.
func (w *world) checkOrphans(op *operator, name string) {
	op.orphans = slices.DeleteFunc(slices.Clone(op.orphans), func(old string) bool {
		c := w.claim(old)
		return old == name || c == nil || c.deleting
	})
	op.orphans = append(op.orphans, name)
	if len(op.orphans) > 2 {
		w.fail(orphans, "the volumes %v were made for Pods that were refused", op.orphans)
	}
}

// checkVoter: a Pod that clients are sent to is of the one cluster (S1).
func (w *world) checkVoter(p *pod) {
	if w.main < 0 {
		w.fail("S1", "Pod %s is marked voter, but no cluster id is latched", p.name)
		return
	}
	if r := w.runOf(p.uid); r != nil && r.etcd != nil && r.disk.data.birth != w.main && !w.isAccepted(p) {
		w.fail("S1", "Pod %s serves clients from another cluster than the one that was latched", p.name)
	}
}

// checkLists: members that have applied the same history have the same list (S3).
// They have not if their limits of learners differ.
func (w *world) checkLists() {
	for i, a := range w.runs {
		if a.disk.data == nil || a.disk.data.birth != w.main {
			continue
		}
		for _, b := range w.runs[i+1:] {
			d, e := a.disk.data, b.disk.data
			if e != nil && e.birth == d.birth && e.applied == d.applied && !slices.Equal(d.view, e.view) {
				w.fail("S3", "%s and %s have applied the same %d entries, and %s lists %s but %s lists %s", a.name, b.name, d.applied,
					a.name, describeMembers(d.view), b.name, describeMembers(e.view))
			}
		}
	}
}

// checkBirth: etcd starts with `new` only as the recorded seed, never where a
// cluster has been (S1, S2).
func (w *world) checkBirth(r *run, g *facts.StartPermit) {
	c := &w.cluster
	switch {
	case w.cfg.Existed != "" && c.fence.Adopted.Restore == "":
		w.fail("S1", "%s begins a cluster although one existed", r.name)
	case c.clusterID != 0 && w.canBegin(r) && (r.name == c.bootstrap.Member || !w.pod(r.name).again):
		w.fail("S1", "%s begins a second cluster: the id of the first is latched, and its start permit is open", r.name)
	case c.number > 0 && slices.ContainsFunc(w.claims, func(q *claim) bool { return q.name != r.name && (q.owner != c.number || q.disk.data != nil) }):
		w.fail("S1", "%s begins a cluster although volumes of an earlier one are there", r.name)
	case c.bootstrap.Member == "":
		w.fail("S1", "%s begins a cluster and no bootstrap is recorded", r.name)
	case !slices.Equal(g.Members, []string{r.name}):
		w.fail("S2", "%s begins a cluster of %v", r.name, g.Members)
	}
	// A seed that was given up may still begin where nobody can reach it, with a start permit
	// that was withdrawn meanwhile, or that a person gave it who created its Pod again. It does
	// no harm: its cluster id is never latched, and it is never marked voter.
}

// canBegin reports whether the start permit that a Pod has now lets it begin a cluster.
func (w *world) canBegin(r *run) bool {
	p := w.pod(r.name)
	return p != nil && p.uid == r.uid && p.permit != nil && p.permit.New
}

// canBeginUnheard reports whether a launcher's copy of the start permit lets it begin a cluster
// and the Pod's does not any more: its kubelet is cut off. If it lost the record of used
// start permits, too, nobody could keep it from beginning again (see the package comment).
func (w *world) canBeginUnheard(r *run) bool {
	return r.permit != nil && r.permit.New && !w.canBegin(r)
}

// checkWrite: only one cluster ever takes writes (S1).
func (w *world) checkWrite(b int) {
	if b != w.main {
		w.fail("S1", "a write was acknowledged by the cluster that %s began, which is not the one that was latched", w.births[b].member)
	}
}

func (w *world) checkLatch(id uint64) {
	if w.main < 0 || w.births[w.main].cluster != id {
		w.fail("S1", "cluster id %x is latched, and nobody has it", id)
	}
}

// checkCreate: before the seed's Pod exists its bootstrap is recorded (S1), nobody
// is created with the mark of a voter, and names of former members stay unused (S7).
func (w *world) checkCreate(p *action.NewPod) {
	if p.Role == facts.Voter {
		w.fail("S1", "Pod %s is created with the role of a voter", p.Name)
	}
	if p.StartPermit != nil {
		w.checkPermit(p.Name, p.StartPermit)
	}
	if c := w.claim(p.Name); c != nil && c.retired != "" {
		w.fail("S7", "Pod %s is made on a volume that a restore has retired", p.Name)
	}
	if c := w.claim(p.Name); p.Role == facts.Joiner && c != nil && c.disk.data != nil {
		w.fail("S2", "joiner %s is made on a volume with data: it would start without a permit", p.Name)
	}
	// One that returns to a volume may be a former member's while no quorum says who
	// the members are: etcd, if there is data, is told that it was removed.
	for _, b := range w.births {
		if p.Role != facts.Returning && slices.Contains(b.removed, p.Name) {
			w.fail("S7", "Pod %s gets the name of a member that was removed", p.Name)
		}
	}
}

// checkPermit: a permit to start with `new` is for the recorded seed alone, before the
// cluster id is latched (S1, S2).
func (w *world) checkPermit(name string, g *facts.StartPermit) {
	if !slices.Contains(w.hadPermits, name) {
		w.hadPermits = append(w.hadPermits, name)
	}
	if p := w.pod(name); p != nil && w.cluster.bootstrap.Member == name {
		if r := w.runOf(p.uid); r != nil && r.used >= g.Attempt {
			return // one that was under way for long, and was used: it lets nobody start
		}
	}
	if !g.New {
		return
	}
	if c := &w.cluster; c.clusterID != 0 || c.bootstrap.Member != name || c.bootstrap.Token != g.Token {
		w.fail("S2", "%s may begin a cluster with token %s; recorded is %q with token %q, cluster id %x", name, g.Token, c.bootstrap.Member, c.bootstrap.Token, c.clusterID)
	}
}

// checkRole: clients are sent to voters of the latched cluster only (S1). A Pod of a former
// EtcdCluster of the name served that one's, and is collected.
func (w *world) checkRole(p *pod, role facts.Role) {
	if role == facts.Voter && w.cluster.clusterID == 0 && p.owner == w.cluster.number {
		w.fail("S1", "Pod %s is marked voter before the cluster id is latched", p.name)
	}
}

// checkJoin: etcd starts without data only as a member that has never had any (S2).
// The list that counts is the committed one. The planner cannot know of a member
// that published itself between the Observation and the start permit; that does no harm
// while it has no vote, so the check is of voters that have started: who could have
// voted, or confirmed a write.
func (w *world) checkJoin(r *run, b int, self facts.Member) {
	m := findMember(w.births[b].view, self.ID)
	if m != nil && m.Started && !m.Learner {
		w.fail("S2", "%s starts without data, and its entry is of a voter that had some", r.name)
	}
}

// checkQuorumLost: what a person may take for a reason to give a cluster up is said
// only if it is so, give or take one membership change that nobody is left to tell
// of.
func (w *world) checkQuorumLost() {
	if w.main < 0 {
		w.fail("QuorumLost", "it is said before there is a cluster")
		return
	}
	view := w.births[w.main].view
	if n := w.intact(view); n >= quorum(countVoters(view)+1) {
		w.fail("QuorumLost", "it is said while %d of %d voters have data", n, countVoters(view))
	}
}

// diskLost is called whenever voters or their disks may have changed: once a majority of the
// voters has none, nothing can be promised of acknowledged writes.
func (w *world) diskLost() {
	if w.main < 0 || w.majorityLost {
		return
	}
	if view := w.births[w.main].view; w.intact(view) < quorum(countVoters(view)) {
		w.majorityLost = true
		w.say("a majority's disks are lost")
	}
}

// intact counts the voters whose data still exists where their Pod, or one made
// again, finds it.
func (w *world) intact(view []facts.Member) int {
	n := 0
	for _, m := range view {
		if !m.Learner && w.hasData(m.ID) {
			n++
		}
	}
	return n
}

// hasData reports whether a member of the cluster has its data.
func (w *world) hasData(id uint64) bool {
	is := func(d *disk) bool { return d.data != nil && !d.corrupt && d.data.birth == w.main && d.data.id == id }
	for _, c := range w.claims {
		if is(c.disk) {
			return true
		}
	}
	for _, r := range w.runs {
		if p := w.pod(r.name); is(r.disk) && !r.persisted && p != nil && p.uid == r.uid && !p.finished {
			return true
		}
	}
	return false
}

// checkLeader: a leader has all that was ever committed (raft's leader
// completeness). It has not if members lost their votes and their logs.
func (w *world) checkLeader(r *run) {
	d := r.disk.data
	truth := w.births[d.birth].committed
	if n := len(truth); n > 0 && (len(d.log) < n || d.log[n-1].serial != truth[n-1].serial) {
		w.historyBroken("%s is elected without %d committed entries", r.name, n-commonPrefix(d.log, truth))
	}
}

// checkRewrite: no member ever takes back what it had committed.
func (w *world) checkRewrite(r *run, common int) {
	w.historyBroken("%s takes back %d entries that it had committed", r.name, r.disk.data.committed-common)
}

// checkHistory is called when a leader has committed: the history only grows.
func (w *world) checkHistory(d *data) {
	b := &w.births[d.birth]
	n := min(len(b.committed), d.committed)
	if n > 0 && b.committed[n-1].serial != d.log[n-1].serial {
		lost := 0
		for _, e := range b.committed[commonPrefix(b.committed, d.log):] {
			if e.kind == write {
				lost++
			}
		}
		w.historyBroken("%s has committed another history: %d writes are lost, acknowledged ones up to entry %d", d.name, lost, b.acked)
		b.committed = d.log[:d.committed:d.committed]
	}
	if d.committed > len(b.committed) {
		for _, e := range d.log[len(b.committed):d.committed] {
			if e.kind == remove {
				b.removed, b.removedIDs = append(b.removed, e.name), append(b.removedIDs, e.id)
			}
		}
		b.committed = d.log[:d.committed:d.committed]
	}
}

func (w *world) historyBroken(format string, args ...any) {
	if !w.majorityLost {
		w.fail(history, format, args...)
	}
}

func commonPrefix(a, b []entry) int {
	n := min(len(a), len(b))
	for n > 0 && a[n-1].serial != b[n-1].serial {
		n--
	}
	return n
}

// checkImage: a member is restarted with another image only while all others live (S6)
// and another one leads (S8), and only with one that its cluster takes (S10). What does
// not run may get any that its cluster takes.
func (w *world) checkImage(t *todo, p *pod, a action.ChangeImage) {
	if w.main < 0 {
		return
	}
	b := &w.births[w.main]
	r := w.runOf(p.uid)
	if r == nil || r.disk.data == nil || r.disk.data.birth != w.main || w.memberNamed(p.name) == nil {
		return
	}
	if minor := minorOf(a.Version); minor < b.minor || minor > b.minor+1 {
		w.fail("S10", "%s gets etcd %s, and the cluster version is 3.%d", p.name, a.Version, b.minor)
	}
	w.checkLowered(t, r, a.Version)
	if r.etcd == nil || t.disturbed != w.disturbed || t.sent || w.startedSince(r, &t.seen) {
		return
	}
	for _, m := range b.view {
		q := w.member(w.main, m.ID)
		switch {
		case m.Name == p.name:
		case q == nil || !w.reaches(r, q):
			w.fail("S6", "%s is restarted while %s does not run", p.name, m.Name)
		case w.pod(m.Name) != nil && w.pod(m.Name).from != "":
			w.fail("S6", "%s is restarted while %s is", p.name, m.Name)
		}
	}
	// Of two operators one may move the lead meanwhile.
	if r.etcd.leading && len(b.view) > 1 && len(w.operators) == 1 {
		w.fail("S8", "%s is restarted, and it leads", p.name)
	}
}

// checkRecord: the version that is recorded as the one that runs is not beyond what
// members can go on with (S10).
func (w *world) checkRecord(a action.RecordVersion) {
	if w.main >= 0 && a.Target == "" && minorOf(a.Current) < w.births[w.main].minor {
		w.fail("S10", "%s is recorded, and the cluster version is 3.%d", a.Current, w.births[w.main].minor)
	}
}

// checkRefused: a member is not given an etcd that its cluster does not take (S10).
func (w *world) checkRefused(r *run, birth int) {
	if birth == w.main && w.memberNamed(r.name) != nil {
		w.fail("S10", "%s starts with etcd %s, and the cluster version is 3.%d", r.name, r.version, w.births[birth].minor)
	}
}

// checkPodDeletion: the Pod of a member is deleted only to be recreated on its
// claim (S7).
func (w *world) checkPodDeletion(t *todo, p *pod, leftover bool) {
	if w.main < 0 {
		return
	}
	m := w.memberNamed(p.name)
	if m == nil {
		return
	}
	// An addition may have been on its way when the members were asked.
	asked := w.askedBefore(t)
	added := asked != nil && !m.Started && !slices.ContainsFunc(asked.view, func(x facts.Member) bool { return x.Name == p.name })
	if leftover && !added {
		w.fail("S7", "Pod %s is deleted as nobody's, and it is a member's", p.name)
		return
	}
	if p.role == facts.Joiner && !m.Started {
		return // it has no data: no more is lost than a start
	}
	if r := w.runOf(p.uid); r == nil || r.disk.data == nil {
		return // nor has this one
	}
	if !p.persistent || w.claim(p.name) == nil {
		w.fail("S7", "the Pod of member %s is deleted, and its data with it", p.name)
	}
}

// checkClaimDeletion: a volume is deleted only after its member is out of the list
// (S7), and none while quorum is lost: as far as the members could tell that were asked right
// before.
func (w *world) checkClaimDeletion(c *claim, t *todo) {
	if w.main < 0 {
		w.fail("S7", "volume %s is deleted before there is a cluster", c.name)
		return
	}
	view := w.births[w.main].view
	if c.retired != "" {
		w.fail("S7", "volume %s is deleted, and a restore keeps it", c.name)
	}
	if w.memberNamed(c.name) != nil {
		w.fail("S7", "volume %s is deleted, and it is a member's", c.name)
	}
	if asked := w.askedBefore(t); w.intact(view) < quorum(countVoters(view)) && (asked == nil || !asked.intact) {
		w.fail("S7", "volume %s is deleted while quorum is lost", c.name)
	}
}

// checkDrain: a voter that the PodDisruptionBudget lets go does not cost the quorum
// (docs/design/architecture.md).
func (w *world) checkDrain(p *pod) {
	if !w.cfg.DisruptionBudget || w.main < 0 || p.role != facts.Voter || w.budget == 0 || len(w.operators) > 1 {
		return
	}
	b := &w.births[w.main]
	alive, is := 0, false
	for _, m := range b.view {
		q := w.member(w.main, m.ID)
		if m.Learner || q == nil || q.etcd.leader == 0 {
			continue
		}
		alive++
		is = is || m.Name == p.name
	}
	if n := quorum(countVoters(b.view)); is && alive >= n && alive-1 < n {
		w.fail("Budget", "the PodDisruptionBudget of %d lets %s go, and with it the quorum of %d", w.budget, p.name, countVoters(b.view))
	}
}

// memberNamed is the entry of the true member list with a name; nil if there is none.
func (w *world) memberNamed(name string) *facts.Member {
	view := w.births[w.main].view
	for i := range view {
		if view[i].Name == name {
			return &view[i]
		}
	}
	return nil
}
