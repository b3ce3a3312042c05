package plan

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// planner is Plan, or one with a bug planted.
type planner func(Observation) Decision

// config is what one run of the world is about; a seed decides all of it.
type config struct {
	interval    time.Duration // of 0 for another kind
	cron        string
	restricts   bool // somebody edits spec.backup.allowedStores of EtcdClusters
	account     bool // Jobs have an account, and the policy that checks creators comes and goes
	concurrency v1beta2.ConcurrencyPolicy
	deadline    *int64
	operators   int
	faults      int // steps in which things go wrong
	vanish      bool
	edits       bool // of the schedule and of suspend
	clockJumps  bool
	nodes       bool // are lost, for good or for a while
	pending     bool // Pods do not start
	truthOnly   bool // decisions are judged by what comes of them alone
	// Bugs of the operator around the planner.
	noLiveRead bool // StartJob without its preconditions
	noLiveJobs bool // a Job that the cache lacks is taken for gone
	noLivePods bool // the cache of Pods is believed when a Job has ended or hangs
}

func randomConfig(r *rand.Rand) config {
	c := config{
		concurrency: []v1beta2.ConcurrencyPolicy{"", "Forbid", "Allow", "Replace"}[r.Intn(4)],
		operators:   1 + r.Intn(2), faults: 50 + r.Intn(250), vanish: r.Intn(2) == 0, edits: r.Intn(4) == 0, clockJumps: r.Intn(4) == 0,
	}
	switch r.Intn(4) {
	case 0:
		c.interval = time.Duration(30+r.Intn(90)) * time.Second
	case 1, 2:
		c.cron = []string{"* * * * *", "*/5 * * * *", "CRON_TZ=America/New_York 30 * * * *", "@every 45s"}[r.Intn(4)]
	}
	if r.Intn(3) == 0 {
		c.deadline = new(int64(r.Intn(60)))
	}
	c.nodes, c.pending = r.Intn(2) == 0, r.Intn(4) == 0
	return c
}

func (c *config) repeated() bool { return c.interval > 0 || c.cron != "" }

// simJob is a Job as it really is.
type simJob struct {
	Job
	ends     time.Time // when its last Pod ends; zero: never by itself
	success  bool
	result   *task.Result
	reportAt time.Time // when the Pod's report can be read
	doneAt   time.Time // when the Job is complete or failed
	goneAt   time.Time // when it is gone, once it is being deleted
	known    bool      // a status that was written names it
	lost     bool      // its Pod is on a node that is lost now
	backAt   time.Time // when that node is back; zero: never
	hung     bool      // it was once on a lost node, or once without a running Pod
}

// runs is true while the Job may store something, as far as Kubernetes can know.
func (j *simJob) runs(now time.Time) bool {
	if j.Deleting && Hangs(&j.Job, now) {
		return false // nothing more can be done about it
	}
	return j.ends.IsZero() || now.Before(j.ends)
}

// operator is one process with its caches: how far they have come in the log of what
// was so.
type operator struct {
	backup, jobs int
	restores     int
	wake         time.Time // of its timer; zero without one
	dirty        bool      // something was reported to it
	stalled      func()    // the rest of a reconcile that stands still
}

// world is a model of the API server, the Jobs, and operators with caches that lag.
type world struct {
	config
	r    *rand.Rand
	plan planner
	now  time.Time
	// skew is how far the clock of the operators is put back.
	skew time.Duration

	version int
	backup  *v1beta2.EtcdBackup
	deleted bool
	cluster *v1beta2.EtcdCluster
	// restricted are EtcdClusters that restrict their stores, the source's among them.
	restricted []v1beta2.EtcdCluster
	// noPolicy is true while nothing checks who creates backups.
	noPolicy bool
	jobs     map[string]*simJob
	restores restores
	copies   copies
	// verifies is spec.verification when nobody has removed it.
	verifies *v1beta2.BackupVerification
	// The logs that caches follow.
	backups []*v1beta2.EtcdBackup
	lists   [][]Job

	operators []*operator
	calm      bool

	all       map[string]*simJob // every Job that ever was
	starts    map[string]int
	recorded  map[string]int
	startedAt map[int64]bool
	lastStart time.Time
	hasGood   bool
	strangers int // Jobs that vanished before any status named them
	doubtful  int // Jobs that were given up as missed by an operator that did not see them yet
	trace     []string
	broken    string
}

