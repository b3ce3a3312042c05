// Package controller is the loop of etcd-operator: one reconcile observes an
// EtcdCluster, plans one step, carries it out and reports (packages observe, plan, act
// and report). What it keeps between reconciles spares requests, and may be lost at any
// moment.
//
// Reconciles are driven by watches. A timer looks after what no watch reports: an
// etcd that starts or catches up; and it is the slow fallback of an idle cluster.
package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/credentials"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/growth"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/operator"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

const (
	// refusalDelay is the pause before the retry of a change that etcd refused for now. It is short because
	// etcd's checks look back 5 s, and every member that is added waits for one.
	refusalDelay = 250 * time.Millisecond
	// refusalDelayLasting is the pause once etcd has refused for refusalGrace. Such a refusal has a cause that
	// can last, for example a voter that crashes until the user replaces it.
	refusalDelayLasting = 20 * time.Second
	refusalGrace        = 15 * time.Second
)

// Reconciler looks after the EtcdClusters of its scope.
type Reconciler struct {
	// Client reads from caches.
	Client   client.Client
	Observer *observe.Observer
	// Plan decides; nil: plan.Plan.
	Plan    func(facts.Observation) plan.Decision
	Actor   *act.Actor
	Events  events.EventRecorder
	Metrics *metrics.Metrics
	// Comparisons are those of members' data.
	Comparisons *consistency.Keeper
	// Credentials are for clusters on which etcd's authentication is enabled.
	Credentials *credentials.Keeper
	// Certificates are for clusters with TLS.
	Certificates *certificates.Keeper
	// ClusterWide operators look after the EtcdClusters that are annotated with
	// that scope, others after those that are not.
	ClusterWide bool

	// begun is when this operator began to work.
	begun time.Time
	once  sync.Once
	// unsure holds, for each cluster, when one of our calls ended last of which
	// nobody knows whether it took effect.
	unsure sync.Map
	// stale counts the passes in a row that were stale.
	stale staleness
	// refused counts the passes in a row whose change etcd refused for now.
	refused staleness
	// replaced is, for each cluster, the resource version that the last write of its status
	// has replaced.
	replaced sync.Map
	// growth is how full the databases were.
	growth growth.Keeper
	// sightings contains the times at which the operator first saw the states that other machines date.
	sightings sighting.Memory
	// rejections holds what the API server has refused of each cluster.
	rejections rejections
}

// Reconcile takes the next step for one EtcdCluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	begun := time.Now()
	var c v1beta2.EtcdCluster
	if err := r.Client.Get(ctx, req.NamespacedName, &c); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.unsure.Delete(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read EtcdCluster: %w", err)
	}
	if !operator.InScope(&c, r.ClusterWide) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if was, ok := r.replaced.Load(req.NamespacedName); ok && was == c.ResourceVersion {
		return r.next(ctx, req.NamespacedName, plan.Decision{}, fmt.Errorf("%w: the cache does not show the status that was written last", act.ErrStale))
	}
	shown, err := r.keepCertificates(ctx, &c)
	if err != nil {
		return r.next(ctx, req.NamespacedName, plan.Decision{}, fmt.Errorf("certificates: %w", err))
	}
	ctx = etcdclient.By(etcdclient.As(ctx, r.Credentials.Of(&c)), shown.Config)
	obs, err := r.Observer.Observe(ctx, &c, shown.TLS)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	correct(&r.sightings, req.NamespacedName, &obs)
	obs.Since = r.since(req.NamespacedName)
	obs.Growth = r.growth.Note(req.NamespacedName, &obs)
	obs.Rejections = r.rejections.seen(&c, obs.Pods)
	obs.Comparison = r.Comparisons.Of(req.NamespacedName, c.UID)
	d := r.plan(obs)
	if d.NamesBackups {
		r.Observer.Backups(ctx, &c, &obs)
		d = r.plan(obs)
	}
	status, err := r.carryOut(ctx, &c, &obs, d)
	if len(r.rejections.of(&c)) < len(obs.Rejections) { // the status still reports what was accepted
		d.RequeueAfter = min(d.RequeueAfter, staleDelay)
	}
	r.Metrics.Observe(req.NamespacedName, &status, !c.DeletionTimestamp.IsZero(), time.Since(begun))
	r.Metrics.ComparisonDue(req.NamespacedName, obs.Cluster.ComparisonDue())
	r.Metrics.Members(req.NamespacedName, report.Members(&obs))
	return r.next(ctx, req.NamespacedName, d, err)
}

// forget drops the memory of an EtcdCluster that no longer exists or has left the operator's scope: it would be
// outdated if the EtcdCluster came back. It keeps the time at which the last call with an unknown effect ended,
// because that effect might still happen.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.Metrics.Forget(key)
	r.Comparisons.Forget(key)
	r.stale.clear(key)
	r.refused.clear(key)
	r.replaced.Delete(key)
	r.growth.Forget(key)
	r.sightings.Forget(key)
	r.rejections.forget(key)
	r.Credentials.Forget(key)
	r.Certificates.Forget(key)
}

func (r *Reconciler) reporter() report.Reporter { return report.Reporter{Events: r.Events} }

func (r *Reconciler) plan(o facts.Observation) plan.Decision {
	if r.Plan != nil {
		return r.Plan(o)
	}
	return plan.Plan(o)
}

// begin notes when this operator has begun to work: those before it have ended.
func (r *Reconciler) begin() { r.once.Do(func() { r.begun = time.Now() }) }

// since is the moment before which effects on a cluster may have been begun that nobody
// knows the end of (plan.Observation.Since).
func (r *Reconciler) since(key client.ObjectKey) time.Time {
	r.begin()
	if at, ok := r.unsure.Load(key); ok && at.(time.Time).After(r.begun) {
		return at.(time.Time)
	}
	return r.begun
}

