package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const handedOff = v1beta2.RestoreHandedOff

// release lets an EtcdRestore be deleted whose seed was adopted: no data is touched.
func release(v *view) *step {
	switch {
	case !v.deleted:
		return nil
	case !v.held:
		return v.silent(reasonDeleting)
	}
	message := "removing the finalizer from the EtcdRestore: its seed was adopted, and no data is touched"
	if len(v.retired) > 0 {
		message += fmt.Sprintf("; the old members' volumes are kept until EtcdCluster %s is deleted: %s", v.name, list(refNames(v.retired)))
	}
	return do(handedOff, RemoveFinalizer{}, v1beta2.RestoreReasonReleased, message).quietly()
}

// recordAdoption says that the restore has succeeded: the cluster serves what the
// snapshot holds.
func recordAdoption(v *view) *step {
	if v.last.HandOffTime != nil {
		return nil
	}
	return record(handedOff, v1beta2.RestoreReasonSeedAdopted, fmt.Sprintf("EtcdCluster %s serves the restored data and accepts writes; etcd-operator adds the other members", v.name), func(st *v1beta2.RestoreStatus) {
		st.Succeeded, st.Reason, st.Failure, st.HandOffTime = true, "", nil, v.now()
		if st.ClusterUID == "" && v.Cluster != nil {
			st.ClusterUID = string(v.Cluster.UID)
		}
	}).news()
}

// clusterGone ends a restore whose cluster was deleted after it was handed over.
func clusterGone(v *view) *step {
	c := v.Cluster
	if c != nil && c.DeletionTimestamp == nil && (v.last.ClusterUID == "" || string(c.UID) == v.last.ClusterUID) {
		return nil
	}
	return v.completed(v1beta2.RestoreReasonClusterGone, fmt.Sprintf("EtcdCluster %s was deleted after it had adopted the seed: nothing is left to do", v.name))
}

// awaitMembers waits until as many voters serve as the cluster has to have: until then
// the old volumes are kept.
func awaitMembers(v *view) *step {
	size := v.Cluster.Spec.Size
	if size <= 0 {
		size = v1beta2.DefaultSize
	}
	if v.by == "" && v.voters() >= size {
		return nil
	}
	return v.awaitServing(handedOff, v1beta2.RestoreReasonGrowing, fmt.Sprintf("EtcdCluster %s serves the restored data; waiting for etcd-operator to add members until it has %d", v.name, size))
}

// voters is how many voting members serve.
func (v *view) voters() int {
	n := 0
	st := &v.Cluster.Status
	for _, name := range st.Members.Ready {
		mute := func(m v1beta2.MemberDetail) bool { return m.Name == name && m.Role != v1beta2.MemberVoter }
		if !slices.ContainsFunc(st.MemberDetails, mute) {
			n++
		}
	}
	return n
}

// deleteRetired deletes the old members' volumes.
func deleteRetired(v *view) *step {
	if len(v.retired) == 0 {
		return nil
	}
	return do(handedOff, DeleteRetired{v.retired}, v1beta2.RestoreReasonVolumesDeleted, fmt.Sprintf("deleted the old members' volumes, since the restored cluster has its size: %s", list(refNames(v.retired))))
}

// complete is the end of a restore that has succeeded.
func complete(v *view) *step {
	return v.completed(v1beta2.RestoreReasonRestoreComplete, fmt.Sprintf("restore complete: EtcdCluster %s has its size, and serves the restored data", v.name))
}

func (v *view) completed(reason, message string) *step {
	return record(v1beta2.RestoreComplete, reason, message, func(st *v1beta2.RestoreStatus) { st.CompletionTime = v.now() }).news()
}
