package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// disk is a data dir: on a claim, or an emptyDir. data is nil while there is no
// write-ahead log in it.
type disk struct {
	data *data
	// prepared is what a restore's agent has made beside it.
	prepared *data
	// restored is true once a snapshot was put on it.
	restored bool
	// owner is whose data the launcher has marked it to hold; nil if it has not.
	owner *launcher.Owner
	// corrupt is true while etcd can't read what is on it.
	corrupt bool
}

// run is what really runs on a node for one Pod object: its sandbox and the etcd
// container in it, with the launcher or etcd. It outlives the object on a node
// that does not hear of the object's end.
type run struct {
	name, uid string
	node      int
	persisted bool
	disk      *disk
	version   string
	template  string
	// leaf is the CA of the certificate that it shows, mounted are those that its
	// Secret tells it to trust, and trusted those that etcd has read when it started.
	leaf             int
	mounted, trusted uint64
	// issued are its certificates, of a shipped operator.
	issued [numTLS]side
	// repository is that of the image; begun is true once a container of it was started.
	repository string
	begun      bool
	learners   int
	snapshot   string
	quota      int // that of the Pod

	state containerState
	// due is when the state changes by itself.
	due      time.Duration
	failures int
	// restarts counts the starts of the container but the first, exit is how it ended
	// last, since is when it was started last. Until oomUntil, a step, it gets too
	// little memory.
	started  bool
	restarts int
	exit     facts.Exit
	since    time.Duration
	oomUntil int
	// address is when the Pod's address is published; never while it has none.
	address time.Duration
	// stopAt is when etcd has ended after a request to delete the Pod.
	stopAt time.Duration

	// used is the last attempt that this Pod's launcher used. It is kept with the
	// Pod, and recorded before etcd starts.
	used int
	// permit is what the launcher reads: the downward API lags behind the object. annotation is
	// the same as Kubernetes has it, and command the launcher's own; both are empty in a Pod of
	// which the world knows no object.
	permit     *facts.StartPermit
	annotation string
	command    []string
	// launcher is the code that ships, said what it says of itself. While it has paused
	// between two of its calls, resume lets it go on, and stop ends it there.
	launcher launcher.Launcher
	said     launcher.State
	resume   func() (launcher.Decision, bool)
	stop     func()
	// catchUp is true while etcd runs only to catch up, and is started again then.
	catchUp bool
	etcd    *process
	// unseeded is that of its Pod.
	unseeded string
	// initialised is true once the agent of a shipped restore's seed has come to its end, agent is
	// what it has reported last, tries how often it has failed, and restorePermit what the kubelet
	// has told of its permit. While fetching it is at work.
	initialised   bool
	fetching      int
	agent         string
	tries         int
	restorePermit string
}

// containerState is the state of the etcd container.
type containerState int

const (
	pulling containerState = iota // until due
	waiting                       // the launcher waits for a start permit
	running                       // etcd
	crashed                       // until due
	powered                       // down with its node
)

// startRun is a kubelet that hears of a Pod for its node.
func (w *world) startRun(p *pod) {
	var d *disk
	if p.persistent {
		c := w.claim(p.name)
		if c == nil || slices.ContainsFunc(w.runs, func(r *run) bool { return r.disk == c.disk }) {
			return // no volume, or it is still in use elsewhere
		}
		d = c.disk
	} else {
		d = &disk{}
	}
	if w.cfg.TLS && (w.during(SpoilCertificates) || !w.mountable()) {
		return // its Secrets can't be mounted
	}
	if w.during(ImageTrouble) {
		p.trouble = "ImagePullBackOff: no such host"
		return
	}
	p.trouble = ""
	r := &run{
		leaf: w.secrets.leaf, mounted: w.secrets.trusted,
		name: p.name, uid: p.uid, node: p.node, persisted: p.persistent, disk: d,
		version: p.version, repository: p.repository, template: p.template, learners: p.learners, snapshot: p.snapshot, quota: p.quota,
		state: pulling, due: w.now + w.delay(5*time.Second), address: never, stopAt: never,
	}
	if p.object != nil {
		r.command = p.object.Spec.Containers[0].Command
	}
	w.runs = append(w.runs, r)
}

