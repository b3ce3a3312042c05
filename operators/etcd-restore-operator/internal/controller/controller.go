// Package controller is the loop of etcd-restore-operator: one reconcile observes an
// EtcdRestore with its Job, its EtcdCluster and the Pods and volumes of that, plans one
// step, carries it out and reports (packages observe, plan, act and report). It keeps
// nothing between reconciles but what metrics count.
//
// Reconciles are driven by watches of EtcdRestores, Jobs, Pods, volumes, EtcdClusters
// and EtcdBackups, and by the clock while the agent tells its progress.
package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// deadline bounds what one reconcile asks of the API server.
const deadline = 30 * time.Second

// Reconciler reconciles the EtcdRestores of its scope.
type Reconciler struct {
	// Client reads from caches.
	Client client.Client
	// Live reads from the API server itself.
	Live    client.Reader
	Events  events.EventRecorder
	Metrics *metrics.Metrics
	// Images are those that the Job and the seed run.
	Images build.Images
	// ClusterWide operators reconcile the EtcdRestores that are annotated with that
	// scope, others those that are not.
	ClusterWide bool
	// Creators are those of EtcdRestores.
	Creators operator.Creators
	// Now is the clock.
	Now func() time.Time
	// Network reaches what runs in Pods; nil: the network there is.
	Network http.RoundTripper

	observer observe.Observer
	actor    act.Actor
	reporter report.Reporter
	// clusters and backups are EtcdClusters and EtcdBackups: where their operator is not
	// installed there is no such kind.
	clusters, backups operator.Kind
}

// Reconcile takes the next step for one EtcdRestore.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var e v1beta2.EtcdRestore
	if err := r.Client.Get(ctx, req.NamespacedName, &e); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read EtcdRestore: %w", err)
	}
	if !operator.InScope(&e, r.ClusterWide) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	seen, err := r.observer.Observe(ctx, &e)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	d, status, err := r.carryOut(ctx, &e, seen)
	r.Metrics.Observe(req.NamespacedName, &status, seen.Progress, time.Since(begun))
	return operator.Result(ctx, operator.Sooner(d.RequeueAfter, seen.RequeueAfter), err, act.ErrStale)
}

// forget drops what is remembered of an EtcdRestore that no longer exists or has left the operator's scope.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.Metrics.Forget(key)
	r.observer.Forget(key)
}

// carryOut decides, and does what was decided in the order action, status, events. It
// returns the status as it then is.
//
// A crash after the action is safe: the next observation shows its effect. So is one
// after the status, whose events are then never told; the status tells the same.
func (r *Reconciler) carryOut(ctx context.Context, e *v1beta2.EtcdRestore, seen *observe.Observation) (plan.Decision, v1beta2.RestoreStatus, error) {
	d := plan.Plan(seen.Observation)
	if d.AskRevision {
		seen.Asked, seen.Reported = true, seen.AskRevision(ctx)
		d = plan.Plan(seen.Observation)
	}
	if d.Action == nil && d.AskProgress {
		seen.Progress = seen.AskProgress(ctx)
		d = plan.Plan(seen.Observation)
	}
	err := r.actor.Act(ctx, e, &seen.Observation, d.Action)
	if errors.Is(err, act.ErrRefused) {
		// The status says so, and when it is tried again.
		log.FromContext(ctx).Info("the API server rejected an object", "error", err.Error())
		seen.Refused = err.Error()
		d = plan.Plan(seen.Observation)
		err = r.actor.Act(ctx, e, &seen.Observation, d.Action)
	}
	if err != nil {
		return d, e.Status, err
	}
	if d.Action != nil {
		r.reporter.TellAction(ctx, e, d)
	}
	if leaves(e) {
		return d, e.Status, nil
	}
	status, err := r.actor.Report(ctx, e, d.Status)
	if err != nil {
		return d, status, err
	}
	r.reporter.TellChanges(ctx, e, d)
	return d, status, nil
}

// leaves reports whether an EtcdRestore disappears as soon as it was written last.
func leaves(e *v1beta2.EtcdRestore) bool {
	return e.DeletionTimestamp != nil && len(e.Finalizers) == 0
}
