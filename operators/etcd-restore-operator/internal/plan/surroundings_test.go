package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// kubernetes lets Pods and Jobs go on, and takes away what is deleted.
func (w *world) kubernetes() {
	before := w.version
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		c := w.clusters[name]
		if c.DeletionTimestamp != nil && w.now.After(c.DeletionTimestamp.Time) {
			w.say("EtcdCluster %s is gone", name)
			delete(w.clusters, name)
			w.pods = slices.DeleteFunc(w.pods, func(p *simPod) bool { return p.owner == string(c.UID) })
			w.claims = slices.DeleteFunc(w.claims, func(cl *simClaim) bool { return cl.owner == string(c.UID) })
			w.version++
		}
	}
	for _, p := range w.pods {
		if !p.Deleting.IsZero() && !p.Stopped && !p.stuck && !w.now.Before(p.stopsAt) {
			p.Stopped, p.Finished = true, true
			w.version++
		}
	}
	w.pods = slices.DeleteFunc(w.pods, func(p *simPod) bool {
		gone := !p.Deleting.IsZero() && !p.stuck && !w.now.Before(p.goneAt)
		if gone {
			w.version++
		}
		return gone
	})
	w.claims = slices.DeleteFunc(w.claims, func(c *simClaim) bool {
		gone := c.Deleting && !slices.ContainsFunc(w.pods, func(p *simPod) bool { return p.Name == c.Name })
		if gone {
			w.version++
		}
		return gone
	})
	for _, p := range w.pods {
		if p.Deleting.IsZero() && !p.Finished && !w.now.Before(p.runAt) {
			w.runPod(p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[name]; !j.Done && !w.now.Before(j.endsAt) {
			w.runJob(j)
		}
	}
	if w.version != before {
		w.changed()
	}
}

func (w *world) runJob(j *simJob) {
	w.version++
	if w.chance(8) {
		j.Done = true // and its Pod is gone before anybody has read its report
		return
	}
	j.Result = w.result()
	if f := j.Result.Failure; f != nil && !f.Permanent {
		j.endsAt = w.in(1, 5)
		return
	}
	j.Done, j.Failed = true, j.Result.Failure != nil
}

// runPod is the next step of a Pod: of a seed first its init containers, then etcd.
func (w *world) runPod(p *simPod) {
	d := w.diskOf(p)
	switch {
	case w.noCerts && w.hasTLS(p.owner):
		p.Waiting = `secret "c-peer-tls" not found`
	case p.restore != "" && w.crowded && w.beside(p) >= 3:
		if p.Waiting == "" {
			w.version++
		}
		p.Node, p.Waiting = "", "0/3 nodes are available: 3 Insufficient memory"
	case p.restore != "" && !p.Prepared:
		w.version++
		w.prepareData(p, d)
	case p.restore != "" && p.Outdated && p.Permit == PermitToPrepare:
		// Its init container waits for the start permit.
	case p.restore != "" && !p.Launched:
		p.Launched, p.runAt = true, w.in(1, 2)
		w.version++
	case p.restore != "" && d.by != p.restore:
		w.publish(p, d)
	case !p.Ready && (d.old || d.by != "" || p.restore == ""):
		p.Ready = true
		w.version++
	}
}

// beside is how many other Pods of its cluster take room of nodes that there are.
func (w *world) beside(p *simPod) int {
	n := 0
	for _, other := range w.pods {
		lost := other.stuck && !other.Deleting.IsZero()
		if other.owner == p.owner && other.Name != p.Name && !lost {
			n++
		}
	}
	return n
}

// prepareData is the seed's init container restore.
func (w *world) prepareData(p *simPod, d *disk) {
	p.runAt, p.Node, p.Waiting = w.in(1, 4), "node", ""
	passing := func() {
		p.Tries++
		p.Waiting, p.Result = "CrashLoopBackOff: back-off 10s", &task.Result{Failure: &agent.Failure{Reason: agent.ReasonStalled, Message: stalled}}
	}
	switch {
	case (d.by == p.restore && d.member == p.Name) || p.Permit == PermitNone:
		p.Prepared, p.Result = true, &task.Result{Already: true}
	case w.badJob:
		p.Result = &task.Result{Failure: &agent.Failure{Reason: task.ReasonCorruptSnapshot, Message: corruptSnapshot, Permanent: true}}
	case w.badSeed:
		p.Result = &task.Result{Failure: &agent.Failure{Reason: task.ReasonChanged, Message: changedSnapshot, Permanent: true}}
	case w.evicting && w.r.Intn(3) > 0:
		w.evict(p)
	case w.chance(4):
		passing()
	default:
		if w.adoptions[p.restore] > 0 {
			w.fail("seed %s is restored again after its adoption", p.Name)
		}
		*d = disk{prepared: p.restore, member: p.Name, revision: p.revision}
		p.Prepared, p.Result = true, &task.Result{Snapshot: w.stored(), Cut: w.cut(w.byTime && p.finds), Revision: p.revision}
		w.publish(p, d) // if it has its start permit already
	}
}

// publish is the seed's launcher, and the end of its init container: without the start permit
// both leave what is prepared as it is.
func (w *world) publish(p *simPod, d *disk) {
	if p.Permit != PermitToStart || d.prepared != p.restore {
		return
	}
	for _, r := range w.restores {
		if string(r.UID) == p.restore && !w.alone(r, p.Name) {
			w.fail("seed %s starts, and old members may run", p.Name)
		}
	}
	d.by, p.runAt = p.restore, w.in(1, 2)
	w.version++
}

// etcdOperator is the other side of the contract: one step for one cluster.
func (w *world) etcdOperator(c *v1beta2.EtcdCluster) {
	if c.DeletionTimestamp != nil || c.Spec.Paused {
		return
	}
	st, note := &c.Status, c.Annotations
	adopted := ""
	if st.AdoptedSeed != nil {
		adopted = st.AdoptedSeed.Restore
	}
	done := func() {
		w.bump(&c.ObjectMeta)
		w.changed()
	}
	mark, lifted := note[v1beta2.AnnotationFence], note[v1beta2.AnnotationFenceLifted]
	if w.keepCertificates(c) {
		done()
		return
	}
	switch {
	case st.FencedBy != "" && st.FencedBy == lifted:
		w.say("etcd-operator: the fence of %s is lifted", lifted)
		st.FencedBy = ""
		done()
	case st.FencedBy != "":
		if w.adopt(c) {
			done()
		}
	case mark != "" && mark != lifted && mark != adopted:
		if w.chance(3) {
			return // something that it has begun may still take effect
		}
		w.say("etcd-operator: %s is left to %s", c.Name, mark)
		st.FencedBy = mark
		w.latch(c)
		if st.CurrentVersion == "" {
			st.TargetVersion = "3.6.16"
		}
		done()
	default:
		latched := w.latch(c)
		switch {
		case w.heal(c):
			done()
		case latched:
			done()
			w.latches++
		}
	}
}

// setVersions sets the version of clusters that have yet to begin, as etcd-operator tells it.
func (w *world) setVersions(version string) {
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		if st := &w.clusters[name].Status; st.CurrentVersion == "" && st.TargetVersion != "" && st.TargetVersion != version {
			w.say("the user sets version %s of %s", version, name)
			st.TargetVersion = version
			w.version++
		}
	}
}