func newWorld(seed int64, c config, p planner) *world {
	w := &world{
		config: c, r: rand.New(rand.NewSource(seed)), plan: p, now: born,
		restores: newRestores(), copies: newCopies(),
		jobs: map[string]*simJob{}, all: map[string]*simJob{}, starts: map[string]int{}, recorded: map[string]int{}, startedAt: map[int64]bool{},
	}
	w.restricts = w.restricts || seed%4 == 0
	w.account = w.account || seed%5 == 1
	o := observe()
	w.backup = o.Backup
	if w.account {
		w.backup.Spec.Pod = &v1beta2.AgentPod{ServiceAccountName: "cloud"}
	}
	w.backup.UID = types.UID(fmt.Sprint("uid-", seed))
	pol := &v1beta2.BackupPolicy{
		BackupIntervalInSecond: int64(c.interval / time.Second), Schedule: c.cron, ConcurrencyPolicy: c.concurrency, StartingDeadlineSeconds: c.deadline,
	}
	w.backup.Spec.BackupPolicy = pol
	if w.r.Intn(3) == 0 {
		w.backup.Spec.EtcdEndpoints, w.backup.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
		w.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}}
		w.cluster.Status.Members.Ready = []string{"c-1"}
	}
	if seed%7 < 4 {
		w.backup.Spec.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "mybucket/copies/etcd"}}
	}
	w.verifies = verifying(seed)
	w.backup.Spec.Verification = w.verifies
	for range c.operators {
		w.operators = append(w.operators, &operator{dirty: true})
	}
	w.logBackup()
	w.logJobs()
	return w
}

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, w.now.Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.say("BROKEN: "+format, args...)
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// clock is the time that the operators read.
func (w *world) clock() time.Time { return w.now.Add(-w.skew) }

func (w *world) logBackup() {
	w.version++
	w.backup.ResourceVersion = fmt.Sprint(w.version)
	w.backups = append(w.backups, w.backup.DeepCopy())
}

func (w *world) logJobs() {
	var list []Job
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		list = append(list, w.jobs[name].Job)
	}
	w.lists = append(w.lists, list)
}

// run lets things go wrong for a while, and then lets all come to rest.
func (w *world) run() {
	for range w.faults {
		w.step()
		if w.broken != "" {
			return
		}
	}
	w.calm = true
	w.say("calm")
	w.skew, w.restricted, w.noPolicy = 0, nil, false
	w.backup.Spec.Suspend, w.backup.Spec.Verification = false, w.verifies
	w.logBackup()
	if w.cluster != nil {
		w.cluster.Status.Members.Ready = []string{"c-1"}
	}
	for _, j := range w.jobs {
		w.settle(j)
	}
	until := w.now.Add(w.rest())
	for n := 0; w.now.Before(until); n++ {
		if n > 5000 {
			w.fail("it does not come to rest: %d steps", n)
		}
		w.step()
		if w.broken != "" {
			return
		}
	}
	for w.act() && w.broken == "" { // what is due at that very moment
	}
	w.checkRest()
	w.checkRestores()
	w.checkCopies()
}

// settle lets a Job that would hang come to its end, unless its node is lost for good, or
// its Pod never starts.
func (w *world) settle(j *simJob) {
	if j.lost || (!j.Idle.IsZero() && w.repeated()) {
		return
	}
	if j.ends.IsZero() {
		j.Idle = time.Time{}
		w.finishAt(j, w.now.Add(5*time.Second))
	}
	if j.Deleting && j.goneAt.IsZero() {
		j.goneAt = w.now.Add(time.Second)
	}
}

// step is one thing that happens: an operator acts, something goes wrong, or time goes
// on to the next moment at which something is to happen.
func (w *world) step() {
	if !w.calm && w.r.Intn(3) == 0 {
		w.fault()
	}
	if w.act() {
		return
	}
	w.pass()
}

