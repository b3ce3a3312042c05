package plan

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// planner is Plan, or one with a bug planted.
type planner func(Observation) Decision

// config is what one run of the world is about; a seed decides all of it.
type config struct {
	persistent bool
	fresh      bool // the restore makes its cluster, from another one's spec or a template
	template   bool
	unseen     bool // etcd-operator has never looked at the cluster
	badJob     bool // the snapshot is no good, whoever looks at it
	badSeed    bool // the seed's Pod can't restore it
	first      bool // members are stopped first
	crowded    bool // no node holds a seed beside three members
	silent     bool // members do not tell their revision
	noPolicy   bool // nothing checks who creates restores
	busy       bool // members write so much that they come near where the seed begins
	evicting   bool // nodes have no room for what a seed fetches
	dead       bool // a seed's node that does not answer is never repaired
	// empty snapshots hold no key, which allowEmpty consents to; the others do not fit the
	// cluster.
	empty, allowEmpty, smallQuota, smallVolume bool

	// asOf is true of restores as of a revision; uncut seeds restore all of their snapshot.
	asOf, uncut bool
	// byTime is true where the revision is asked for by a time, and beyond where it is beyond the
	// snapshot.
	byTime, beyond bool

	timeout int64
	faults  int // steps in which things go wrong
	quiet   int // steps before all that is wrong is ended, when only one thing is
	user    bool
	lag     int // how many changes a cache may be behind
	// tls is true of clusters with TLS. With switchTLS, a template has none where the
	// cluster has, or the other way round.
	tls, switchTLS bool
	// At these moments, counted in chances to crash, something happens; 0: never.
	crashAt, deleteAt, dropAt, acceptAt, vanishAt, wipeAt, pauseAt, stickAt, secondAt, anewAt, certsAt, firstAt, policyAt, evictAt, dieAt, updateAt int
	crashEvery                                                                                                                                      int  // crash at each such chance; 0: not
	truthOnly                                                                                                                                       bool // decisions are judged by what comes of them alone
	// Bugs of the operator around the planner.
	staleBackward bool // caches are believed while a restore is rolled back
	noLatch       bool // etcd-operator never raises the highest revision
	noLive        bool // actions are carried out without their preconditions
}

func randomConfig(r *rand.Rand) config {
	c := config{
		persistent: r.Intn(3) > 0, fresh: r.Intn(4) == 0, template: r.Intn(2) == 0, unseen: r.Intn(5) == 0,
		badJob: r.Intn(12) == 0, badSeed: r.Intn(10) == 0, faults: 20 + r.Intn(120), user: r.Intn(3) > 0, lag: r.Intn(6),
	}
	if r.Intn(5) == 0 {
		c.timeout = int64(10 + r.Intn(60))
	}
	c.tls, c.switchTLS = r.Intn(3) == 0, r.Intn(3) == 0
	c.first, c.crowded, c.silent, c.busy = r.Intn(4) == 0, r.Intn(8) == 0, r.Intn(4) == 0, r.Intn(6) == 0
	c.empty, c.allowEmpty = r.Intn(10) == 0, r.Intn(3) > 0
	c.smallQuota, c.smallVolume = r.Intn(20) == 0, r.Intn(20) == 0
	c.noPolicy = r.Intn(20) == 0
	c.evicting = r.Intn(10) == 0
	c.dead = r.Intn(8) == 0
	c.asOf = r.Intn(4) == 0
	c.uncut = c.asOf && r.Intn(6) == 0
	c.byTime, c.beyond = c.asOf && r.Intn(2) == 0, c.asOf && r.Intn(2) == 0
	return c
}

// disk is what lies on a volume.
type disk struct {
	// old is true for what a member wrote before the restore.
	old bool
	// by and member say which restore made it, for whom; empty for an empty disk.
	by, member string
	// prepared is the restore that has rebuilt its database there, beside the data.
	prepared string
	revision int64
}

