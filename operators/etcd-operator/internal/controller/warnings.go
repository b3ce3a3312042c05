package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// warnings are the conditions that are there only while they are true, and that a user is
// to hear of once.
var warnings = []string{v1beta2.ConditionKnownVulnerability, v1beta2.ConditionSpaceLow}

// tellWarnings makes an event for each warning that was not in the status before, or was
// for another reason.
func (r *Reconciler) tellWarnings(ctx context.Context, c *v1beta2.EtcdCluster, now *v1beta2.ClusterStatus) {
	for _, kind := range warnings {
		is := meta.FindStatusCondition(now.Conditions, kind)
		if is == nil || isReported(c, kind, is.Reason) {
			continue
		}
		log.FromContext(ctx).Info(is.Message, "reason", is.Reason)
		r.Events.Eventf(c, nil, corev1.EventTypeWarning, is.Reason, "Observe", "%s", conditiontext.Clip(is.Message))
	}
}
