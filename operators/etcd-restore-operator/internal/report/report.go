// Package report tells what was done, and what has newly come about, in events and in the
// log. It decides nothing. The status is written by package act.
package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Reporter tells of EtcdRestores.
type Reporter struct {
	Events events.EventRecorder
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