// adopt takes the seed that is handed over for the cluster.
func (w *world) adopt(c *v1beta2.EtcdCluster) bool {
	by, uid := c.Status.FencedBy, string(c.UID)
	parts := strings.Split(c.Annotations[v1beta2.AnnotationSeeded], "/")
	if len(parts) != 3 || parts[0] != by {
		return false
	}
	p := w.pod(parts[2])
	if w.noCerts && w.hasTLS(uid) {
		return false // it can't ask the seed
	}
	if p == nil || p.Name != parts[1] || !p.Ready || !p.Deleting.IsZero() || p.Finished || p.owner != uid {
		return false
	}
	if d := w.diskOf(p); p.Permit != PermitNone || d.by != by || d.revision <= w.highest[uid] {
		w.fail("seed %s is adopted: permit %d, restored by %s at %d, and clients have seen %d", p.Name, p.Permit, d.by, d.revision, w.highest[uid])
	}
	w.say("etcd-operator: seed %s of %s is adopted", p.Name, by)
	w.adoptions[by]++
	if w.adoptions[by] > 1 {
		w.fail("a seed of %s is adopted twice", by)
	}
	w.highest[uid] = w.diskOf(p).revision + 1000
	w.members[uid] = []string{p.Name}
	c.Status.FencedBy = ""
	c.Status.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: by, Pod: p.Name, PodUID: p.UID}
	c.Status.CurrentVersion = "3.6.16"
	if !w.noLatch {
		c.Status.HighestRevision = v1beta2.LatchRevision(c.Status.HighestRevision, w.diskOf(p).revision)
	}
	c.Status.Members.Ready = []string{p.Name}
	return true
}

