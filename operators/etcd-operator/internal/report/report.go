// Package report tells what was done, and what has newly come about, in events, in the log
// and in the metrics. It decides nothing. The status is written by package act.
package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Reporter tells of EtcdClusters.
type Reporter struct {
	Events events.EventRecorder
}

// TellStep makes the log line, and the event if it gets one, of what was done, or of what has come to
// stand in the way.
func (r Reporter) TellStep(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision) {
	reported := isReported(c, v1beta2.ConditionProgressing, d.Reason)
	if _, repeated := d.Action.(action.AdvanceLog); repeated && reported {
		return // one of many alike
	}
	if d.Action != nil {
		log.FromContext(ctx).Info(d.Message, "action", action.KindOf(d.Action), "reason", d.Reason)
		if e, ok := plan.EventOf(&d); ok {
			r.Events.Eventf(c, related(c, e.Member), eventType(e), e.Reason, e.Action, "%s", conditiontext.Clip(e.Message))
		}
		return
	}
	if reported || d.Outcome == action.Rejected { // told by TellRejection
		return
	}
	log.FromContext(ctx).Info(d.Message, "reason", d.Reason)
	if d.Outcome.AwaitsUser() {
		r.Events.Eventf(c, nil, corev1.EventTypeWarning, d.Reason, "Wait", "%s", conditiontext.Clip(d.Message))
	}
}

// isReported reports whether the status has a condition for this reason already: its event was
// made then. Whether a reason is news is all that is asked of it, and never which one it is.
func isReported(c *v1beta2.EtcdCluster, condition, reason string) bool {
	was := meta.FindStatusCondition(c.Status.Conditions, condition)
	return was != nil && was.Reason == reason
}

// TellChanges makes the events of what has changed since the status was written last.
func (r Reporter) TellChanges(ctx context.Context, c *v1beta2.EtcdCluster, now *v1beta2.ClusterStatus, d *plan.Decision) {
	for _, e := range plan.EventsBetween(&c.Status, now, d) {
		log.FromContext(ctx).Info(e.Message, "reason", e.Reason)
		r.Events.Eventf(c, nil, eventType(e), e.Reason, e.Action, "%s", conditiontext.Clip(e.Message))
	}
}

// TellRejection makes the event and the log line of an effect that the API server refuses.
func (r Reporter) TellRejection(ctx context.Context, c *v1beta2.EtcdCluster, rejection facts.Rejection) {
	reason, message := rejection.Describe()
	log.FromContext(ctx).Info(message, "action", rejection.Kind, "reason", reason)
	r.Events.Eventf(c, nil, corev1.EventTypeWarning, reason, rejection.Kind, "%s", conditiontext.Clip(message))
}

// TellStale makes the event and the log line of a cluster that stays stale.
func (r Reporter) TellStale(ctx context.Context, c *v1beta2.EtcdCluster, message string) {
	log.FromContext(ctx).Info(message, "reason", v1beta2.ClusterReasonObservationStale)
	r.Events.Eventf(c, nil, corev1.EventTypeWarning, v1beta2.ClusterReasonObservationStale, "Observe", "%s", message)
}

func eventType(e plan.Event) string {
	if e.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
