package simulate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// operator is one running operator: its caches, and what it is about to do.
type operator struct {
	id string
	// Caches. The queues hold what watches have told and the caches do not show
	// yet.
	cluster      etcdCluster
	pods         []pod
	claims       []claimObject
	clusterQueue []etcdCluster
	podQueue     []podEvent
	claimQueue   []claimEvent

	// cannotReach are the nodes whose Pods it does not reach, until cutOffUntil.
	cannotReach func(node int) bool
	cutOffUntil int
	// deadUntil and stalledUntil are steps: it is down, or stands still in the
	// middle of what it was doing.
	deadUntil, stalledUntil int

	// version is the resourceVersion of the EtcdCluster that it observed last.
	version int
	// names counts the fresh names that it has used.
	names int
	// rejections are what the API server has refused, as package controller remembers it.
	rejections []facts.Rejection
	// orphans are the volumes that it has made for Pods which were refused, and are not there yet.
	orphans []string
	// todo is what it is carrying out; nil if nothing.
	todo *todo
	// wake is when it looks again, and woken is true when a watch told something.
	wake  time.Duration
	woken bool
	// last is its last decision.
	last plan.Decision
	// since is when it was started, or one of its calls was not answered.
	since time.Duration
	// dead is true until it has started again after a crash.
	dead bool
	// mishap is what happens to one of its next API calls, after mishapIn more;
	// numFaults for nothing.
	mishap   FaultKind
	mishapIn int
	// half is an Observation for which half of the members have been asked; the
	// others are asked in a later step.
	half *facts.Observation
	// reading is the comparison of data that it has begun last; nil if none.
	reading *reading
	// asked are the Pods of the last Observation.
	asked []pod
	// disturbed is world.disturbed when it began to observe.
	disturbed int
	// shipped is the code that ships, in the place of the model of it; nil if it is the model.
	shipped *shipped
}

// todo is a decision that is being carried out, one API call at a time.
type todo struct {
	seen     facts.Observation
	decision plan.Decision
	next     int // number of the next call
	// torn makes it stand still between the last look and the change that it is the
	// precondition of; looked is true when it has.
	torn, looked bool
	// refused is true once a part of it was refused: by the API server, or by etcd in the shipped
	// code's.
	refused bool
	// sent is true of a call that takes effect later: it was looked before.
	sent      bool
	disturbed int // world.disturbed at the observation
	// asked is what was so when the shipped code asked the members last, right before an effect;
	// nil if it has not, or of the model.
	asked *asked
	// marked is when it was written on a Pod what is to be done to it.
	marked time.Duration
}

// asked is the true member list, and whether a quorum of it had its data; who had been removed
// from it, and the number of the EtcdCluster.
type asked struct {
	at      time.Duration
	view    []facts.Member
	removed []string
	intact  bool
	number  int
	// whole are the ids of voters that answered and had their data; without those whose Pods were
	// gone when Pods were listed after that.
	whole []uint64
}

// seesPods is a list of all Pods after the members were asked.
func (a *asked) seesPods(w *world) {
	if a == nil {
		return
	}
	a.whole = slices.DeleteFunc(slices.Clone(a.whole), func(id uint64) bool {
		m := findMember(a.view, id)
		return !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.name == m.Name && !p.finished })
	})
}

// askedBefore is what was so when the shipped code asked the members for the effect that it is
// about to have; nil if it has not within the deadline of an action.
func (w *world) askedBefore(t *todo) *asked {
	if t.asked == nil || w.acting == nil || w.acting.calledAt-t.asked.at > actionTime {
		return nil
	}
	return t.asked
}

func newOperator(w *world, id string) *operator {
	op := &operator{id: id, mishap: numFaults}
	op.relist(w)
	return op
}

// run lets an operator do some of what it wants to do: look and decide, or make the
// next API calls of what it has decided.
func (w *world) run(op *operator) {
	if w.step < op.deadUntil || w.step < op.stalledUntil {
		return
	}
	if op.dead {
		op.relist(w)
		op.dead = false
	}
	if op.shipped != nil {
		w.runShipped(op)
		return
	}
	calls := 8
	if !w.calm {
		calls = w.random.between(0, 6)
	}
	for ; calls > 0 && w.broken == nil && w.step >= op.deadUntil && w.step >= op.stalledUntil; calls-- {
		if op.todo == nil {
			w.deliver(op)
			if op.half == nil && !op.woken && w.now < op.wake && (w.calm || w.settling || !w.random.chance(5)) {
				return
			}
			w.reconcile(op)
			if op.todo == nil {
				return
			}
			continue
		}
		w.call(op)
		w.publish()
		w.checkTruth()
	}
}