// act lets each operator that has a reason to look do so; false if none has.
func (w *world) act() bool {
	acted := false
	for _, op := range w.operators {
		w.deliver(op)
		if op.stalled != nil {
			if w.calm || w.r.Intn(3) == 0 {
				rest := op.stalled
				op.stalled = nil
				rest()
				acted = true
			}
			continue
		}
		if op.dirty || (!op.wake.IsZero() && !w.clock().Before(op.wake)) {
			w.reconcile(op)
			acted = true
		}
		if w.broken != "" {
			return false
		}
	}
	return acted
}

// deliver moves an operator's caches on, which it is told of.
func (w *world) deliver(op *operator) {
	before := *op
	lag := func(at, end int) int {
		if w.calm {
			return end
		}
		return at + w.r.Intn(end-at+1)
	}
	op.backup, op.jobs, op.restores = lag(op.backup, len(w.backups)-1), lag(op.jobs, len(w.lists)-1), lag(op.restores, len(w.restores.lists)-1)
	if op.backup != before.backup || op.jobs != before.jobs || op.restores != before.restores {
		op.dirty = true
	}
}

// pass lets time go on.
func (w *world) pass() {
	next := w.now.Add(10 * time.Minute)
	if !w.calm && w.r.Intn(4) > 0 {
		next = w.now.Add(time.Duration(w.r.Intn(20_000)) * time.Millisecond)
	}
	sooner := func(t time.Time) {
		if !t.IsZero() && t.After(w.now) && t.Before(next) {
			next = t
		}
	}
	for _, op := range w.operators {
		if !op.wake.IsZero() {
			sooner(op.wake.Add(w.skew))
		}
	}
	for _, j := range w.jobs {
		for _, t := range []time.Time{j.ends, j.reportAt, j.doneAt, j.goneAt, j.backAt} {
			sooner(t)
		}
	}
	for _, r := range w.restores.live {
		sooner(r.ends)
	}
	if c := w.copies.live; c != nil {
		sooner(c.ends)
		sooner(c.goneAt)
	}
	w.now = next
	w.moveJobs()
	w.moveRestores()
	w.moveCopy()
}

// moveJobs shows what has become of Jobs by now.
func (w *world) moveJobs() {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		j := w.jobs[name]
		reached := func(t time.Time) bool { return !t.IsZero() && !w.now.Before(t) }
		if j.Result == nil && j.result != nil && reached(j.reportAt) {
			j.Result, changed = j.result, true
		}
		if j.Running && reached(j.doneAt) {
			j.Running, j.Failed, j.Finished, changed = false, !j.success, j.doneAt, true
		}
		if j.lost && reached(j.backAt) {
			w.nodeBack(j)
			changed = true
		}
		if reached(j.goneAt) {
			w.drop(j, "is gone")
			changed = true
		}
	}
	if changed {
		w.logJobs()
	}
}

// loseNode loses the node of a Job's Pod, for good or for a while. What the Pod did is not
// known from then on, and after a while it is terminating for too long.
func (w *world) loseNode(j *simJob) {
	j.lost, j.hung = true, true
	j.ends, j.reportAt, j.doneAt, j.result = time.Time{}, time.Time{}, time.Time{}, nil
	j.Deadline = w.now.Add(time.Duration(w.r.Intn(120)) * time.Second)
	j.HangReason, j.HangMessage = "NodeLost", "the node is lost"
	if w.r.Intn(2) == 0 {
		j.backAt = w.now.Add(time.Duration(w.r.Intn(240)) * time.Second)
	}
	w.say("the node of Job %s is lost, until %s", j.Name, conditiontext.Time(j.backAt))
	w.logJobs()
}

// nodeBack ends the Pod of a Job, which creates another one.
func (w *world) nodeBack(j *simJob) {
	w.say("the node of Job %s is back", j.Name)
	j.lost, j.backAt, j.Deadline = false, time.Time{}, time.Time{}
	if j.Deleting {
		j.ends, j.goneAt = w.now, w.now.Add(time.Second)
		return
	}
	w.finishAt(j, w.now.Add(time.Duration(1000+w.r.Intn(20_000))*time.Millisecond))
}

