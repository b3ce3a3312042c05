// Package report tells what was observed and done: in the status of an EtcdBackup, as
// events, in the log, and in the metrics. It decides nothing.
package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// ActionBackup is the action of events about what is found, rather than done.
const ActionBackup = "Backup"

// Reporter tells of EtcdBackups.
type Reporter struct {
	Client  client.StatusClient
	Events  events.EventRecorder
	Metrics *metrics.Metrics
}

// WriteStatus writes a status once, and only if anything in it has changed. It fails with a
// conflict if the EtcdBackup has changed since b was read: then nothing is recorded. It
// returns the status as it is now.
func (r *Reporter) WriteStatus(ctx context.Context, b *v1beta2.EtcdBackup, status v1beta2.BackupStatus) (v1beta2.BackupStatus, error) {
	next := b.DeepCopy()
	next.Status = status
	next.Status.Conditions = operator.Dated(b.DeepCopy().Status.Conditions, status.Conditions)
	written, err := operator.UpdateStatus(ctx, r.Client, next, &b.Status, &next.Status)
	if err != nil || !written {
		return b.Status, err
	}
	return next.Status, nil
}

// TellAction makes the event and the log line of what was done.
func (r *Reporter) TellAction(ctx context.Context, b *v1beta2.EtcdBackup, d plan.Decision) {
	log.FromContext(ctx).Info(d.Message, "action", d.Action.Kind(), "reason", d.Reason)
	operator.Event(r.Events, b, corev1.EventTypeNormal, d.Reason, d.Action.Kind(), d.Message)
}

// TellChanges makes the events, log lines and counts of what is new in the status.
func (r *Reporter) TellChanges(ctx context.Context, b *v1beta2.EtcdBackup, d plan.Decision) {
	for _, e := range d.Events {
		operator.Tell(ctx, r.Events, b, e.Warning, e.Reason, ActionBackup, e.Message)
	}
	for i := range d.Recorded {
		r.Metrics.Ended(client.ObjectKeyFromObject(b), &d.Recorded[i])
	}
}