type simPod struct {
	Pod
	owner, restore string // uids of the EtcdCluster and of the EtcdRestore whose seed it is
	persistent     bool
	disk           *disk
	revision       int64
	// finds is true of a seed that was given a time.
	finds   bool
	stopsAt time.Time // when its containers have ended, once it is being deleted
	goneAt  time.Time
	stuck   bool
	// Finished is true when it has ended for good.
	Finished bool
	runAt    time.Time // when its next step is
}

type simClaim struct {
	Claim
	owner string
	// by is the restore that has retired it; empty: it is labelled as the cluster's.
	by   string
	disk *disk
}

type simJob struct {
	Job
	owner  string
	endsAt time.Time
}

// state is all that the API server knows.
type state struct {
	restores map[string]*v1beta2.EtcdRestore
	clusters map[string]*v1beta2.EtcdCluster
	pods     []*simPod
	claims   []*simClaim
	jobs     map[string]*simJob
}

// seen is what a cache shows of one kind; caches of different kinds lag differently.
type seen struct {
	restores map[string]*v1beta2.EtcdRestore
	clusters map[string]*v1beta2.EtcdCluster
	pods     []simPod
	claims   []simClaim
	jobs     map[string]simJob
}

const kinds = 5

// world is a model of the API server, of etcd-operator, of the seeds, and of the operator
// with caches that lag.
type world struct {
	config
	state
	r    *rand.Rand
	plan planner
	now  time.Time
	// calm is true when nothing goes wrong but what is configured, and settled when that is
	// over, too, and caches show all at once.
	calm, settled bool

	version, serial int
	// latches are the versions that only tell of what clients write, who never rest.
	latches int
	log     []seen
	// at is how far the caches have come in the log, by kind.
	at     [kinds]int
	wakeAt map[string]time.Time
	looked map[string]int
	// chances counts the moments at which the operator may crash.
	chances int

	members map[string][]string // of each EtcdCluster, by uid
	madeBy  map[string]string   // seeds by name: the uid of the Pod, once a status knows it
	// highest is the highest revision that clients have seen, by uid of the EtcdCluster,
	// and adoptions are counted by restore.
	highest   map[string]int64
	adoptions map[string]int
	// stopped are the restores that have stopped a member, by uid, and evictions are counted
	// by restore: those of seeds that it has deleted while nothing was lost yet.
	stopped   map[string]bool
	evictions map[string]int
	over      map[string]bool // restores that have ended, by uid
	ruined    bool            // the data of a seed that was adopted is lost
	noCerts   bool            // the certificates of clusters with TLS are not right
	idle      int             // looks that came to nothing and were to be followed at once
	trace     []string
	broken    string
}

func newWorld(seed int64, c config, p planner) *world {
	w := &world{
		config: c, r: rand.New(rand.NewSource(seed)), plan: p, now: born,
		state:   state{restores: map[string]*v1beta2.EtcdRestore{}, clusters: map[string]*v1beta2.EtcdCluster{}, jobs: map[string]*simJob{}},
		wakeAt:  map[string]time.Time{},
		looked:  map[string]int{},
		members: map[string][]string{}, madeBy: map[string]string{}, adoptions: map[string]int{}, stopped: map[string]bool{}, evictions: map[string]int{}, over: map[string]bool{},
		highest: map[string]int64{},
	}
	w.addCluster("c", nil)
	for range 3 {
		w.addMember(w.clusters["c"])
	}
	for _, p := range w.pods {
		p.Ready = true
		w.diskOf(p).old = true
	}
	w.addRestore("c", c.fresh)
	w.changed()
	w.at = [kinds]int{len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1}
	return w
}

func (w *world) uid(kind string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", kind, w.serial)
}

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, w.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.say("BROKEN: "+format, args...)
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// chance is true once in n times while things go wrong.
func (w *world) chance(n int) bool { return !w.calm && w.r.Intn(n) == 0 }

func (w *world) in(least, most int) time.Time {
	return w.now.Add(time.Duration(least+w.r.Intn(most-least+1)) * time.Second)
}