// drop takes a Job, and with it its Pod, out of the world.
func (w *world) drop(j *simJob, why string) {
	w.say("the Job %s %s", j.Name, why)
	if j.runs(w.now) {
		j.ends = w.now
	}
	if !j.known && w.recorded[j.Name] == 0 {
		w.strangers++
	}
	delete(w.jobs, j.Name)
}

// finishAt decides how and when a Job ends.
func (w *world) finishAt(j *simJob, at time.Time) {
	ms := func(n int) time.Duration { return time.Duration(w.r.Intn(n)) * time.Millisecond }
	j.ends, j.reportAt = at, at.Add(ms(4000))
	j.doneAt = at.Add(ms(3000))
	if w.clockJumps && j.reportAt.After(j.doneAt) {
		j.reportAt = j.doneAt // how long a report is late is told by the clock
	}
	j.success = w.r.Intn(3) > 0
	j.result = &task.Result{Location: "s3://mybucket/" + j.Name, Size: 1, Revision: 1, Finished: at, Quorum: new(w.r.Intn(3) > 0)}
	if w.r.Intn(4) == 0 {
		j.result.Unhealthy = "a CORRUPT alarm"
	}
	if !j.success {
		j.result = &task.Result{Finished: at, Failure: &agent.Failure{Reason: "NoSpace", Message: "the bucket is full", Permanent: w.r.Intn(2) == 0}}
		if w.r.Intn(3) == 0 {
			j.result = nil // out of memory
		}
	}
}

func (w *world) observe(op *operator) Observation {
	o := Observation{Now: w.clock(), Backup: w.backups[op.backup].DeepCopy(), Jobs: slices.Clone(w.lists[op.jobs]), Creator: creator.Check{Passed: true}}
	if w.cluster != nil {
		o.Cluster = w.cluster.DeepCopy()
	}
	if w.noPolicy {
		o.Creator = creator.Check{Missing: "there is no policy"}
	}
	o.Restricted = slices.Clone(w.restricted)
	o.Verifications, o.VerifierServed = slices.Clone(w.restores.lists[op.restores]), true
	if c := w.copies.live; c != nil {
		seen := c.Copier
		o.Copier = &seen
	}
	for _, a := range o.Backup.Status.Active {
		if j := w.jobs[a.Name]; j != nil && findJob(o.Jobs, a.Name) == nil && !w.noLiveJobs {
			o.Jobs = append(o.Jobs, j.Job)
		}
	}
	for i := range o.Jobs {
		j := &o.Jobs[i]
		now := w.jobs[j.Name]
		if now == nil || w.noLivePods {
			continue
		}
		if !j.Running && j.Result == nil {
			j.Result = now.Result
		}
		if Hangs(j, o.Now) {
			j.Result, j.Deadline, j.Idle = now.Result, now.Deadline, now.Idle
		}
	}
	return o
}

// reconcile is what the controller does, with a crash or a stall anywhere.
func (w *world) reconcile(op *operator) {
	op.dirty, op.wake = false, time.Time{}
	if w.deleted {
		return
	}
	o := w.observe(op)
	d := w.plan(o)
	if starts(d.Action) && !w.calm && w.r.Intn(20) == 0 {
		w.say("the API server refuses it: %s", d.Message)
		o.Refused = "exceeded quota"
		d = w.plan(o)
	}
	if !w.truthOnly {
		for _, broken := range oracle(o, d) {
			w.fail("%s", broken)
		}
	}
	rest := func() { w.carryOut(op, o, d) }
	if !w.calm && w.r.Intn(12) == 0 {
		op.stalled = rest
		return
	}
	rest()
}

// starts is true of an Action that the API server can refuse.
func starts(a Action) bool {
	switch a.(type) {
	case StartJob, StartArchiver, StartCopy, StartVerification:
		return true
	default:
		return false
	}
}

func (w *world) crash(op *operator, where string) bool {
	if w.calm || w.r.Intn(15) > 0 {
		return false
	}
	w.say("the operator crashes %s", where)
	w.restart(op)
	return true
}

