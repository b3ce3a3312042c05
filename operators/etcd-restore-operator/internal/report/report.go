// Package report tells what was observed and done: in the status of an EtcdRestore, as
// events, in the log, and in the metrics. It decides nothing.
package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Reporter tells of EtcdRestores.
type Reporter struct {
	Client  client.StatusClient
	Events  events.EventRecorder
	Metrics *metrics.Metrics
}

// WriteStatus writes a status once, and only if anything in it has changed. It fails with a
// conflict if the EtcdRestore has changed since e was read: then nothing is recorded. It
// returns the status as it is now.
func (r *Reporter) WriteStatus(ctx context.Context, e *v1beta2.EtcdRestore, status v1beta2.RestoreStatus) (v1beta2.RestoreStatus, error) {
	next := e.DeepCopy()
	next.Status = status
	next.Status.Conditions = operator.Dated(e.DeepCopy().Status.Conditions, status.Conditions)
	written, err := operator.UpdateStatus(ctx, r.Client, next, &e.Status, &next.Status)
	if err != nil || !written {
		return e.Status, err
	}
	r.Metrics.Changed(client.ObjectKeyFromObject(e), &e.Status, &next.Status)
	return next.Status, nil
}

// TellAction makes the event and the log line of what was done.
func (r *Reporter) TellAction(ctx context.Context, e *v1beta2.EtcdRestore, d plan.Decision) {
	log.FromContext(ctx).Info(d.Message, "action", d.Action.Kind(), "reason", d.Reason)
	operator.Event(r.Events, e, corev1.EventTypeNormal, d.Reason, d.Action.Kind(), d.Message)
}

// TellChanges makes the events and log lines of what the status newly tells.
func (r *Reporter) TellChanges(ctx context.Context, e *v1beta2.EtcdRestore, d plan.Decision) {
	for _, event := range d.Events {
		operator.Tell(ctx, r.Events, e, event.Warning, event.Reason, "Restore", event.Message)
	}
}