func (w *world) addCluster(name string, c *v1beta2.EtcdCluster) {
	if c == nil {
		c = newCluster(name, "", w.persistent)
		if w.tls {
			c.Spec.TLS, c.Status.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}, &v1beta2.TLSStatus{Trust: "CAs"}
		}
		if w.smallQuota {
			c.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse("16Mi"))}
		}
		if w.smallVolume && w.persistent {
			c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests["storage"] = resource.MustParse("32Mi")
		}
		if w.unseen {
			c.Status = v1beta2.ClusterStatus{}
			c.Spec.Version = "3.6.1"
		}
	}
	c.UID = types.UID(w.uid("cluster"))
	w.highest[string(c.UID)] = max(0, c.Status.HighestRevision-500_000)
	w.clusters[name] = c
	w.bump(&c.ObjectMeta)
}

func (w *world) addRestore(name string, fresh bool) {
	r := newRestore(name, w.uid("restore"))
	r.CreationTimestamp = metav1.NewTime(w.now)
	r.Spec.AllowEmptySnapshot = w.allowEmpty
	r.Spec.TimeoutInSecond, r.Spec.AcceptDataLoss = w.timeout, w.faults == 0 || w.r.Intn(2) == 0
	switch {
	case w.byTime:
		r.Spec.Time = &metav1.Time{Time: w.now}
	case w.asOf:
		r.Spec.Revision = w.target()
	}
	if w.first {
		r.Spec.StopMembers = v1beta2.StopMembersFirst
	}
	switch {
	case fresh && w.template:
		r.Name, r.Spec.EtcdCluster = "n", nil
		r.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: *w.clusters["c"].Spec.DeepCopy()}
		r.Spec.ClusterTemplate.Spec.TLS = nil
		if w.tls != w.switchTLS {
			r.Spec.ClusterTemplate.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
		}
	case fresh:
		r.Name, r.Spec.Target = "n", v1beta2.TargetNew
	case name != "c":
		r.Spec.Target, r.Spec.EtcdCluster.Name = v1beta2.TargetInPlace, "c"
	}
	w.restores[r.Name] = r
	w.bump(&r.ObjectMeta)
	w.say("EtcdRestore %s (%s) is created", r.Name, r.UID)
}

func (w *world) bump(m *metav1.ObjectMeta) {
	w.version++
	m.ResourceVersion = fmt.Sprint(w.version)
}

// addMember is etcd-operator's making of a member.
func (w *world) addMember(c *v1beta2.EtcdCluster) {
	name := w.uid(c.Name)
	if c.Spec.Persistent() {
		w.claims = append(w.claims, &simClaim{Claim: Claim{Name: name, UID: w.uid("claim")}, owner: string(c.UID), disk: &disk{}})
	}
	w.addPod(c, name)
	w.members[string(c.UID)] = append(w.members[string(c.UID)], name)
}

func (w *world) addPod(c *v1beta2.EtcdCluster, name string) *simPod {
	p := &simPod{Pod: Pod{Name: name, UID: w.uid("pod"), Node: "node"}, owner: string(c.UID), persistent: c.Spec.Persistent(), disk: &disk{}, runAt: w.in(1, 3)}
	w.pods = append(w.pods, p)
	return p
}

func (w *world) diskOf(p *simPod) *disk {
	if p.persistent {
		if i := slices.IndexFunc(w.claims, func(c *simClaim) bool { return c.Name == p.Name && c.owner == p.owner }); i >= 0 {
			return w.claims[i].disk
		}
	}
	return p.disk
}

// changed writes down what caches will show in time.
func (w *world) changed() { w.log = append(w.log, w.picture()) }

// picture is what is so now.
func (w *world) picture() seen {
	s := seen{restores: map[string]*v1beta2.EtcdRestore{}, clusters: map[string]*v1beta2.EtcdCluster{}, jobs: map[string]simJob{}}
	for n, r := range w.restores {
		s.restores[n] = r.DeepCopy()
	}
	for n, c := range w.clusters {
		s.clusters[n] = c.DeepCopy()
	}
	for n, j := range w.jobs {
		s.jobs[n] = *j
	}
	for _, p := range w.pods {
		s.pods = append(s.pods, *p)
	}
	for _, c := range w.claims {
		s.claims = append(s.claims, *c)
	}
	return s
}