func (w *world) carryOut(op *operator, o Observation, d Decision) {
	if d.Action != nil {
		w.say("%s: %s", d.Action.Kind(), d.Message)
	}
	if w.deleted || w.crash(op, "before it acts") {
		return
	}
	if !w.effect(o, d) {
		op.dirty = true
		return
	}
	if w.deleted || w.crash(op, "after it has acted") {
		return
	}
	if !w.write(o, d) {
		op.dirty = true
		return
	}
	if d.RequeueAfter > 0 {
		op.wake = w.clock().Add(d.RequeueAfter)
	}
}

// restart is another process: it may be served an older list than the last one saw.
func (w *world) restart(op *operator) {
	older := func(at int) int { return max(0, at-w.r.Intn(3)) }
	*op = operator{dirty: true, backup: older(op.backup), jobs: older(op.jobs), restores: older(op.restores)}
}

// effect carries an Action out; false if a precondition does not hold.
func (w *world) effect(o Observation, d Decision) bool {
	switch a := d.Action.(type) {
	case StartJob:
		var names, observed []string
		for _, j := range o.Jobs {
			observed = append(observed, j.Name)
		}
		slices.Sort(observed)
		names = slices.Sorted(maps.Keys(w.jobs))
		if !w.noLiveRead && (w.backup.ResourceVersion != o.Backup.ResourceVersion || !slices.Equal(names, observed)) {
			return false
		}
		if w.jobs[a.Name] == nil {
			w.create(o, a)
		}
	case StartCopy:
		return w.startCopy(o, a)
	case DeleteJob:
		w.deleteCopy(o, a)
		if j := w.jobs[a.Name]; j != nil && j.UID == a.UID {
			w.remove(j)
		}
	case StartVerification:
		return w.startVerification(o, a)
	case DeleteVerification:
		w.deleteVerification(o, a)
	case StartArchiver: // nothing is archived in this world
	case DeleteBackup:
		if w.backup.ResourceVersion != o.Backup.ResourceVersion {
			return false
		}
		w.deleted = true
	}
	return true
}

func (w *world) create(o Observation, a StartJob) {
	w.checkStart(o, a)
	j := &simJob{Job: Job{Name: a.Name, UID: fmt.Sprint("uid-", len(w.all), a.Name), Scheduled: a.Scheduled, Created: w.now, Running: true}}
	switch {
	case !w.calm && w.pending && w.r.Intn(6) == 0:
		j.Idle, j.hung = w.now, true
	case w.calm || w.r.Intn(10) > 0:
		longest := 20_000
		if !w.calm {
			longest = 150_000
		}
		w.finishAt(j, w.now.Add(time.Duration(1000+w.r.Intn(longest))*time.Millisecond))
	}
	w.jobs[a.Name], w.all[a.Name] = j, j
	w.starts[a.Name]++
	w.startedAt[a.Scheduled.Unix()] = true
	w.lastStart = a.Scheduled
	w.logJobs()
}

// remove is the operator's deletion of a Job.
func (w *world) remove(j *simJob) {
	if w.recorded[j.Name] == 0 && w.backup.Spec.Concurrency() != v1beta2.ReplaceConcurrent {
		w.fail("the Job %s is deleted before its end is recorded", j.Name)
	}
	w.drop(j, "is deleted by the operator")
	w.logJobs()
}

// write is the one write of the status; false for a conflict or an error.
func (w *world) write(o Observation, d Decision) bool {
	if apiequality.Semantic.DeepEqual(o.Backup.Status, d.Status) {
		return true
	}
	if w.backup.ResourceVersion != o.Backup.ResourceVersion {
		return false
	}
	if !w.calm && w.r.Intn(15) == 0 {
		w.say("the write of the status is lost")
		return false
	}
	w.checkWrite(o, d)
	w.checkVerified(d)
	w.checkCopied(d)
	w.backup.Status = *d.Status.DeepCopy()
	w.logBackup()
	// The reply may be lost, which the operator takes for an error.
	return w.calm || w.r.Intn(15) > 0
}

