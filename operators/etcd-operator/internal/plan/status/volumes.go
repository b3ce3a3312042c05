package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// resizing is the condition of volumes that grow, or cannot; nil if there is none to
// tell of.
func resizing(v *facts.View) *metav1.Condition {
	const kind = v1beta2.ConditionStorageResizing
	var c metav1.Condition
	next, growing := v.NextToGrow(), v.Growing()
	switch {
	case v.Cluster.Paused || v.Cluster.Deleting || v.Cluster.Fence.By != "":
		return nil
	case growing != nil:
		c = condition(v, kind, true, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("%s PVCs have %s; expanding PVC %s from %s%s",
			grownVolumes(v), facts.Bytes(v.Cluster.Storage), growing.Name, facts.Bytes(growing.Capacity), facts.Pending(growing)))
	case next != nil:
		c = condition(v, kind, true, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("%s PVCs have %s", grownVolumes(v), facts.Bytes(v.Cluster.Storage)))
		if why := v.ExpansionBlocker(next); why != "" {
			c.Message += "; waiting to expand the next one: " + why
		}
	case v.RefusedGrowth() != "":
		c = condition(v, kind, false, v1beta2.ClusterReasonExpansionRefused, v.RefusedGrowth())
	default:
		return nil
	}
	return &c
}