// deliver moves the caches on.
func (w *world) deliver() {
	end := len(w.log) - 1
	for i := range w.at {
		least := max(w.at[i], end-w.lag)
		if w.settled {
			least = end
		}
		w.at[i] = least + w.r.Intn(end-least+1)
	}
}

// crash is the end of one process and the beginning of the next, which may be served
// older lists than the last one saw.
func (w *world) crash(where string) bool {
	w.chances++
	w.events()
	again := w.crashEvery > 0 && !w.settled && w.chances%w.crashEvery == 0
	if w.chances != w.crashAt && !again && !w.chance(25) {
		return false
	}
	w.say("the operator crashes %s", where)
	for i := range w.at {
		w.at[i] = max(0, w.at[i]-w.r.Intn(w.lag+1))
	}
	clear(w.looked)
	clear(w.wakeAt)
	return true
}

// events are what a test of every moment lets happen at one of them.
func (w *world) events() {
	for _, e := range []struct {
		at int
		do func()
	}{
		{w.deleteAt, w.deleteRestore}, {w.dropAt, w.dropCluster}, {w.acceptAt, w.accept},
		{w.vanishAt, w.vanish}, {w.wipeAt, w.wipe}, {w.pauseAt, w.pause}, {w.stickAt, w.stick}, {w.secondAt, w.second}, {w.anewAt, w.anew}, {w.certsAt, w.loseCertificates},
		{w.firstAt, w.stopFirst}, {w.policyAt, w.removePolicy}, {w.evictAt, w.evictSeeds}, {w.dieAt, w.die}, {w.updateAt, w.update},
	} {
		if e.at > 0 && e.at == w.chances {
			e.do()
			w.changed()
		}
	}
}

func (w *world) removePolicy() {
	w.say("the policy is removed that checks creators")
	w.noPolicy = true
}

// run lets things go wrong for a while, and then lets all come to rest.
func (w *world) run() {
	for range w.faults {
		w.step()
		if w.chance(4) {
			w.fault()
			w.changed()
		}
		if w.broken != "" {
			return
		}
	}
	w.calm = w.faults == 0
	for range w.quiet {
		w.step()
		if w.broken != "" {
			return
		}
	}
	w.settle()
	still := 0
	for n := 0; still < 75; n++ {
		before := w.version - w.latches
		w.step()
		if w.broken != "" {
			return
		}
		if n > 4000 {
			w.fail("it does not come to rest")
			return
		}
		still++
		if w.version-w.latches != before {
			still = 0
		}
	}
	w.checkRest()
}

// settle ends all that is wrong.
func (w *world) settle() {
	w.calm, w.settled, w.noCerts, w.busy, w.evicting = true, true, false, false, false
	w.setVersions("3.6.16")
	w.say("calm")
	w.consent()
	if w.crowded {
		w.stopFirst()
	}
	for _, c := range w.clusters {
		c.Spec.Paused = false
		w.bump(&c.ObjectMeta)
	}
	for _, p := range w.pods {
		p.stuck = p.stuck && w.dead && p.restore != "" && w.adoptions[p.restore] == 0 && !p.Deleting.IsZero()
	}
	w.changed()
}

// step is one second.
func (w *world) step() {
	w.now = w.now.Add(time.Second)
	w.kubernetes()
	w.clientsWrite()
	w.heed()
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		if w.calm || w.r.Intn(3) == 0 {
			w.etcdOperator(w.clusters[name])
		}
	}
	if w.chance(6) {
		return // the operator is slow
	}
	for range 1 + w.r.Intn(3) {
		w.deliver()
		for _, name := range slices.Sorted(maps.Keys(w.log[w.at[0]].restores)) {
			wake := w.wakeAt[name]
			if due := !wake.IsZero() && !w.now.Before(wake); due || w.looked[name] != w.sum() || w.chance(10) {
				w.looked[name] = w.sum()
				w.reconcile(name)
			}
			if w.broken != "" {
				return
			}
		}
	}
}

// sum tells whether any cache has moved.
func (w *world) sum() int {
	n := 0
	for _, at := range w.at {
		n += at
	}
	return n + 1
}