// fault is something that goes wrong, or that somebody does.
func (w *world) fault() {
	names := slices.Sorted(maps.Keys(w.jobs))
	switch n := w.r.Intn(11); {
	case n == 10 && w.nodes && len(names) > 0:
		if j := w.jobs[names[w.r.Intn(len(names))]]; j.Running && j.runs(w.now) && !j.lost && j.Idle.IsZero() && j.goneAt.IsZero() {
			w.loseNode(j)
		}
	case n == 0:
		op := w.operators[w.r.Intn(len(w.operators))]
		w.say("an operator starts anew")
		w.restart(op)
	case n == 1:
		gap := time.Duration(w.r.Intn(600)) * time.Second
		w.say("nothing runs for %s", gap)
		w.now = w.now.Add(gap)
		w.moveJobs()
		w.moveRestores()
		w.moveCopy()
	case n == 2 && w.vanish && len(w.restores.live) > 0 && w.r.Intn(2) == 0:
		names := slices.Sorted(maps.Keys(w.restores.live))
		w.dropRestore(names[w.r.Intn(len(names))], "vanishes")
	case n == 2 && w.vanish && w.copies.live != nil && w.r.Intn(2) == 0:
		w.say("the Job of the copy vanishes")
		w.copies.live = nil
		w.copyChanged()
	case n == 2 && w.vanish && len(names) > 0:
		w.drop(w.jobs[names[w.r.Intn(len(names))]], "vanishes")
		w.logJobs()
	case n == 3 && w.vanish && len(names) > 0:
		if j := w.jobs[names[w.r.Intn(len(names))]]; !j.Deleting {
			w.say("somebody deletes the Job %s", j.Name)
			j.Deleting = true
			if w.r.Intn(3) > 0 && !j.lost {
				j.goneAt = w.now.Add(time.Duration(w.r.Intn(30)) * time.Second)
			}
			w.logJobs()
		}
	case n == 4 && w.restricts && (w.cluster == nil || w.r.Intn(2) == 0):
		w.restrict()
	case n == 4 && w.cluster != nil:
		w.cluster.Status.Members.Ready, w.cluster.Status.QuorumLostSince = nil, nil
		if w.r.Intn(2) == 0 {
			w.cluster.Status.Members.Unready, w.cluster.Status.QuorumLostSince = []string{"c-1"}, &metav1.Time{Time: w.now}
		}
		if w.r.Intn(2) == 0 {
			w.cluster.Status.Members.Ready = []string{"c-1"}
		}
		for _, op := range w.operators {
			op.dirty = true
		}
	case n == 5 && w.edits:
		w.backup.Spec.Suspend = !w.backup.Spec.Suspend
		w.edited()
	case n == 6 && w.edits && w.interval > 0:
		w.backup.Spec.BackupPolicy.BackupIntervalInSecond = int64(10 + w.r.Intn(100))
		w.edited()
	case n == 9 && w.edits && w.verifies != nil:
		if w.backup.Spec.Verification = w.verifies; w.r.Intn(2) == 0 {
			w.backup.Spec.Verification = nil
		}
		w.edited()
	case n == 8 && w.account:
		w.noPolicy = !w.noPolicy
		w.say("there is no policy: %t", w.noPolicy)
	case n == 7 && w.clockJumps:
		w.skew = time.Duration(w.r.Intn(int(maxSkew/time.Second)/2)) * time.Second
		w.say("the operators' clock is put back by %s", w.skew)
	}
}

func (w *world) edited() {
	w.say("the spec is edited: suspend %t, every %d s, verified %t", w.backup.Spec.Suspend, w.backup.Spec.BackupPolicy.BackupIntervalInSecond, w.backup.Spec.Verification != nil)
	w.backup.Generation++
	w.logBackup()
}

// restrict has the EtcdCluster of the source, and another one, say where their backups can be
// stored: elsewhere, there, or no more.
func (w *world) restrict() {
	w.restricted = nil
	for _, name := range []string{"c", "example"} {
		if stores := [][]string{nil, {"s3://mybucket"}, {"s3://elsewhere"}}[w.r.Intn(3)]; stores != nil {
			w.say("EtcdCluster %s allows %s", name, stores)
			w.restricted = append(w.restricted, restricted("ns", name, "id of "+name, stores...))
		}
	}
	for _, op := range w.operators {
		op.dirty = true
	}
}

