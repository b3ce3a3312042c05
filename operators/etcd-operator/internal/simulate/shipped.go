package simulate

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/credentials"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// namespace is where the EtcdCluster is.
const namespace = "ns"

var theCluster = client.ObjectKey{Namespace: namespace, Name: clusterName}

// shipped is the code of etcd-operator that ships: the Reconciler with all that it calls, but
// for the clients of Kubernetes and of etcd, in whose place the world answers. A reconcile is
// a coroutine that stops before each of its calls to them; what happens meanwhile is the
// world's affair.
type shipped struct {
	w          *world
	op         *operator
	reconciler *controller.Reconciler
	coroutine
	// underWay is true while a reconcile is.
	underWay bool
	// blocked is false once a call under way is answered; nil while none takes time.
	blocked func() bool
	// questions are those of a comparison of data.
	questions chan question
	// looks is what was seen before.
	looks looks
	// mishap is what happens to the call before which it stands; numFaults for nothing.
	mishap FaultKind
	// likened holds the comparison of this reconcile with the model.
	likened likened
	// fenceLook is its last live look at whether the EtcdCluster is fenced; spent once it has made
	// a call that is none. calledAt is when it made the last one.
	fenceLook fenceLook
	calledAt  time.Duration
	// next is the call before which it stands; writes is true of one that changes something in
	// Kubernetes, and odd is how that takes effect; numFaults for as it should.
	next   string
	writes bool
	odd    FaultKind
	// result and err are how the last reconcile ended.
	result ctrl.Result
	err    error
}

// errEnded ends a reconcile at a call: the operator has crashed.
var errEnded = errors.New("the operator has ended")

// ship makes an operator that is the shipped code.
func (w *world) ship(op *operator, scheme *runtime.Scheme) {
	s := &shipped{w: w, op: op, mishap: numFaults, odd: numFaults, questions: make(chan question)}
	live, cached := &api{shipped: s, scheme: scheme}, &api{shipped: s, scheme: scheme, cached: true}
	members := &members{s}
	comparisons := consistency.New(members)
	s.reconciler = &controller.Reconciler{
		Client:       cached,
		Observer:     &observe.Observer{Reader: cached, Live: live, Etcd: members, DefaultVersion: w.cfg.Version},
		Plan:         s.plan,
		Actor:        &act.Actor{Client: cached, Live: live, Etcd: members, Comparisons: comparisons, LauncherImage: "operator"},
		Events:       events{s},
		Metrics:      metrics.New(prometheus.NewRegistry()),
		Comparisons:  comparisons,
		Credentials:  &credentials.Keeper{Live: live},
		Certificates: &certificates.Keeper{Client: cached, Live: live},
	}
	if w.cfg.NodesReadable {
		s.reconciler.Observer.Nodes = cached
	}
	if w.cfg.readsClasses() {
		s.reconciler.Observer.Classes = cached
	}
	op.shipped = s
}

// plan is the planner between two looks: what it is told and what it decides is checked.
func (s *shipped) plan(o facts.Observation) plan.Decision {
	if s.w.cfg.Compared && !s.likened.observed {
		s.likened.observed = true
		s.compareObservation(&o)
	}
	o.Since = s.since(o.Since)
	told := o
	if s.w.cfg.has(IgnoreDoubt) {
		told.Doubtful = nil
	}
	d := s.w.planner(told)
	s.w.stats.Decisions++
	if err := CheckDecision(o, d); err != nil {
		s.w.fail(err.Invariant, "the operator decided %s: %s", describe(d), err.Message)
	}
	if w := s.w; d.Outcome == action.QuorumLost && !w.during(LagStatus) && len(w.operators) == 1 && len(s.op.clusterQueue)+len(s.op.podQueue)+len(s.op.claimQueue) == 0 {
		w.checkQuorumLost()
	}
	if s.w.trace != nil {
		s.w.say("operator %s decides: %s (%s: %s)", s.op.id, describe(d), d.Reason, d.Message)
	}
	s.op.last, s.looks = d, looks{base: s.looks.base}
	s.op.todo.seen, s.op.todo.decision, s.op.todo.asked = o, d, nil
	if s.likened.undisturbed && len(o.Rejections) == 0 {
		s.likened.predicted, s.likened.fresh = s.predict(o, d), s.op.cluster.version == s.w.cluster.version
	}
	return d
}

// begin starts a reconcile, up to its first call.
func (s *shipped) begin() {
	s.op.todo, s.looks = &todo{disturbed: s.w.disturbed}, looks{base: s.op.cluster}
	s.likened = likened{told: map[string]facts.Answer{}, undisturbed: s.w.cfg.Compared && s.w.random.chance(30)}
	s.underWay = true
	s.reconcile = func() {
		s.result, s.err = s.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: theCluster})
	}
}