func (w *world) observe(name string) (Observation, bool) {
	cache := func(kind int) seen { return w.log[w.at[kind]] }
	r := cache(0).restores[name]
	if r == nil {
		return Observation{}, false
	}
	r = r.DeepCopy()
	live := w.picture()
	backward := r.DeletionTimestamp != nil || r.Status.Phase == v1beta2.RestoreHandedOff || r.Status.Phase == v1beta2.RestoreRollingBack
	clusters, pods, claims := cache(1).clusters, cache(2).pods, cache(3).claims
	if backward && !w.staleBackward {
		clusters, pods, claims = live.clusters, live.pods, live.claims
	}
	w.serial++
	o := Observation{Now: w.now, Restore: r, FreshName: fmt.Sprintf("%s-f%d", ClusterName(r), w.serial), Creator: creator.Check{Passed: true}}
	if w.noPolicy {
		o.Creator = creator.Check{Missing: "there is no policy"}
	}
	get := func(name string) *v1beta2.EtcdCluster {
		c := clusters[name]
		if c == nil {
			c = live.clusters[name]
		}
		return c.DeepCopy()
	}
	o.Cluster = get(ClusterName(r))
	if o.Cluster != nil && r.Status.ClusterUID != "" && string(o.Cluster.UID) != r.Status.ClusterUID {
		o.Cluster = live.clusters[ClusterName(r)].DeepCopy()
	}
	if t := TemplateName(r); t != "" {
		o.Template = get(t)
	}
	for _, other := range cache(0).restores {
		if other.UID != r.UID && ClusterName(other) == ClusterName(r) && !isOver(other.Status.Phase) {
			before := other.CreationTimestamp.Before(&r.CreationTimestamp) || (other.CreationTimestamp.Equal(&r.CreationTimestamp) && other.UID < r.UID)
			o.Others = append(o.Others, Other{Name: other.Name, UID: string(other.UID), Before: before})
		}
	}
	slices.SortFunc(o.Others, func(a, b Other) int { return strings.Compare(a.UID, b.UID) })
	j, ok := cache(4).jobs[JobName(r)]
	if !ok {
		j, ok = live.jobs[JobName(r)]
	}
	if ok && j.owner == string(r.UID) {
		if now := live.jobs[JobName(r)]; j.Done && now.UID == j.UID {
			j.Result = now.Result
		}
		o.Job = &j.Job
	}
	if o.Cluster != nil {
		w.observeParts(&o, pods, claims)
	}
	return o, true
}

