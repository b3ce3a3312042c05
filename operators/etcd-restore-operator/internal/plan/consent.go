package plan

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// awaitConsent waits, before a member is stopped, until the user accepts that the data of
// members without volumes is lost by that. Where no quorum serves, there is nothing left to
// lose that the cluster could give back by itself.
func awaitConsent(v *view) *step {
	if v.spec.AcceptDataLoss || v.fresh || !v.there || v.persistent() || !v.hasQuorum() {
		return nil
	}
	phase := v1beta2.RestorePending
	if v.fenced {
		phase = v.preparing()
	}
	upTo := ""
	if seen := v.highest(); seen > 0 {
		upTo = fmt.Sprintf(", up to revision %d", seen)
	}
	return warn(phase, v1beta2.RestoreReasonDataLossNotAccepted, fmt.Sprintf(
		"the restore would delete the data of EtcdCluster %s%s: its members have no volumes, and lose their data when they are stopped, even if the restore fails later; back it up with an EtcdBackup, then accept the loss: kubectl patch etcdrestore %s --type merge -p '{\"spec\":{\"acceptDataLoss\":true}}'",
		v.name, upTo, v.Restore.Name), "spec.acceptDataLoss")
}

// hasQuorum reports whether a quorum of the old members serves: as etcd-operator says, which
// asks no member while the cluster is fenced, or as a majority of Pods shows that are ready,
// which each is by a linearizable read.
func (v *view) hasQuorum() bool {
	st, ready := &v.Cluster.Status, 0
	for _, p := range v.old {
		if p.Ready && p.Deleting.IsZero() {
			ready++
		}
	}
	available := meta.IsStatusConditionTrue(st.Conditions, v1beta2.ConditionAvailable)
	return v.serves() && (available || ready > cmp.Or(st.Size, v.Cluster.Spec.Size)/2)
}
