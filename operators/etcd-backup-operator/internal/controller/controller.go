// Package controller is the loop of etcd-backup-operator: one reconcile observes an
// EtcdBackup with its Jobs and their Pods, plans one step, carries it out and reports
// (packages observe, plan, act and report). Between reconciles it keeps only what metrics count, and when it first saw
// the states that other machines date.
//
// Reconciles are driven by watches of EtcdBackups, Jobs, Pods and EtcdClusters, and by
// the clock where a backup is due at a time.
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
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/report"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// deadline bounds what one reconcile asks of the API server.
const deadline = 30 * time.Second

// Reconciler reconciles the EtcdBackups of its scope.
type Reconciler struct {
	// Client reads from caches.
	Client  client.Client
	Events  events.EventRecorder
	Metrics *metrics.Metrics
	// Image is the operator's own, which Jobs run.
	Image string
	// ClusterWide operators reconcile the EtcdBackups that are annotated with that
	// scope, others those that are not.
	ClusterWide bool
	// Creators are those of EtcdBackups.
	Creators operator.Creators
	// Network is how archivers are asked for their progress; nil: by the Pods' network.
	Network http.RoundTripper
	// Now is the clock.
	Now func() time.Time

	observer observe.Observer
	actor    act.Actor
	reporter report.Reporter
	// clusters are EtcdClusters: on a Kubernetes without etcd-operator there is no such
	// kind.
	clusters operator.Kind
	// restores are EtcdRestores, likewise.
	restores operator.Kind
	// backedUp reports to EtcdClusters on their backups.
	backedUp clusters
}

// Reconcile takes the next step for one EtcdBackup.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var b v1beta2.EtcdBackup
	if err := r.Client.Get(ctx, req.NamespacedName, &b); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read EtcdBackup: %w", err)
	}
	if !operator.InScope(&b, r.ClusterWide) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	obs, requeueAfter, err := r.observer.Observe(ctx, &b)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	d, status, err := r.carryOut(ctx, &b, obs)
	r.Metrics.Observe(req.NamespacedName, &status, time.Since(begun))
	r.Metrics.VerificationDue(req.NamespacedName, plan.VerificationDue(&b.Spec, &status))
	return operator.Result(ctx, operator.Sooner(d.RequeueAfter, requeueAfter), err, act.ErrStale)
}

// forget drops what is remembered of an EtcdBackup that no longer exists or has left the operator's scope.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.Metrics.Forget(key)
	r.observer.Forget(key)
}

// carryOut decides, and does what was decided in the order action, status, events. It
// returns the status as it then is.
//
// A crash after the action is safe: the next observation shows its effect. So is one
// after the status: its events are lost then, but the status says the same.
func (r *Reconciler) carryOut(ctx context.Context, b *v1beta2.EtcdBackup, obs plan.Observation) (plan.Decision, v1beta2.BackupStatus, error) {
	d := plan.Plan(obs)
	err := r.actor.Act(ctx, b, &obs, d.Action)
	if errors.Is(err, act.ErrRefused) {
		// The status says so, and when it is tried again.
		log.FromContext(ctx).Info("the API server rejects the Job", "error", err.Error())
		obs.Refused = err.Error()
		d = plan.Plan(obs)
		err = r.actor.Act(ctx, b, &obs, d.Action)
	}
	if err != nil {
		return d, b.Status, err
	}
	if d.Action != nil {
		r.reporter.TellAction(ctx, b, d)
	}
	if _, gone := d.Action.(plan.DeleteBackup); gone {
		return d, b.Status, nil
	}
	status, err := r.actor.Report(ctx, b, d.Status)
	if err != nil {
		return d, status, err
	}
	r.reporter.TellChanges(ctx, b, d)
	return d, status, nil
}