// reconcile observes and decides. While SlowAnswers lasts some members answer a step
// later than the others, as they may within one deadline.
func (w *world) reconcile(op *operator) {
	if op.half != nil {
		o := *op.half
		op.half = nil
		w.ask(op, &o, len(o.Pods)/2, len(o.Pods))
		w.decide(op, o)
		return
	}
	w.keepCertificates()
	op.disturbed = w.disturbed
	o, refs := w.observe(op)
	op.asked = refs
	if w.during(SlowAnswers) && w.random.chance(50) {
		w.ask(op, &o, 0, len(o.Pods)/2)
		op.half = &o
		return
	}
	w.ask(op, &o, 0, len(o.Pods))
	w.decide(op, o)
}

func (w *world) decide(op *operator, o facts.Observation) {
	d := w.planner(o)
	w.stats.Decisions++
	if err := CheckDecision(o, d); err != nil && w.broken == nil && !w.cfg.TruthOnly {
		w.fail(err.Invariant, "operator %s decided %s: %s", op.id, describe(d), err.Message)
		if w.broken != nil {
			w.broken.kind = err.Kind
		}
	}
	// While the status lags, or is written by two, what it says of the voters may be old.
	if d.Outcome == action.QuorumLost && !w.during(SlowAnswers) && !w.during(LagStatus) && len(w.operators) == 1 && len(op.clusterQueue)+len(op.podQueue)+len(op.claimQueue) == 0 {
		w.checkQuorumLost()
	}
	op.last, op.woken = d, false
	op.wake = w.now + d.RequeueAfter
	if d.Action == nil {
		if !d.SkipChildren && w.setBudget(&o.Cluster, d.Budget) != nil {
			return
		}
		if w.trace != nil {
			w.say("operator %s waits: %s: %s", op.id, d.Reason, d.Message)
		}
		w.report(op)
		return
	}
	if w.trace != nil {
		w.say("operator %s decides: %s (%s: %s)", op.id, describe(d), d.Reason, d.Message)
	}
	if c, ok := d.Action.(action.CreatePods); ok && len(c.Pods) > 0 {
		op.names += v1beta2.MaxSize
	}
	switch d.Action.(type) {
	case action.RecordBootstrap, action.RecordSurvivor:
		op.names += v1beta2.MaxSize
	default: // no other takes fresh names
	}
	op.todo = &todo{seen: o, decision: d, disturbed: op.disturbed}
}

// report writes the status that the last decision implies, if it is another one.
func (w *world) report(op *operator) {
	st := op.last.Status
	if op.version != w.cluster.version || reflect.DeepEqual(st, *w.cluster.status) {
		return
	}
	w.cluster.status = &st
	w.cluster.version++
}

// observe is what the operator gathers from its caches, and the Pods whose members
// it is to ask.
func (w *world) observe(op *operator) (facts.Observation, []pod) {
	c := &op.cluster
	op.version = c.version
	o := facts.Observation{
		Now: epoch.Add(w.now), Since: epoch.Add(op.since),
		Cluster: facts.Cluster{
			Name: clusterName, Generation: c.generation, Deleting: c.deleting, Paused: c.paused, Size: c.size, PeerURLFormat: "http://%s.c.ns.svc:2380",
			Version: cmp.Or(c.current, c.wanted), Target: c.target, UpgradeSize: c.upgradeSize, VersionIndex: c.index, WantedVersion: c.wanted, Repository: c.repository, Template: c.wantedTemplate(), Persistent: w.cfg.Persistent,
			MemberTimeout: w.cfg.MemberTimeout, DisruptionBudget: w.cfg.DisruptionBudget,
			Maintenance: w.maintenance(c), Consistency: w.consistency(c),
			LastStatus: *c.status, ClusterID: c.clusterID, Existed: w.cfg.Existed, Fence: c.fence,
			Retain: c.retain, VersionGiven: true,
			Survive: c.survive, Recovery: c.recovery, TLS: w.certificates(),
		},
		Pods:       make([]facts.Pod, 0, len(op.pods)),
		FreshToken: op.id + strconv.Itoa(op.names),
	}
	o.Comparison = w.comparison(op)
	if c.recover != 0 {
		o.Cluster.Recover = fmt.Sprintf("%016x", c.recover)
	}
	if since := c.status.QuorumLostSince; since != nil {
		o.Cluster.QuorumLostSince = since.Time
	}
	if c.bootstrap.Member != "" {
		b := c.bootstrap
		o.Cluster.Bootstrap = &b
	}
	if w.cfg.Persistent {
		o.Cluster.Storage = c.storage
	}
	if c.adopt {
		o.Cluster.AdoptVolumes = v1beta2.AdoptAny
	}
	if w.during(NameConflict) {
		o.Conflicts = []string{"Service " + clusterName + " of somebody else"}
	}
	asked := make([]pod, 0, len(op.pods))
	for i := range op.pods {
		switch p := &op.pods[i]; {
		case p.owner == c.number:
			asked = append(asked, *p)
			o.Pods = append(o.Pods, w.observePod(p))
		case p.deleting != never || p.finished:
		case c.bootstrap.Member == "" && c.clusterID == 0:
			o.Conflicts = append(o.Conflicts, "Pod "+p.name+" (of EtcdCluster "+clusterName+")")
			o.OrphansInTheWay = true
		default:
			o.Orphans = append(o.Orphans, p.name+" (of EtcdCluster "+clusterName+")")
		}
	}
	op.rejections = facts.AcceptPods(op.rejections, o.Pods)
	o.Rejections = op.rejections
	for _, c := range op.claims {
		if c.retired == "" {
			w.observeClaim(&o, &op.cluster, &c)
		}
	}
	if o.Cluster.Bootstrap != nil || o.Cluster.ClusterID != 0 {
		o.Cluster.Existed = "" // once it has begun, nothing else tells whether it has
	}
	for i := range v1beta2.MaxSize {
		o.FreshNames = append(o.FreshNames, clusterName+"-"+op.id+strconv.Itoa(op.names+i))
	}
	return o, asked
}

