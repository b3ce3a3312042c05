// Package report tells what was done, and what has newly come about, in events, in the log
// and in the metrics. It decides nothing. The status is written by package act.
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
	Events  events.EventRecorder
	Metrics *metrics.Metrics
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
	if c := d.Copied; c != nil {
		r.Metrics.Copied(client.ObjectKeyFromObject(b), c.Copy.Failure == nil)
	}
	for i := range d.Verified {
		r.Metrics.Verified(client.ObjectKeyFromObject(b), d.Verified[i].Succeeded)
	}
}