// tickRun is what a kubelet and the container itself do.
func (w *world) tickRun(r *run) {
	p := w.pod(r.name)
	if p != nil && p.uid != r.uid {
		p = nil
	}
	if w.nodes[r.node].gone {
		w.dropRun(r)
		return
	}
	if !w.nodeRuns(r.node) {
		w.stopEtcd(r)
		r.state, r.permit, r.annotation, r.address = powered, nil, "", never
		r.initialised, r.fetching = false, 0 // its Pod is set up anew
		return
	}
	if w.kubeletTalks(r.node) {
		if p == nil {
			w.dropRun(r)
			return
		}
		if p.deleting != never && r.stopAt == never {
			r.stopAt = w.now + stopTime
		}
		if r.stopAt != never && w.now >= r.stopAt {
			w.dropRun(r)
			w.dropPod(p)
			return
		}
		w.mount(r)
		w.changeImage(r, p)
		w.reportRun(r, p)
	}
	switch r.state {
	case pulling, crashed, powered:
		if w.now >= r.due && !w.unpullable(r) {
			w.startContainer(r)
		}
	case waiting:
		w.launch(r)
	}
}

// reportRun is how a kubelet tells of the Pod's state, and lets the container know
// of the Pod's annotations.
func (w *world) reportRun(r *run, p *pod) {
	if r.address == never && r.state != powered {
		longest := 5 * time.Second
		if w.during(SlowAddress) {
			longest = 60 * time.Second
		}
		r.address = w.now + w.delay(longest)
	}
	p.ip = r.address != never
	p.addressed = p.ip && w.now >= r.address
	p.trouble = ""
	switch {
	case w.unpullable(r):
		p.trouble = "ImagePullBackOff: not found"
	case r.state == crashed && r.failures > 1:
		p.trouble = "CrashLoopBackOff: back-off restarting failed container"
	}
	p.unseeded, p.prepared, p.agent, p.tries = r.unseeded, r.initialised, r.agent, r.tries
	p.restarts, p.exit, p.looping, p.runningSince = r.restarts, r.exit, r.state == crashed && r.failures > 1, never
	if r.state == running || r.state == waiting {
		p.runningSince = r.since
	}
	switch {
	case r.unseeded != "":
		p.container = 0
	case r.started:
		p.container = r.restarts + 1
	}
	if r.begun && r.unseeded == "" && r.version == p.version && r.repository == p.repository {
		p.from = ""
	}
	if ready := w.ready(p); ready != p.ready {
		p.ready, p.readyAt = ready, w.now
	}
	if w.calm || w.random.chance(70) {
		r.permit = p.permit
		if p.object != nil {
			r.annotation = p.object.Annotations[launcher.StartPermitAnnotation]
			r.restorePermit = p.object.Annotations[v1beta2.AnnotationRestorePermit]
		}
	}
}

// startContainer is the launcher as it starts: with a log it needs nobody's permit.
func (w *world) startContainer(r *run) {
	if r.snapshot != "" && w.ships() && !w.prepareSeed(r) {
		return
	}
	r.catchUp, r.begun, r.since = false, true, w.now
	if r.started {
		r.restarts++
	}
	r.started = true
	if crashes(r.version) || strings.HasPrefix(r.template, crashingTemplate) {
		w.fault(r)
		return
	}
	switch {
	case r.snapshot == "":
	case w.ships():
	case r.disk.data == nil && !r.disk.restored:
		w.restoreData(r)
	}
	if p := w.pod(r.name); p != nil && p.uid == r.uid && p.recovery != nil && p.survivorPermit && r.disk.data == nil {
		why := w.takeSnapshot(r, p.recovery)
		if r.unseeded = why; why != "" {
			w.say("%s gets no snapshot: %s", r.name, why)
			w.crash(r)
			return
		}
	}
	r.state, r.said, r.launcher = waiting, launcher.State{}, launcher.New(w.launcherOptions(r))
	w.launch(r)
}

// constantFlags is a start permit that names whoever is a member now.
func (w *world) constantFlags() *facts.StartPermit {
	if w.main < 0 {
		return nil
	}
	g := facts.StartPermit{Attempt: w.serial}
	for _, m := range w.births[w.main].view {
		g.Members = append(g.Members, m.Name)
	}
	slices.Sort(g.Members)
	return &g
}

// exec is etcd as the launcher starts it.
func (w *world) exec(r *run, decision launcher.Decision) {
	w.loadCAs(r)
	if d := r.disk.data; d != nil {
		if why := w.versionRefused(r, d.birth); why != "" {
			w.say("%s refuses to start: %s", r.name, why)
			w.fault(r)
			return
		}
		if why := w.endsAtOnce(r); why != (facts.Exit{}) {
			w.crash(r)
			r.exit = why
			return
		}
		w.startEtcd(r)
		return
	}
	g := flagsOf(decision)
	if g.New {
		w.beginCluster(r, g)
		return
	}
	if why := w.join(r, g); why != "" {
		w.say("%s refuses to start: %s", r.name, why)
		w.fault(r)
	}
}

