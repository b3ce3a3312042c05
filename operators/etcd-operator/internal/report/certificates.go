package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// TellKept makes the events and log lines of what was done about certificates.
func (r Reporter) TellKept(ctx context.Context, c *v1beta2.EtcdCluster, told []certificates.Event) {
	for _, e := range told {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		log.FromContext(ctx).Info(e.Message, "reason", e.Reason)
		r.Events.Eventf(c, nil, kind, e.Reason, "KeepCertificates", "%s", conditiontext.Clip(e.Message))
	}
}

// TellCertificates makes an event when certificates have gone bad, or are right again, since
// the status was written last, unless that is what the cluster waits for: that is told.
func (r Reporter) TellCertificates(ctx context.Context, c *v1beta2.EtcdCluster, now *v1beta2.ClusterStatus, tls *facts.TLS, d *plan.Decision) {
	was := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionCertificatesReady)
	is := meta.FindStatusCondition(now.Conditions, v1beta2.ConditionCertificatesReady)
	if is == nil || d.AwaitsCertificates || (was != nil && was.Status == is.Status && isReported(c, is.Type, is.Reason)) {
		return
	}
	switch {
	case is.Status == metav1.ConditionFalse && !tls.IsPending():
		log.FromContext(ctx).Info(is.Message, "reason", is.Reason)
		r.Events.Eventf(c, nil, corev1.EventTypeWarning, is.Reason, "KeepCertificates", "%s", conditiontext.Clip(is.Message))
	case is.Status == metav1.ConditionTrue && was != nil && was.Status == metav1.ConditionFalse:
		log.FromContext(ctx).Info(is.Message, "reason", is.Reason)
		r.Events.Eventf(c, nil, corev1.EventTypeNormal, is.Reason, "KeepCertificates", "%s", conditiontext.Clip(is.Message))
	}
}