// latch notes how far clients have come, as each status of etcd-operator does once it knows
// the members; true if that is new.
func (w *world) latch(c *v1beta2.EtcdCluster) bool {
	last := c.Status.HighestRevision
	if c.Status.CurrentVersion == "" || w.noLatch {
		return false
	}
	c.Status.HighestRevision = v1beta2.LatchRevision(last, w.highest[string(c.UID)])
	return c.Status.HighestRevision != last
}

// heal brings the members to their number, and the status to what is so.
func (w *world) heal(c *v1beta2.EtcdCluster) bool {
	uid := string(c.UID)
	var lost []string
	for _, m := range w.members[uid] {
		hasPod := slices.ContainsFunc(w.pods, func(p *simPod) bool { return p.owner == uid && p.Name == m })
		hasClaim := slices.ContainsFunc(w.claims, func(cl *simClaim) bool { return cl.owner == uid && cl.Name == m && cl.by == "" && !cl.Deleting })
		switch {
		case hasPod:
		case hasClaim:
			w.addPod(c, m)
			return true
		default:
			lost = append(lost, m)
		}
	}
	w.members[uid] = slices.DeleteFunc(w.members[uid], func(m string) bool { return slices.Contains(lost, m) })
	for _, cl := range w.claims {
		if cl.owner == uid && cl.by == "" && !cl.Deleting && !slices.Contains(w.members[uid], cl.Name) {
			w.say("etcd-operator: the left over claim %s is deleted", cl.Name)
			cl.Deleting = true
			return true
		}
	}
	for _, p := range w.pods {
		if p.owner == uid && (p.Finished || !slices.Contains(w.members[uid], p.Name)) && p.Deleting.IsZero() {
			w.deletePod(p.UID)
			return true
		}
	}
	if len(w.members[uid]) < c.Spec.Size {
		w.addMember(c)
		return true
	}
	var ready []string
	for _, p := range w.pods {
		if p.owner == uid && p.Ready && slices.Contains(w.members[uid], p.Name) {
			ready = append(ready, p.Name)
		}
	}
	version := c.Status.CurrentVersion
	if version == "" {
		version = "3.6.16"
	}
	if slices.Equal(ready, c.Status.Members.Ready) && version == c.Status.CurrentVersion {
		return false
	}
	c.Status.Members.Ready, c.Status.CurrentVersion = ready, version
	return true
}

// fault is something that goes wrong, or that somebody does.
func (w *world) fault() {
	if w.dead && w.r.Intn(8) == 0 {
		w.die()
	}
	switch w.r.Intn(16) {
	case 10:
		w.update()
	case 8:
		w.loseCertificates()
	case 9:
		w.noCerts = false
	case 0, 1:
		w.vanish()
	case 2:
		w.wipe()
	case 3:
		w.pause()
	case 4:
		w.stick()
	case 5:
		w.evictSeeds()
	case 6:
		for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
			if w.r.Intn(2) == 0 {
				w.say("the Job %s vanishes", name)
				delete(w.jobs, name)
				w.version++
			}
		}
	case 7:
		for _, p := range w.pods {
			if w.r.Intn(4) == 0 {
				w.say("somebody deletes the Pod %s", p.Name)
				w.deletePod(p.UID)
				w.version++
			}
		}
	}
	if !w.user {
		return
	}
	switch w.r.Intn(26) {
	case 24:
		w.stopFirst()
	case 25:
		w.consent()
	case 0:
		w.deleteRestore()
	case 1:
		if w.r.Intn(3) == 0 {
			w.dropCluster()
		}
	case 2:
		w.accept()
	case 3:
		w.second()
	case 4:
		w.anew()
	case 5:
		if w.clusters["c"] == nil {
			w.say("somebody creates an EtcdCluster c")
			w.addCluster("c", nil)
		}
	case 6:
		w.setVersions([]string{"3.3.1", "3.6.16"}[w.r.Intn(2)])
	}
}