// checkStart is what must hold whenever a Job is made.
func (w *world) checkStart(o Observation, a StartJob) {
	oracleStore(o, a, w.fail)
	if w.account && !o.Creator.Passed {
		w.fail("the Job %s has an account that its creator might not be able to use", a.Name)
	}
	if old := w.all[a.Name]; old != nil {
		// A Job that vanished before any status told of it left no trace: that it is
		// repeated harms nobody.
		if old.known || w.recorded[a.Name] > 0 {
			w.fail("the backup of %s is started a second time", conditiontext.Time(a.Scheduled))
		}
		w.strangers--
	}
	if w.backup.Spec.Concurrency() != v1beta2.AllowConcurrent {
		for name, j := range w.jobs {
			if j.runs(w.now) {
				w.fail("the Jobs %s and %s run side by side", a.Name, name)
			}
		}
	}
	if !w.repeated() {
		if f := endedRecords(&w.backup.Status); f > 0 {
			w.fail("a one-shot backup that has ended is started again")
		}
		return
	}
	if a.Scheduled.After(o.Now) {
		w.fail("%s is started too early", conditiontext.Time(a.Scheduled))
	}
	if last := w.lastTraced(); !a.Scheduled.After(last) && w.all[a.Name] == nil {
		w.fail("%s is started after %s", conditiontext.Time(a.Scheduled), conditiontext.Time(last))
	}
	if s, refusal := check(&o.Backup.Spec); refusal == nil {
		if _, n := s.Due(a.Scheduled, o.Now); n > 0 {
			w.fail("%s is made up although newer ones are due", conditiontext.Time(a.Scheduled))
		}
	}
}

// lastTraced is the latest time of which a Job was made and left a trace: an operator
// whose clock was put back knows nothing of one that vanished before any status told of it.
func (w *world) lastTraced() (last time.Time) {
	for name, j := range w.all {
		if j.Scheduled.After(last) && (j.known || w.jobs[name] != nil || w.recorded[name] > 0) {
			last = j.Scheduled
		}
	}
	return last
}

// endedRecords counts the records that end a one-shot backup.
func endedRecords(st *v1beta2.BackupStatus) int {
	n := 0
	for _, r := range st.History {
		if !r.Lost {
			n++
		}
	}
	return n
}

// checkWrite is what must hold whenever a status is written.
func (w *world) checkWrite(o Observation, d Decision) {
	var recorded []string
	for _, r := range d.Status.History {
		if isRecorded(w.backup.Status.History, r.Name) {
			continue
		}
		recorded = append(recorded, r.Name)
		w.recorded[r.Name]++
		j := w.all[r.Name]
		switch {
		case j == nil:
			w.fail("a Job %s is recorded that never was", r.Name)
			return
		case w.recorded[r.Name] > 1:
			w.fail("the end of %s is recorded a second time", r.Name)
		case r.Succeeded && (!j.success || j.runs(w.now)):
			w.fail("%s is recorded as a success, and is none", r.Name)
		case j.hung && !r.Succeeded:
			w.checkGivenUp(o, j, &r)
		case !r.Succeeded && j.success && w.jobs[r.Name] != nil && !w.jobs[r.Name].Deleting:
			w.fail("%s is recorded as %s, and has succeeded", r.Name, r.Reason)
		case w.jobs[r.Name] != nil && j.runs(w.now):
			w.fail("%s is recorded as %s, and runs", r.Name, r.Reason)
		}
		w.say("%s is recorded: success %t %s", r.Name, r.Succeeded, r.Reason)
	}
	w.checkNewest(d)
	if len(recorded) != len(d.Recorded) {
		w.fail("%d are recorded, and %d are counted", len(recorded), len(d.Recorded))
	}
	if len(d.Status.History) > v1beta2.MaxHistory {
		w.fail("the history has %d records", len(d.Status.History))
	}
	for _, a := range d.Status.Active {
		if j := w.all[a.Name]; j != nil {
			j.known = true
		}
	}
	if before, after := w.backup.Status.Clock, d.Status.Clock; after != nil {
		for _, j := range w.all {
			if !j.known && w.recorded[j.Name] == 0 && (before == nil || j.Scheduled.After(before.After.Time)) && !j.Scheduled.After(after.After.Time) {
				w.doubtful++
			}
		}
	}
}