func (w *world) observeParts(o *Observation, pods []simPod, claims []simClaim) {
	uid := string(o.Restore.UID)
	for _, p := range pods {
		if p.owner == string(o.Cluster.UID) {
			p.Seed = p.restore == uid
			o.Pods = append(o.Pods, p.Pod)
		}
	}
	slices.SortFunc(o.Pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range claims {
		if c.owner == string(o.Cluster.UID) && (c.by == "" || c.by == uid) {
			c.Retired = c.by == uid
			o.Claims = append(o.Claims, c.Claim)
		}
	}
	slices.SortFunc(o.Claims, func(a, b Claim) int { return strings.Compare(a.Name, b.Name) })
}

// reconcile is what the controller does, with a crash between any two effects.
func (w *world) reconcile(name string) {
	delete(w.wakeAt, name)
	o, ok := w.observe(name)
	if !ok {
		return
	}
	d := w.plan(o)
	if d.AskRevision {
		o.Asked, o.Reported = true, w.reported(&o)
		d = w.plan(o)
	}
	switch d.Action.(type) {
	case StartJob, CreateCluster, CreateSeedClaim, CreateSeed:
		if w.chance(15) {
			w.say("the API server refuses %s", d.Action.Kind())
			o.Refused = "exceeded quota"
			d = w.plan(o)
		}
	}
	if !w.truthOnly {
		for _, broken := range oracle(o, d) {
			w.fail("%s", broken)
		}
	}
	if d.Action != nil {
		w.say("%s: %s: %s", name, d.Action.Kind(), d.Message)
	}
	retry := func() { w.wakeAt[name] = w.now.Add(time.Second) }
	if w.crash("before it acts") {
		return
	}
	if w.chance(20) {
		w.say("the call of %s fails", name)
		retry()
		return
	}
	if !w.effect(&o, d.Action) {
		retry()
		return
	}
	if w.crash("after it has acted") {
		return
	}
	if !w.write(&o, &d) {
		retry()
		return
	}
	if w.crash("after it has written") {
		return
	}
	if d.RequeueAfter > 0 {
		w.wakeAt[name] = w.now.Add(d.RequeueAfter)
	}
	w.checkIdle(&o, &d)
}

// checkIdle counts the looks that come to nothing and are to be repeated at once.
func (w *world) checkIdle(o *Observation, d *Decision) {
	if d.Action != nil || !apiequality.Semantic.DeepEqual(o.Restore.Status, d.Status) {
		w.idle = 0
		return
	}
	if d.RequeueAfter > 0 && d.RequeueAfter <= next {
		w.idle++
		if w.idle > 5 {
			w.fail("a hot loop: %s: %s", d.Reason, d.Message)
		}
	}
}

// write is the one write of the status; false for a conflict or an error.
func (w *world) write(o *Observation, d *Decision) bool {
	if apiequality.Semantic.DeepEqual(o.Restore.Status, d.Status) {
		return true
	}
	r := w.restores[o.Restore.Name]
	if r == nil || r.UID != o.Restore.UID {
		return true
	}
	if r.ResourceVersion != o.Restore.ResourceVersion {
		return false
	}
	if w.chance(20) {
		w.say("the write of the status is lost")
		return false
	}
	w.checkWrite(r, d)
	if r.Status.Phase != d.Status.Phase {
		w.say("%s: %s: %s: %s", r.Name, d.Status.Phase, d.Reason, d.Message)
	}
	r.Status = *d.Status.DeepCopy()
	w.bump(&r.ObjectMeta)
	w.changed()
	return w.calm || w.r.Intn(20) > 0
}

func (w *world) checkWrite(r *v1beta2.EtcdRestore, d *Decision) {
	uid, st := string(r.UID), &d.Status
	if w.over[uid] && st.Phase != r.Status.Phase {
		w.fail("restore %s is over, and is %s", uid, st.Phase)
	}
	w.over[uid] = w.over[uid] || isOver(st.Phase)
	if st.Succeeded && w.adoptions[uid] == 0 && !r.Spec.VerifyOnly {
		w.fail("restore %s is called a success, and its seed was not adopted", uid)
	}
	if (w.badJob || w.badSeed && !w.first) && w.stopped[uid] && !w.asksFirst(uid) {
		w.fail("members were stopped for restore %s, which could not be prepared", uid)
	}
	if f := st.Failure; f != nil && r.Status.Failure == nil && isEviction(f.Reason) && w.stopped[uid] && !makesCluster(&r.Spec) {
		w.fail("restore %s is given up for an eviction, and its members are stopped", uid)
	}
	if st.Phase == v1beta2.RestoreFailed && w.adoptions[uid] > 0 && w.lives(st.ClusterUID) {
		w.fail("restore %s is called a failure, and its seed was adopted", uid)
	}
	if st.SeedUID != "" {
		if old := w.madeBy[st.SeedMember]; old != "" && old != st.SeedUID {
			w.fail("seed %s was made twice", st.SeedMember)
		}
		w.madeBy[st.SeedMember] = st.SeedUID
	}
}

// lives is true while an EtcdCluster is there that can tell of an adoption.
func (w *world) lives(uid string) bool {
	for _, c := range w.clusters {
		if string(c.UID) == uid && c.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}

// checkRest is what must hold when for a while nothing has gone wrong.
func (w *world) checkRest() {
	if w.ruined {
		return // until somebody restores it once more
	}
	for name, r := range w.restores {
		switch {
		case r.DeletionTimestamp != nil:
			w.fail("EtcdRestore %s does not go: %s", name, r.Status.Phase)
		case !isOver(r.Status.Phase):
			w.fail("EtcdRestore %s has not ended: %s, waiting for %v: %+v", name, r.Status.Phase, r.Status.WaitingFor, r.Status.Conditions)
		case slices.Contains(r.Finalizers, v1beta2.FinalizerRestore):
			w.fail("EtcdRestore %s is %s and holds the finalizer", name, r.Status.Phase)
		}
		if w.adoptions[string(r.UID)] > 0 && r.Status.Phase != v1beta2.RestoreComplete && w.lives(r.Status.ClusterUID) {
			w.fail("EtcdRestore %s is %s, and was adopted", name, r.Status.Phase)
		}
	}
	for name, c := range w.clusters {
		if c.Status.FencedBy != "" {
			w.fail("EtcdCluster %s is fenced by %s", name, c.Status.FencedBy)
		}
		if n := len(c.Status.Members.Ready); n != 3 {
			w.fail("EtcdCluster %s has %d members that serve", name, n)
		}
	}
	for _, cl := range w.claims {
		if cl.by == "" {
			continue
		}
		if w.adoptions[cl.by] == 0 {
			w.fail("claim %s was not given back by %s", cl.Name, cl.by)
		}
		for _, r := range w.restores {
			if string(r.UID) == cl.by {
				w.fail("claim %s is left", cl.Name)
			}
		}
	}
	for _, j := range w.jobs {
		if !j.Done {
			w.fail("the Job %s runs on", j.Name)
		}
	}
}

// result is what the Job finds.
func (w *world) result() *task.Result {
	switch {
	case w.badJob:
		return &task.Result{Failure: &agent.Failure{Reason: task.ReasonCorruptSnapshot, Message: corruptSnapshot, Permanent: true}}
	case w.chance(4):
		return &task.Result{Failure: &agent.Failure{Reason: agent.ReasonStalled, Message: stalled}}
	}
	return &task.Result{Snapshot: w.stored(), Cut: w.cut(w.byTime)}
}

// stored is the snapshot that lies at the source.
func (w *world) stored() *task.Snapshot {
	s := found()
	if w.empty {
		s.TotalKeys, s.Revision = 0, 1
	}
	return s
}

// target is the revision of restores as of one.
func (w *world) target() int64 {
	if w.beyond {
		return 5_000
	}
	return 20
}

// cut is what an agent tells of the revision that it restores; nil: it restores all. finds is true
// of one that was given a time.
func (w *world) cut(finds bool) *task.Cut {
	if !w.asOf || w.uncut {
		return nil
	}
	c := &task.Cut{Revision: w.target(), TotalKeys: w.stored().TotalKeys, Appended: max(w.target()-w.stored().Revision, 0)}
	if finds {
		c.Time = w.now.Add(-time.Second)
	}
	return c
}

// asksFirst is true if an EtcdRestore wants members to be stopped first.
func (w *world) asksFirst(uid string) bool {
	for _, r := range w.restores {
		if string(r.UID) == uid {
			return r.Spec.StopMembers == v1beta2.StopMembersFirst
		}
	}
	return false
}

// reported is what the members that serve tell of their revision.
func (w *world) reported(o *Observation) int64 {
	if w.silent || o.Cluster == nil || !w.busy && w.chance(4) {
		return 0
	}
	for _, p := range w.pods {
		if p.owner == string(o.Cluster.UID) && p.restore == "" && p.Deleting.IsZero() {
			return w.highest[p.owner]
		}
	}
	return 0
}

// isFenced is true for the EtcdCluster of a uid of which etcd-operator tells nothing new.
func (w *world) isFenced(uid string) bool {
	for _, c := range w.clusters {
		if string(c.UID) == uid {
			return c.Status.FencedBy != ""
		}
	}
	return false
}

// clientsWrite lets members that serve write.
func (w *world) clientsWrite() {
	for _, p := range w.pods {
		if p.restore != "" || !p.Ready {
			continue
		}
		n := int64(w.r.Intn(10_000))
		if w.busy && !w.silent && w.isFenced(p.owner) {
			n = int64(w.r.Intn(20_000_000)) // more than etcd can: preparing takes seconds here
		}
		w.highest[p.owner] += n
	}
}
