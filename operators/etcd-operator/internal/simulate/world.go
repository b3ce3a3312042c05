package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Planner is the function under test.
type Planner func(facts.Observation) plan.Decision

// epoch is the moment at which every run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clusterName is the name of the one EtcdCluster of a run.
const clusterName = "c"

// never is a moment that has not come.
const never = time.Duration(-1)

// world is the truth about everything.
type world struct {
	// rejection is what the API server permanently rejects; nil if nothing.
	rejection *rejection
	cfg       Config
	seed      uint64
	// random is sown anew for every step, so that a fault that is left out does not
	// change all that chance decides afterwards.
	random random
	calm   bool
	now    time.Duration
	step   int
	serial int // for uids
	// revision counts the changes of Pods and volumes, as Kubernetes' etcd does: no two of them have
	// the same resourceVersion, even if one replaces another of its name.
	revision int

	cluster etcdCluster
	budget  int // minAvailable of the PodDisruptionBudget; 0 for none
	nodes   []node
	pods    []*pod   // the live objects, sorted by name
	claims  []*claim // the live objects, sorted by name
	runs    []*run   // what really runs, in order of creation
	attic   []*claim // volumes that were lost and may be brought back

	// published is what watchers were last told.
	publishedPods    []pod
	publishedClaims  []claimObject
	publishedCluster etcdCluster

	// altered counts the times that data was altered, and differed are the members that a
	// comparison has truly shown to differ from a majority.
	altered  int
	differed []uint64

	// births are the clusters that were begun with `new`, in order.
	births []birth
	// hadPermits are the names that have ever been given a start permit.
	hadPermits []string
	// main is the birth that was latched; -1 before.
	main int
	// lost is the birth whose majority was lost, in whose place one of a survivor has come;
	// -1 for none. grown is true once that has come to its size.
	lost  int
	grown bool
	// lastWrite numbers the client's writes.
	lastWrite int

	operators []*operator
	restores  []*restore
	restorers []*restorer
	// manifests are those of members' Pods that users have kept.
	manifests []*pod
	// awaited is true until a restore has made the EtcdCluster that the run is about.
	awaited bool
	// acting is the shipped operator whose call is carried out, and fences counts those that
	// were acknowledged.
	acting *shipped
	fences int
	// begunAt is the revision at which the last restore that was adopted began.
	begunAt int64
	// lates are calls of operators that take effect later.
	lates   []late
	planner Planner
	// sleep lets the clock of the shipped code pass; children are its Services and budget.
	sleep    func(time.Duration)
	children map[string]client.Object
	// shared are the objects that the shipped code was given.
	shared *sharedObjects
	// childSerial is for the uids of children.
	childSerial int

	faults []Fault
	next   int     // the first of faults that is not due yet
	armed  []Fault // those that wait for a target
	// until holds, for each kind of fault that lasts, the step at which it ends.
	until [numFaults]int
	// lacking is what is wrong with the operator's credentials while LackCredentials lasts.
	lacking facts.Refusal
	// secrets are the certificates of members, and lackingCertificate is what is wrong with
	// the operator's while LackCertificates lasts.
	secrets            secrets
	lackingCertificate facts.CertificateProblem
	// tokens are those that etcd has given to a shipped operator.
	tokens map[string]*token
	// issued are the Secrets of a shipped operator.
	issued issued
	// quota is what databases may grow to, in units; 0 for no limit.
	quota int
	// nearSince is since when the database has been near it, as any operator could see, and
	// nearDisturbed is disturbed then.
	nearSince     time.Duration
	nearDisturbed int
	// learners is the ETCD_MAX_LEARNERS that the next new Pod gets.
	learners int
	// adoptAt is the step from which on the user asks for the volumes of an earlier
	// EtcdCluster; 0 if there was none.
	adoptAt int
	// bornAt is the step from which on the next EtcdCluster is there; 0 if it is.
	bornAt int
	// disturbed counts everything that changed who runs and who reaches whom: what
	// was true at an observation need not be true after it.
	disturbed int
	reachable string // what connections said last
	// majorityLost is true once a majority's disks were lost: from then on nobody
	// can promise anything about acknowledged writes.
	majorityLost bool
	// settling is true once faults have stopped: from then on operators look only when
	// a watch tells them to, or when they said that they would.
	settling bool
	// asked counts the changes that operators have asked etcd for.
	asked int
	// configured is true when a member list changed in this step.
	configured bool

	broken *broken
	stats  *Stats
	// trace collects the story, when one is to be told.
	trace *story
}

// broken is the first invariant that did not hold.
type broken struct {
	// kind is the sentence without its names and numbers: the same fault told of
	// another member has the same kind.
	invariant, kind, message string
}

// etcdCluster is the EtcdCluster as Kubernetes stores it. It is comparable.
type etcdCluster struct {
	version    int // resourceVersion
	generation int64
	size       int
	wanted     string // version
	repository string // wanted, too
	// template is what the spec says of Pods, restart counts what an annotation asks for.
	template string
	restart  int
	// askedRound and askedLeader are the annotations that ask for a round of defragmentations and
	// for another leader.
	askedRound, askedLeader string
	// rotate counts the new CAs that an annotation asks for.
	rotate int
	// current and target are the versions that are latched in the status.
	current, target string
	index           uint64
	upgradeSize     int
	// begun is when the last round of defragmentations began, repaired when the last repair
	// compacted, to a revision; never if none has.
	begun, repaired time.Duration
	compacted       int64
	// number tells this EtcdCluster from earlier ones of its name; adopt asks for the
	// volumes of those. storage and retain are of the spec, too.
	number    int
	adopt     bool
	storage   int64
	retain    bool
	paused    bool
	deleting  bool
	gone      bool            // it is not there: any more, or yet
	bootstrap facts.Bootstrap // zero: none
	clusterID uint64
	fence     facts.Fence
	// restoredBy is the restore that has made it; empty if none has.
	restoredBy string
	// survive and recover say that it may begin anew with a survivor's data, every time or
	// in place of the cluster of that id; recovery is latched, and never changed in place.
	survive  bool
	recover  uint64
	recovery *facts.Recovery
	// status is what was last reported; never changed in place.
	status *v1beta2.ClusterStatus
}