// checkNewest holds the newest good backup against what is recorded.
func (w *world) checkNewest(d Decision) {
	for _, r := range d.Recorded {
		if r.Succeeded && (*r.Quorum && r.Unhealthy == "") {
			w.hasGood = true
		}
	}
	if s := d.Status.Snapshot; w.hasGood && (s == nil || s.Quorum == nil || !*s.Quorum || s.Unhealthy != "") {
		w.fail("a backup without a quorum, or of an unhealthy member, takes the place of a good one: %+v", s)
	}
}

// checkGivenUp is what must hold of the record of a Job that hung once. Its node may have
// come back since it was looked at, and the clock may have been put back.
func (w *world) checkGivenUp(o Observation, j *simJob, r *v1beta2.BackupRecord) {
	at := w.clock()
	if o.Now.After(at) {
		at = o.Now
	}
	switch {
	case r.Reason == "NodeLost" && w.jobs[r.Name] != nil && j.lost && !isOverdue(&j.Job, at):
		w.fail("%s is given up before its deadline", r.Name)
	case r.Reason == v1beta2.BackupReasonPodNotStarting && w.jobs[r.Name] != nil && !isIdle(&j.Job, at):
		w.fail("%s is given up and may start", r.Name)
	}
}

// rest is how long nothing goes wrong at the end: several intervals, or an hour.
func (w *world) rest() time.Duration {
	if strings.HasSuffix(w.cron, "30 * * * *") {
		return time.Hour
	}
	if w.pending {
		return startGrace + 10*time.Minute
	}
	return 10 * time.Minute
}

// checkRest is what must hold when for a while nothing has gone wrong.
func (w *world) checkRest() {
	st := &w.backup.Status
	for name, j := range w.all {
		active := slices.ContainsFunc(st.Active, func(a v1beta2.ActiveBackup) bool { return a.Name == name })
		if w.recorded[name] == 0 && j.known && !active {
			w.fail("the end of %s is not recorded", name)
		}
		if w.recorded[name] == 0 && w.jobs[name] != nil && !active {
			w.fail("nobody knows of the Job %s", name)
		}
	}
	left := 0
	for _, j := range w.jobs {
		if !j.Deleting || !Hangs(&j.Job, w.now) { // nothing can be done about those
			left++
		}
		if j.lost && !j.Deleting && isOverdue(&j.Job, w.now.Add(-time.Minute)) {
			w.fail("the Job %s hangs and is not given up", j.Name)
		}
	}
	if left > 2+len(st.Active) {
		w.fail("%d Jobs are left", left)
	}
	if !w.repeated() {
		if st.Phase != v1beta2.BackupSucceeded && st.Phase != v1beta2.BackupFailed {
			w.fail("the backup has not ended: %s", st.Phase)
		}
		return
	}
	s, _ := check(&w.backup.Spec)
	if due, n := s.Due(st.Clock.After.Time, w.now); n > 0 && len(st.Active) == 0 {
		w.fail("the backup of %s is due and not started", conditiontext.Time(due))
	}
	if w.now.Sub(w.lastStart) > w.rest() {
		w.fail("nothing was started since %s", conditiontext.Time(w.lastStart))
	}
	w.checkCount(s)
}

// checkCount holds every due time against what became of it.
func (w *world) checkCount(s schedule.Schedule) {
	if w.edits || w.restricts || w.account {
		return // times do not count while it is suspended or refused
	}
	st := &w.backup.Status
	_, due := s.Due(s.Start(born), st.Clock.After.Time)
	counted := int64(len(w.startedAt)) + st.MissedRuns
	if counted < due || counted > due+int64(w.strangers+w.doubtful) {
		w.fail("%d were due, %d were started and %d missed (%d Jobs vanished before they were known, %d were seen too late)",
			due, len(w.startedAt), st.MissedRuns, w.strangers, w.doubtful)
	}
}