// ask lets the members of some of the Pods speak for themselves, now.
func (w *world) ask(op *operator, o *facts.Observation, from, to int) {
	for i := from; i < to && !o.Cluster.TLS.NoClientCertificate; i++ {
		p := &op.asked[i]
		r := w.runOf(p.uid)
		switch {
		case r != nil && p.ip && w.sees(op, r.node):
			o.Pods[i].Answer = w.answer(r)
		case p.ip && (r == nil || !w.nodeRuns(r.node)):
			o.Pods[i].Answer = w.answerAt(op, p)
		}
	}
}

// answerAt is what is heard at the address of a Pod that does not run any more: nothing, or
// another Pod that has got it meanwhile. Whoever answers says who it is, but for learners.
func (w *world) answerAt(op *operator, p *pod) facts.Answer {
	for _, q := range w.runs {
		if q.address == never || w.now < q.address || hash(p.uid, q.uid)%2 != 0 || !w.sees(op, q.node) {
			continue
		}
		a := w.answer(q)
		if a.Waiting || len(a.Members) > 0 {
			return facts.Answer{Blocked: q.name + " answers at its address"}
		}
		return a
	}
	return facts.Answer{}
}

// sees reports whether an operator reaches the Pods of a node.
func (w *world) sees(op *operator, node int) bool {
	if !w.nodeRuns(node) || w.step < w.nodes[node].cut {
		return false
	}
	return w.step >= op.cutOffUntil || !op.cannotReach(node)
}

// answers reports whether etcd says something of itself.
func (w *world) answers(r *run) bool {
	return r.etcd != nil && r.etcd.serves && (!w.busy(r) || hash(r.name)%2 != 0)
}

// answer is what a member says of itself.
func (w *world) answer(r *run) facts.Answer {
	if r.state == waiting && r.said.State == "" {
		return facts.Answer{} // it has not looked yet
	}
	if r.state == waiting && r.said.State == launcher.Refusing {
		return facts.Answer{Blocked: "its launcher does not start etcd"}
	}
	if r.state == waiting {
		return facts.Answer{Waiting: true, Attempt: int(r.said.Attempt), Identified: true, Waited: time.Duration(r.said.WaitedSeconds * float64(time.Second))}
	}
	if !w.answers(r) {
		return facts.Answer{}
	}
	read := w.readable(r)
	if r.etcd == nil {
		return facts.Answer{}
	}
	d := r.disk.data
	a := facts.Answer{
		Reached: true, ClusterID: d.cluster, MemberID: d.id, Leader: r.etcd.leader, Term: d.term,
		Version: r.version, ClusterVersion: firstOf(max(d.told, w.births[d.birth].minor)), StorageVersion: storageVersion(r),
		Downgrade: downgradeTold(&w.births[d.birth]), Read: read, Learner: !isVoter(d.view, d.id),
	}
	if d.applied > 0 {
		a.Applied = d.log[d.applied-1].index
		a.Revision = w.births[d.birth].revision + int64(a.Applied)
	}
	if d.committed > 0 {
		a.Committed = d.log[d.committed-1].index
	}
	if a.Leader == 0 {
		a.Errors = append(a.Errors, "etcdserver: no leader")
	}
	a.Alarms = d.alarms
	a.DBSize, a.DBSizeInUse, a.Quota = int64(d.size)*unit, int64(d.inUse)*unit, int64(w.quotaOf(r))*unit
	if a.Learner {
		a.Read = false // it does not tell the member list
	} else {
		a.Members = d.view
	}
	a.Write = w.write(r, read)
	return w.authenticated(r, a)
}