// call makes a call to the outside, before which the reconcile stops. lost is what the caller
// is told of one whose reply is lost.
func (s *shipped) call(ctx context.Context, what string, lost error, do func() error) error {
	if !s.yield(what) {
		panic(errEnded)
	}
	mishap := s.mishap
	s.mishap = numFaults
	if s.oddly(mishap) {
		mishap = numFaults
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if mishap == FailCall {
		s.w.say("operator %s: %s fails", s.op.id, what)
		return lost
	}
	if x := s.w.rejection; x != nil && (s.writes || what == "writing the status") {
		x.writes = append(x.writes, s.w.now)
	}
	if err := s.w.rejects(what); err != nil {
		return err
	}
	s.calledAt, s.w.acting = s.w.now, s
	err := s.carry(what, do)
	s.w.acting = nil
	if !isRead(what) {
		s.fenceLook.spent = true
		s.op.todo.refused = s.op.todo.refused || err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err)
	}
	if mishap == LoseReply {
		s.w.say("operator %s: the reply to %s is lost", s.op.id, what)
		return lost
	}
	return err
}

// wait lets a call under way take time, until it is done or its context has ended.
func (s *shipped) wait(ctx context.Context, what string, done func() bool) {
	s.blocked = func() bool { return !done() && ctx.Err() == nil }
	defer func() { s.blocked = nil }()
	if s.blocked() && !s.yield(what) {
		panic(errEnded)
	}
}

// runShipped lets a shipped operator go on by some of its calls.
func (w *world) runShipped(op *operator) {
	s := op.shipped
	calls := 30
	if !w.calm {
		calls = w.random.between(0, 20)
	}
	if w.cfg.TLS { // a look at the certificates takes some twenty
		calls *= 3
	}
	for ; calls > 0 && w.broken == nil && w.step >= op.deadUntil && w.step >= op.stalledUntil; calls-- {
		if !s.underWay {
			w.deliver(op)
			if !op.woken && (op.wake == never || w.now < op.wake) && (w.calm || w.settling || !w.random.chance(5)) {
				return
			}
			op.woken = false
			s.begin()
		} else if s.blocked != nil && s.blocked() {
			return
		} else if s.likened.predicted == "" {
			w.intrude(op)
			if w.meddle(op); !w.befall(op) {
				return
			}
		}
		next, more := s.resume()
		for more && s.likened.predicted != "" {
			next, more = s.resume()
		}
		if s.next = next; !more {
			s.compareEffect()
			if a := op.todo.decision.Action; a != nil && s.err == nil && !op.todo.refused {
				w.stats.Actions[action.KindOf(a)]++
			}
			s.underWay, op.todo = false, nil
			if op.wake = s.pause(); op.wake != never {
				op.wake += w.now
			}
			if s.err != nil {
				w.say("operator %s: %v", op.id, s.err)
				op.wake, op.woken = w.now, true
				op.last = plan.Decision{Outcome: action.InProgress, Reason: s.err.Error()} // that is no rest
			}
		}
		w.publish()
		w.checkTruth()
	}
}

// pause is after how long the operator looks again, without the chance by which it spreads the
// looks at idle clusters; never if only a watch is to wake it.
func (s *shipped) pause() time.Duration {
	planned, told := s.op.last.RequeueAfter, s.result.RequeueAfter
	switch {
	case told == 0:
		return never
	case planned <= told && told <= planned+planned/5+1:
		return planned
	}
	return told
}

// befall lets the fault happen that the operator's next call is to meet. It reports whether
// the operator goes on.
func (w *world) befall(op *operator) bool {
	if op.mishapIn > 0 {
		op.mishapIn--
		return true
	}
	mishap := op.mishap
	if mishap == TearCall && !op.shipped.tears() {
		return true
	}
	op.mishap = numFaults
	switch mishap {
	case TearCall:
		op.stalledUntil = w.step + 1 + w.random.below(5)
		w.disturbed++ // what happens meanwhile cannot be known
		return false
	case StallOperator:
		op.stalledUntil = w.step + 1 + w.random.below(30)
		return false
	case CrashOperator:
		w.crashOperator(op, 1+w.random.below(10))
		return false
	default:
		op.shipped.mishap = mishap
		return true
	}
}

// end ends all that has stopped before a call.
func (w *world) end() {
	for _, op := range w.operators {
		if op.shipped != nil {
			op.shipped.end()
		}
	}
	for _, s := range w.restorers {
		s.end()
	}
	w.sleep(time.Minute) // for the deadlines of what they had asked
	w.checkShared()
	for _, r := range w.runs {
		w.stopEtcd(r)
	}
}

// relist starts it anew: what it kept is lost.
func (s *shipped) relist() {
	s.end()
	s.w.ship(s.op, s.reconciler.Client.Scheme())
}

// end ends what runs of it.
func (s *shipped) end() {
	s.coroutine.end()
	s.underWay = false
	s.reconciler.Comparisons.Forget(theCluster)
}

// address is that of a Pod, by the number in its uid.
func address(uid string) string {
	n, _ := strconv.Atoi(uid[1:]) // made by world.uid
	return "10." + strconv.Itoa(n>>16&255) + "." + strconv.Itoa(n>>8&255) + "." + strconv.Itoa(n&255)
}

// runAt is what runs at the address of an endpoint; nil if nothing is heard there.
func (s *shipped) runAt(addr string) *run {
	i := slices.IndexFunc(s.w.runs, func(r *run) bool { return r.address != never && s.w.now >= r.address && address(r.uid)+":2379" == addr })
	if i < 0 || !s.w.sees(s.op, s.w.runs[i].node) {
		return nil
	}
	return s.w.runs[i]
}
