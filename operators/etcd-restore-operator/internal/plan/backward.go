package plan

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const back = v1beta2.RestoreRollingBack

// dismissUntouched lets an EtcdRestore be deleted that has nothing to roll back: Kubernetes
// deletes what it owns.
func dismissUntouched(v *view) *step {
	if !v.deleted || v.held {
		return nil
	}
	return v.silent(reasonDeleting)
}

// withdrawFence withdraws a request for the fence that is not acknowledged. If etcd-operator
// acknowledges it at the same time, one of the two writes fails.
//
// A request that does not show might still land, once nobody is there to withdraw it. It has
// the resourceVersion of an EtcdCluster that nobody had fenced, so after any other write it
// fails: that of the withdrawal, or of another restore that has asked meanwhile (S12).
func withdrawFence(v *view) *step {
	if !v.there || v.made || v.fenced || v.uid == "" || v.lifted == v.uid {
		return nil
	}
	if v.mark != v.uid && (v.last.FenceTime == nil || v.isClaimed()) {
		return nil
	}
	s := do(back, WithdrawFence{}, v1beta2.RestoreReasonFenceWithdrawn, fmt.Sprintf("withdrew the request to fence EtcdCluster %s; nothing of it was touched", v.name))
	s.record = func(st *v1beta2.RestoreStatus) { st.FenceTime = nil } // two restores do not withdraw in turns
	return s
}

// withdrawSeed makes sure that the seed cannot be adopted. If it already is, the
// restore has succeeded.
func withdrawSeed(v *view) *step {
	if !v.offered {
		return nil
	}
	return do(back, WithdrawSeed{}, v1beta2.RestoreReasonSeedWithdrawn, "withdrew the hand-over of the seed before it was adopted")
}

// deleteCluster deletes the EtcdCluster that this restore has made: it has never held
// anything.
func deleteCluster(v *view) *step {
	if !v.made || !v.there {
		return nil
	}
	return do(back, DeleteCluster{UID: string(v.Cluster.UID)}, v1beta2.RestoreReasonClusterDeleted, fmt.Sprintf("deleted EtcdCluster %s, which was created for this restore and never served", v.name))
}

// deleteSeed deletes the seed, and all that were made before it.
func deleteSeed(v *view) *step {
	if !v.fenced {
		return nil
	}
	seeds := v.strays
	if v.seed != nil {
		seeds = append(seeds[:len(seeds):len(seeds)], *v.seed)
	}
	for i := range seeds {
		if s := v.dropPod(back, &seeds[i], "the restore is rolled back"); s != nil {
			return s
		}
	}
	return nil
}

// deleteSeedClaim deletes the seed's volume.
func deleteSeedClaim(v *view) *step {
	c := v.seedClaim
	switch {
	case !v.fenced || c == nil:
		return nil
	case !c.Deleting:
		return do(back, DeleteSeedClaim{Ref{c.Name, c.UID}}, v1beta2.RestoreReasonSeedDeleted, fmt.Sprintf("asked Kubernetes to delete the volume of seed %s: the restore is rolled back", c.Name))
	case v.spec.AcceptRunningOldMembers:
		return nil
	}
	return wait(back, v1beta2.RestoreReasonSeedDeleted, fmt.Sprintf("waiting for the volume of seed %s to be deleted", c.Name), "PVC "+c.Name)
}

// returnClaims returns their volumes to the old members.
func returnClaims(v *view) *step {
	if !v.fenced || len(v.retired) == 0 {
		return nil
	}
	return do(back, ReturnClaims{v.retired}, v1beta2.RestoreReasonVolumesReturned, fmt.Sprintf("returned their volumes to the old members: %s", list(refNames(v.retired))))
}

// liftFence ends the fence, once the cluster is as it was.
func liftFence(v *view) *step {
	if !v.fenced || v.lifted == v.uid {
		return nil
	}
	return do(back, LiftFence{}, v1beta2.RestoreReasonFenceLifted, fmt.Sprintf("asked etcd-operator to resume EtcdCluster %s: it recreates the old members that have volumes", v.name))
}

// awaitLift waits until etcd-operator reconciles the cluster again.
func awaitLift(v *view) *step {
	if !v.fenced {
		return nil
	}
	return v.awaitOperator(back, v1beta2.RestoreReasonFenceLifted, fmt.Sprintf("waiting for etcd-operator to resume its reconciliation of EtcdCluster %s", v.name))
}

// rolledBack is the end of a rollback.
func rolledBack(v *view) *step {
	if v.deleted {
		return do(back, RemoveFinalizer{}, v1beta2.RestoreReasonReleased, "rollback complete: removing the finalizer from the EtcdRestore").quietly()
	}
	return v.end(v.recordedFailure())
}
