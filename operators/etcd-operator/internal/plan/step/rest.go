package step

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Rest says that all is as it should be.
func Rest(v *facts.View) *Step {
	if len(v.AlarmsOf(facts.NoSpace)) > 0 {
		return Wait(untilMaintenance(v), v1beta2.ClusterReasonNoSpace, v.AlarmAdvice()).As(action.AwaitsUser).InBrief(v.WritesRefused())
	}
	return Wait(untilMaintenance(v), v1beta2.ClusterReasonUpToDate, fmt.Sprintf("%d of %d members are healthy", len(v.Healthy), v.Cluster.Size)).As(action.UpToDate)
}