func (w *world) evictSeeds() {
	for _, p := range w.pods {
		if p.restore != "" && !p.Finished && p.Deleting.IsZero() && (w.evictAt > 0 || w.r.Intn(2) == 0) {
			w.evict(p)
		}
	}
}

// evict is what the kubelet does to a seed when its node runs short of a resource, or when
// it takes more than it may; a node may also refuse it, or another Pod preempt it.
func (w *world) evict(p *simPod) {
	switch n := w.r.Intn(10); {
	case n == 0:
		p.Ended = &agent.Failure{Reason: agent.ReasonScratchSpaceExceeded, Message: fmt.Sprintf("the Pod %s was evicted, since it needs more disk space than it may use", p.Name), Permanent: true}
	case n < 4:
		ended(&p.Pod)
	case n < 6:
		p.Ended = &agent.Failure{Reason: v1beta2.RestoreReasonSeedStopped, Message: fmt.Sprintf("the Pod %s was preempted", p.Name)}
		w.deletePod(p.UID)
	default:
		p.Ended = &agent.Failure{Reason: v1beta2.ReasonNodeOutOfDisk, Message: fmt.Sprintf("the Pod %s was evicted, since its node node ran short of disk space", p.Name)}
	}
	p.Finished, p.Ready = p.Deleting.IsZero(), false
	w.say("the seed ends: %s", p.Ended.Message)
	w.version++
}

func isEviction(reason string) bool {
	return reason == v1beta2.ReasonNodeOutOfDisk || reason == agent.ReasonScratchSpaceExceeded || reason == v1beta2.RestoreReasonSeedStopped
}

// update is another release of the operator: the seeds of the one before are of another shape.
func (w *world) update() {
	for _, p := range w.pods {
		if p.restore != "" && p.Permit == PermitToPrepare {
			w.say("the seed %s is of an earlier release", p.Name)
			p.Outdated, p.Launched = true, false
			w.version++
		}
	}
}

// vanish takes a Pod away at once: its node is gone.
func (w *world) vanish() {
	if len(w.pods) == 0 {
		return
	}
	i := w.r.Intn(len(w.pods))
	for j, p := range w.pods {
		if p.restore != "" {
			i = j
		}
	}
	w.say("the Pod %s vanishes", w.pods[i].Name)
	w.pods = slices.Delete(w.pods, i, i+1)
	w.version++
}

// wipe sets a seed's Pod up anew, on an empty disk or on its old one.
func (w *world) wipe() {
	for _, p := range w.pods {
		if p.restore == "" {
			continue
		}
		if w.wipeAt > 0 || w.r.Intn(2) == 0 {
			*w.diskOf(p) = disk{}
			w.ruined = w.ruined || w.adoptions[p.restore] > 0
		}
		w.say("the seed %s is set up anew: %+v", p.Name, *w.diskOf(p))
		p.Prepared, p.Launched, p.Ready, p.runAt = false, false, false, w.now
		w.version++
	}
}

func (w *world) pause() {
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		c := w.clusters[name]
		c.Spec.Paused = !c.Spec.Paused
		w.say("spec.paused of %s is %t", c.Name, c.Spec.Paused)
		w.bump(&c.ObjectMeta)
	}
}

// stick lets the Pods of a node that does not answer not end.
func (w *world) stick() {
	for _, p := range w.pods {
		if w.stickAt > 0 || w.r.Intn(3) == 0 {
			w.say("the node of %s does not answer", p.Name)
			p.stuck = true
		}
	}
}

// die is the end of a seed's node: its Pod is deleted by the control plane, and nobody reports
// that it has stopped.
func (w *world) die() {
	for _, p := range w.pods {
		if p.restore != "" && w.adoptions[p.restore] == 0 {
			w.say("the node of the seed %s is lost", p.Name)
			p.stuck = true
			w.deletePod(p.UID)
			w.version++
		}
	}
}