// birth is one start of etcd with `new`, or from a snapshot, and the history that it
// began.
type birth struct {
	member, uid, token string
	cluster            uint64
	// committed is what a quorum has committed: the true history.
	committed []entry
	// view is the member list after it.
	view []facts.Member
	// removed are the names of members that were taken out, removedIDs their ids.
	removed    []string
	removedIDs []uint64
	// acked is the length of the history up to the last acknowledged write;
	// writes counts those.
	acked, writes int
	// restored is true if it began with a snapshot, at that revision.
	restored bool
	revision int64
	// inherited is how much of the history of the cluster that was lost it began with, of
	// a survivor's snapshot; reseeded is true if it did.
	inherited int
	reseeded  bool
	// minor is etcd's cluster version: that which all members were seen to run.
	minor int
	// authAt is the length of the history with which authentication is enabled; 0 if it
	// is not.
	authAt int
	// downgrade is the minor that it is being lowered to, by etcd's downgrade API; 0 if it
	// is not.
	downgrade int
	// oldIndex is raft's index up to which there may be entries of etcd 3.5 in the log,
	// while the cluster version is later; 0 if there are none.
	oldIndex uint64
}

func newWorld(cfg Config, seed int64, planner Planner, faults []Fault) *world {
	w := &world{
		cfg: cfg, seed: uint64(seed), calm: cfg.Calm, planner: planner, main: -1, lost: -1,
		faults: faults, learners: cfg.Learners, stats: newStats(), quota: cfg.Quota, nearSince: never, secrets: newSecrets(),
		sleep: func(time.Duration) {}, children: map[string]client.Object{}, shared: &sharedObjects{},
	}
	w.cluster = etcdCluster{version: 1, generation: 1, size: cfg.Size, wanted: cfg.Version, repository: goodRepository, template: goodTemplate, status: &v1beta2.ClusterStatus{}, begun: never, repaired: never, storage: smallest, retain: cfg.Retain, survive: cfg.Survive}
	if cfg.BornFenced {
		w.startRestore(Fault{A: int(seed % 2), B: int(seed % 12), For: int(seed % 60)})
		w.cluster.fence.Mark, w.cluster.restoredBy = w.restores[0].uid, w.restores[0].uid
	}
	w.publishedCluster = w.cluster
	for i := range cfg.Nodes {
		w.nodes = append(w.nodes, newNode(i))
	}
	w.operators = []*operator{newOperator(w, "a")}
	w.sow()
	return w
}

// sow begins the random numbers of this step.
func (w *world) sow() { w.random = newRandom(w.seed, uint64(w.step), 7) }

// advance is one step of the run: time passes, faults happen, Kubernetes, etcd and
// the client do what they do, and the operators some of what they want to do.
func (w *world) advance() {
	w.sow()
	d := w.duration()
	w.now += d
	w.sleep(d)
	w.startFaults()
	w.landLates()
	w.tickKubernetes()
	w.tickEtcd()
	w.tickClient()
	w.tickPeople()
	w.tickRestores()
	w.publish()
	w.checkTruth()
	for _, op := range w.operators {
		w.run(op)
	}
	w.answerHashes()
	w.step++
}

// duration is how long a step takes.
func (w *world) duration() time.Duration {
	if w.calm {
		return time.Second
	}
	return pick(&w.random, 100*time.Millisecond, time.Second, time.Second, 2*time.Second, 5*time.Second, 10*time.Second)
}

// delay is a time that something takes, in steps of chance up to most.
func (w *world) delay(most time.Duration) time.Duration {
	if w.calm {
		return 0
	}
	return time.Duration(w.random.below(int(most/time.Second)+1)) * time.Second
}

// during reports whether a fault of a kind lasts.
func (w *world) during(k FaultKind) bool { return w.step < w.until[k] }

// fail records that an invariant did not hold; the first one counts.
func (w *world) fail(invariant, format string, args ...any) {
	if w.broken != nil || !w.cfg.checks(invariant) {
		return
	}
	w.broken = &broken{invariant, format, fmt.Sprintf(format, args...)}
	w.say("BROKEN %s: %s", invariant, w.broken.message)
}

// say adds a line to the story.
func (w *world) say(format string, args ...any) {
	if w.trace == nil {
		return
	}
	w.trace.add(w.step, w.now, fmt.Sprintf(format, args...))
}

func (w *world) uid() string {
	w.serial++
	return fmt.Sprintf("u%d", w.serial)
}

func (w *world) nextRevision() int {
	w.revision++
	return w.revision
}

func (w *world) pod(name string) *pod {
	for _, p := range w.pods {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (w *world) claim(name string) *claim {
	for _, c := range w.claims {
		if c.name == name {
			return c
		}
	}
	return nil
}

// runOf returns what runs for a Pod object, by uid; nil if nothing does.
func (w *world) runOf(uid string) *run {
	for _, r := range w.runs {
		if r.uid == uid {
			return r
		}
	}
	return nil
}

// insert keeps the objects sorted by name.
func insert[T any](list []T, x T, name func(T) string) []T {
	i, _ := slices.BinarySearchFunc(list, name(x), func(a T, n string) int { return strings.Compare(name(a), n) })
	return slices.Insert(list, i, x)
}