// doubt records an effect that might still happen: it was not held back, and neither Kubernetes nor etcd has
// rejected it. A late write of the status cannot happen, because it fails with a conflict after any other
// write.
func (r *Reconciler) doubt(c *v1beta2.EtcdCluster, err error) {
	rejected, isRejected := errors.AsType[*act.RejectedError](err)
	switch {
	case err == nil, isRejected && !rejected.Uncertain:
		return
	case isRejected: // whatever else has failed
	case errors.Is(err, act.ErrStale), refused(err), errors.Is(err, etcdclient.ErrUnauthorized), apierrors.IsConflict(err):
		return
	}
	r.unsure.Store(client.ObjectKeyFromObject(c), time.Now())
}

// carryOut does what was decided, and says so: in the order children, action,
// status, event. It returns the status as it then is.
func (r *Reconciler) carryOut(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, d plan.Decision) (v1beta2.ClusterStatus, error) {
	if !d.SkipChildren {
		err := r.Actor.Children(ctx, c, d.Budget, d.ChildrenHeldBack...)
		r.doubt(c, err)
		accepted := r.rememberChildren(ctx, c, d, err)
		if outdated := act.OutdatedChild(c, err); outdated != nil {
			return r.holdBackStale(ctx, c, obs, d, err, outdated)
		}
		if err != nil {
			return c.Status, err // the next pass tells of a refusal
		}
		if accepted { // the status says so at once
			obs.Rejections = r.rejections.of(c)
			d = r.plan(*obs)
		}
	}
	var failed error
	if d.Outcome == action.QuorumLost && d.Action == nil {
		failed = r.Actor.NoneUnseen(ctx, c, obs)
		if errors.Is(failed, act.ErrStale) {
			status, _ := r.reportStale(ctx, c, obs, d, failed)
			return status, failed
		}
	}
	if d.Action != nil {
		failed = r.Actor.Act(ctx, c, obs, d.Action)
		r.doubt(c, failed)
		r.Metrics.Acted(action.KindOf(d.Action), result(failed))
		if isStale(failed) {
			return r.holdBackStale(ctx, c, obs, d, failed, act.Outdated(c, d.Action, failed))
		}
		if r.remember(ctx, c, d.Action, failed) {
			return c.Status, failed // the next pass knows of it, and says so
		}
	}
	if failed != nil {
		d.Status = plan.Failed(*obs, failed, refused(failed))
	}
	status, err := c.Status, error(nil)
	written := !r.rejections.isHeldBack(c, facts.Rejection{Kind: facts.WritingStatus}) && (failed == nil || !action.Records(d.Action))
	if written {
		status, err = r.report(ctx, c, d)
		written = err == nil
	}
	if written {
		r.reporter().TellCertificates(ctx, c, &status, &obs.Cluster.TLS, &d)
		r.reporter().TellChanges(ctx, c, &status, &d)
	}
	// What was done is told, whatever becomes of the status.
	if failed == nil && (written || (d.Action != nil && !action.Records(d.Action))) {
		r.reporter().TellStep(ctx, c, d)
	}
	return status, errors.Join(failed, err)
}

// report writes the status of a decision, and returns it as it then is. Until the cache
// shows what was written, no pass goes on: it would leave the status as it is where it
// decides what the status said before, and nothing would wake the operator.
func (r *Reconciler) report(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision) (v1beta2.ClusterStatus, error) {
	now, err := r.Actor.Report(ctx, c, d)
	if apierrors.IsConflict(err) && r.isConflictLasting(c) {
		err = act.OutdatedStatus(c, err)
	}
	if refused, ok := errors.AsType[*act.RejectedError](err); ok {
		r.rejections.set(c, r.tellRejections(ctx, c, r.rejections.of(c), refused.Rejections))
	}
	if err == nil {
		r.rejections.accept(c, facts.Rejection{Kind: facts.WritingStatus})
	}
	if now.ResourceVersion != c.ResourceVersion {
		r.replaced.Store(client.ObjectKeyFromObject(c), c.ResourceVersion)
	}
	return now.Status, err
}

// after returns the time of the next pass after one that was not stale.
func (r *Reconciler) after(ctx context.Context, key client.ObjectKey, d plan.Decision, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		// Spread out, so that many idle clusters are not asked at once.
		return ctrl.Result{RequeueAfter: d.RequeueAfter + rand.N(d.RequeueAfter/5+1)}, nil
	case isRejected(err):
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	case refused(err):
		delay := refusalDelay
		if r.refused.age(key, time.Now()) >= refusalGrace {
			delay = refusalDelayLasting
		}
		log.FromContext(ctx).V(1).Info("waiting for etcd", "because", err.Error(), "after", delay)
		return ctrl.Result{RequeueAfter: delay}, nil
	}
	return ctrl.Result{}, err
}

// refused reports whether etcd asks to wait with a change. That is how it keeps a
// cluster safe that has just changed, and no error (S9).
func refused(err error) bool {
	for _, wait := range []error{
		etcdclient.ErrUnhealthy, etcdclient.ErrNotEnoughStarted, etcdclient.ErrLearnerNotReady,
		etcdclient.ErrTooManyLearners, etcdclient.ErrNoLeader, etcdclient.ErrNotLeader, etcdclient.ErrBadTransferee,
	} {
		if errors.Is(err, wait) {
			return true
		}
	}
	return false
}

// result is how an action ended, as metrics tell it.
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, act.ErrStale):
		return "stale"
	case refused(err):
		return "refused"
	}
	return "error"
}