// beginCluster is etcd with `new`: it makes a cluster of one, whose ids follow from
// the token and the name.
func (w *world) beginCluster(r *run, g *facts.StartPermit) {
	w.checkBirth(r, g)
	id := hash(r.name, g.Token)
	b := birth{member: r.name, uid: r.uid, token: g.Token, cluster: hash(r.name, g.Token, "cluster"), minor: minorOf(r.version)}
	w.births = append(w.births, b)
	d := &data{birth: len(w.births) - 1, cluster: b.cluster, id: id, name: r.name}
	d.log = []entry{w.entry(entry{kind: addVoter, id: id, name: r.name, term: 1}, nil)}
	d.term, d.committed, d.told, d.stored = 1, 1, b.minor, b.minor
	r.disk.data = d
	w.say("%s begins cluster %x with token %s", r.name, b.cluster, g.Token)
	w.startEtcd(r)
	w.checkHistory(d)
	w.apply(r)
}

// join is etcd with `existing` and without a log. It asks the members that it is
// told of for their list, and starts only if that names exactly those. It returns
// why it does not.
func (w *world) join(r *run, g *facts.StartPermit) string {
	if !w.addressed(r) {
		return "its own name can't be looked up"
	}
	var from *run
	start := w.random.below(len(w.runs))
	for i := range w.runs {
		q := w.runs[(start+i)%len(w.runs)]
		if q != r && q.etcd != nil && slices.Contains(g.Members, q.name) && w.reaches(r, q) && len(q.disk.data.view) > 0 {
			from = q
			break
		}
	}
	if from == nil {
		return "no member answers"
	}
	var self *facts.Member
	learners := 0
	for i, m := range from.disk.data.view {
		if m.Name == r.name {
			self = &from.disk.data.view[i]
		}
		if m.Learner {
			learners++
		}
	}
	if !w.isListed(r, from.disk.data.view, g) || self == nil {
		return "the member list differs from the one that it was told"
	}
	if learners > learnerLimit(r) {
		return "too many learners"
	}
	if why := w.versionRefused(r, from.disk.data.birth); why != "" {
		return why
	}
	b := &w.births[from.disk.data.birth]
	if b.downgrade > 0 && minorOf(r.version)+1 != b.minor {
		return "the cluster is being downgraded"
	}
	w.checkJoin(r, from.disk.data.birth, *self)
	r.disk.data = &data{birth: from.disk.data.birth, cluster: from.disk.data.cluster, id: self.ID, name: r.name, told: b.minor, stored: b.minor}
	r.catchUp = g.CatchUp
	w.say("%s joins%s", r.name, beside(from.disk.data.view))
	w.startEtcd(r)
	return ""
}

// besideSeveralURLs describes a joiner while another member has several peer URLs.
const besideSeveralURLs = " beside a member with several peer URLs"

func beside(list []facts.Member) string {
	if slices.ContainsFunc(list, func(m facts.Member) bool { return strings.Contains(m.At, ",") }) {
		return besideSeveralURLs
	}
	return ""
}

// isListed reports whether the initial cluster of a joining etcd has exactly the members in a list. etcd
// compares the peer URLs (ValidateClusterAndAssignIDs). In the model, members have only names.
func (w *world) isListed(r *run, list []facts.Member, g *facts.StartPermit) bool {
	told := slices.Clone(g.Members)
	if r.command != nil {
		told = nil
		for _, m := range g.Elsewhere {
			told = append(told, m.At)
		}
	}
	var listed []string
	for _, m := range list {
		if r.command == nil {
			listed = append(listed, m.Name)
			continue
		}
		listed = append(listed, cmp.Or(m.At, w.peerURL(m.Name)))
	}
	slices.Sort(told)
	slices.Sort(listed)
	return slices.Equal(told, listed)
}

// crash ends the container; its kubelet starts it again after a while.
func (w *world) crash(r *run) {
	w.stopEtcd(r)
	r.failures++
	r.state, r.exit = crashed, killedExit
	r.due = w.now + min(longestBackoff, time.Second<<min(r.failures, 6)) + w.delay(2*time.Second)
}

func (w *world) startEtcd(r *run) {
	r.state = running
	w.loadCAs(r)
	w.replay(r)
	r.etcd = &process{since: w.now}
	w.disturbed++
}

// stopEtcd ends what runs in the container: etcd, or the launcher.
func (w *world) stopEtcd(r *run) {
	if r.stop != nil {
		r.stop()
		r.resume, r.stop = nil, nil
	}
	if r.etcd == nil {
		return
	}
	r.etcd = nil
	w.disturbed++
}