// heed is a user who does what a restore asks for, whose nodes never come back.
func (w *world) heed() {
	for _, name := range slices.Sorted(maps.Keys(w.restores)) {
		r := w.restores[name]
		c := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionComplete)
		if w.dead && c != nil && (c.Reason == v1beta2.RestoreReasonSeedNotStopping || c.Reason == v1beta2.RestoreReasonOldMembersRunning) {
			w.acceptBy(r)
		}
	}
}

func (w *world) deleteRestore() {
	for _, name := range []string{"second", "c", "n"} {
		r := w.restores[name]
		if r == nil || r.DeletionTimestamp != nil || (w.deleteAt == 0 && w.r.Intn(2) == 0) {
			continue
		}
		w.say("somebody deletes EtcdRestore %s", name)
		r.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.bump(&r.ObjectMeta)
		w.collect(r)
		return
	}
}

func (w *world) dropCluster() {
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		c := w.clusters[name]
		if w.dropAt > 0 || w.r.Intn(2) == 0 {
			w.say("somebody deletes EtcdCluster %s", c.Name)
			w.removeCluster(c)
		}
	}
}

func (w *world) accept() {
	for _, name := range slices.Sorted(maps.Keys(w.restores)) {
		w.acceptBy(w.restores[name])
	}
}

func (w *world) acceptBy(r *v1beta2.EtcdRestore) {
	if r.Spec.AcceptRunningOldMembers {
		return
	}
	w.say("EtcdRestore %s accepts old members that run", r.Name)
	r.Spec.AcceptRunningOldMembers = true
	r.Generation++
	w.bump(&r.ObjectMeta)
	w.changed()
}

// stopFirst is a user who wants the old members to be stopped first.
func (w *world) stopFirst() {
	for _, name := range slices.Sorted(maps.Keys(w.restores)) {
		r := w.restores[name]
		w.say("EtcdRestore %s wants members to be stopped first", r.Name)
		r.Spec.StopMembers = v1beta2.StopMembersFirst
		r.Generation++
		w.bump(&r.ObjectMeta)
	}
}

// consent is a user who accepts that data is lost.
func (w *world) consent() {
	for _, name := range slices.Sorted(maps.Keys(w.restores)) {
		r := w.restores[name]
		w.say("EtcdRestore %s accepts the loss of data", r.Name)
		r.Spec.AcceptDataLoss = true
		r.Generation++
		w.bump(&r.ObjectMeta)
	}
}

// second is another restore of the same cluster.
func (w *world) second() {
	if w.restores["second"] == nil && w.clusters["c"] != nil {
		w.addRestore("second", false)
		w.version++
	}
}

// anew is a restore of the same name as one that is gone.
func (w *world) anew() {
	if w.restores["c"] == nil && w.clusters["c"] != nil {
		w.addRestore("c", false)
		w.version++
	}
}

// loseCertificates is what a user, or an issuer, does to them until all is calm, or mended.
func (w *world) loseCertificates() {
	w.say("the certificates go bad")
	w.noCerts = true
}

// hasTLS is true for the EtcdCluster of a uid that has TLS.
func (w *world) hasTLS(uid string) bool {
	for _, c := range w.clusters {
		if string(c.UID) == uid {
			return c.Spec.TLS != nil
		}
	}
	return false
}

// keepCertificates is etcd-operator's care for the certificates of a cluster, which it
// takes also while the cluster is fenced; true if it has told something of them.
func (w *world) keepCertificates(c *v1beta2.EtcdCluster) bool {
	st := &c.Status
	bad := metav1.Condition{Type: v1beta2.ConditionCertificatesReady, Status: metav1.ConditionFalse, Reason: "CertificatesMissing", Message: noSecret}
	switch told := len(st.Conditions) > 0; {
	case c.Spec.TLS == nil || w.chance(3):
		return false
	case w.noCerts && !told:
		st.Conditions = []metav1.Condition{bad}
		return true
	case !w.noCerts && (told || st.TLS == nil):
		st.Conditions, st.TLS = nil, &v1beta2.TLSStatus{Trust: "CAs"}
		return true
	}
	return false
}
