package plan

import (
	"fmt"
	"strings"
)

// The rules of this file say when a cluster is not to be touched at all.

// deleting leaves a cluster that is being deleted to the garbage collector, which
// follows the owner references (S12).
func deleting(v *view) *step {
	if !v.Cluster.Deleting {
		return nil
	}
	return wait(idle, "Deleting", "the EtcdCluster is being deleted; Kubernetes deletes what it owns")
}

// paused obeys spec.paused (S12).
func paused(v *view) *step {
	if !v.Cluster.Paused {
		return nil
	}
	return wait(idle, "Paused", "nothing is done while spec.paused is true")
}

// conflict leaves objects of others alone, and with them this cluster (S12).
func conflict(v *view) *step {
	if len(v.Conflicts) == 0 {
		return nil
	}
	return wait(idle, "NameConflict", fmt.Sprintf("names that this cluster needs belong to others: %s; rename this EtcdCluster, or remove them",
		strings.Join(v.Conflicts, ", ")))
}

// legacy leaves Pods of the archived operator alone.
func legacy(v *view) *step {
	if len(v.LegacyPods) == 0 {
		return nil
	}
	return wait(idle, "LegacyMembers", fmt.Sprintf("Pods %s were made by the archived operator and are left as they are",
		strings.Join(v.LegacyPods, ", ")))
}

// unsupported refuses to start an etcd that lacks what this operator relies on:
// learners and the health endpoints.
func unsupported(v *view) *step {
	if v.Cluster.Bootstrap != nil || supported(v.Cluster.Version) {
		return nil
	}
	return wait(idle, "VersionUnsupported", fmt.Sprintf("etcd %s is not run; set spec.version to %s or later, such as %s",
		v.Cluster.Version, oldestSupported, newestTested))
}
