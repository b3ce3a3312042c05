package plan

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const back = v1beta2.RestoreRollingBack

// leaveAlone does nothing for an EtcdRestore that goes and has nothing to give back:
// Kubernetes deletes what it owns.
func leaveAlone(v *view) *step {
	if !v.deleted || v.held {
		return nil
	}
	return wait(v.last.Phase, "Deleting", "the EtcdRestore is being deleted, and has touched nothing").quietly()
}

// withdrawFence takes a fence back that nobody has acknowledged. When etcd-operator does
// so at the same time, one of the two writes fails.
func withdrawFence(v *view) *step {
	if !v.there || v.made || v.fenced || v.uid == "" || v.mark != v.uid || v.lifted == v.uid {
		return nil
	}
	return do(back, WithdrawFence{}, "FenceWithdrawn", fmt.Sprintf("the EtcdCluster %s is asked for no longer; nothing of it was touched", v.name))
}

// withdrawSeed makes sure that the seed is not adopted any more. If it already is, the
// restore has succeeded.
func withdrawSeed(v *view) *step {
	if !v.offered {
		return nil
	}
	return do(back, WithdrawSeed{}, "SeedWithdrawn", "the seed that was handed over is taken back, before it is adopted")
}

// deleteCluster deletes the EtcdCluster that this restore has made: it has never held
// anything.
func deleteCluster(v *view) *step {
	if !v.made || !v.there {
		return nil
	}
	return do(back, DeleteCluster{UID: string(v.Cluster.UID)}, "ClusterDeleted", fmt.Sprintf("the EtcdCluster %s that was made for this restore, and never served, is deleted", v.name))
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
		if s := v.dropPod(back, &seeds[i], "the restore is given up"); s != nil {
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
		return do(back, DeleteSeedClaim{Ref{c.Name, c.UID}}, "SeedDeleted", fmt.Sprintf("the volume of seed %s is deleted: the restore is given up", c.Name))
	case v.spec.AcceptRunningOldMembers:
		return nil
	}
	return wait(back, "SeedDeleted", fmt.Sprintf("the volume of seed %s is being deleted", c.Name), "PersistentVolumeClaim "+c.Name)
}

// returnClaims gives the old members their volumes back.
func returnClaims(v *view) *step {
	if !v.fenced || len(v.retired) == 0 {
		return nil
	}
	return do(back, ReturnClaims{v.retired}, "VolumesReturned", fmt.Sprintf("the old members get their volumes back: %s", list(refNames(v.retired))))
}

// liftFence gives the cluster back, when it is as it was.
func liftFence(v *view) *step {
	if !v.fenced || v.lifted == v.uid {
		return nil
	}
	return do(back, LiftFence{}, "FenceLifted", fmt.Sprintf("the EtcdCluster %s is given back to etcd-operator, which brings the old members back as far as they have volumes", v.name))
}

// awaitLift waits until etcd-operator has taken the cluster back.
func awaitLift(v *view) *step {
	if !v.fenced {
		return nil
	}
	return v.awaitOperator(back, "FenceLifted", fmt.Sprintf("the EtcdCluster %s is given back to etcd-operator", v.name))
}

// gaveBack is the end of what was rolled back.
func gaveBack(v *view) *step {
	if v.deleted {
		return do(back, RemoveFinalizer{}, "Released", "nothing is left to give back: the EtcdRestore goes").quietly()
	}
	reason, message := split(v.last.Reason)
	return v.end(reason, message)
}
