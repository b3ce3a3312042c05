package plan

import (
	"cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// inDoubt waits while a Pod or PVC might be the cluster's. An old member might serve beside the restored cluster, a
// second seed might start, and a rollback would not return a volume.
func inDoubt(v *view) *step {
	if len(v.Doubtful) == 0 {
		return nil
	}
	d := &v.Doubtful[0]
	return warn(cmp.Or(v.last.Phase, v1beta2.RestoreFencing), v1beta2.RestoreReasonInDoubt, d.Advice, d.Object)
}
