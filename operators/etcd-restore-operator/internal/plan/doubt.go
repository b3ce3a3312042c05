package plan

import (
	"cmp"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// inDoubt waits while a Pod or PVC might be the cluster's: an old member might serve beside the restored cluster, or
// a second seed might start. Once the seed has its permit to start, all of that has been checked. A retired PVC does
// not run a member.
func inDoubt(v *view) *step {
	if v.seed != nil && v.seed.Permit != PermitToPrepare {
		return nil
	}
	return awaitDoubtful(v, slices.IndexFunc(v.Doubtful, func(d Doubtful) bool { return !d.Retired }))
}

// returnInDoubt waits before a rollback. It would not return a volume that is in doubt.
func returnInDoubt(v *view) *step { return awaitDoubtful(v, len(v.Doubtful)-1) }

// awaitDoubtful reports the Doubtful with this index; it returns nil if the index is negative.
func awaitDoubtful(v *view, i int) *step {
	if i < 0 {
		return nil
	}
	d := &v.Doubtful[i]
	return warn(cmp.Or(v.last.Phase, v1beta2.RestoreFencing), v1beta2.RestoreReasonInDoubt, d.Advice, d.Object)
}
