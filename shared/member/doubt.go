package member

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// PVCInDoubt describes the fault in the metadata of a PVC that might be a member's of the EtcdCluster with this name
// and uid, and how a user corrects it. The patch makes the EtcdCluster the owner, whichever owner references and
// labels were changed. It also restores the labels by which the operators list PVCs.
func PVCInDoubt(namespace, name, cluster, uid string) string {
	return fmt.Sprintf("PVC %s might hold a member's data, but its owner references and labels do not show its owner: "+
		`if it belongs to this cluster, run kubectl -n %s patch pvc %s --type=merge -p '{"metadata":{"ownerReferences":null,"labels":{"%s":"%s","%s":"%s","%s":"%s"}}}'; delete it only if it does not`,
		name, namespace, name, v1beta2.LabelApp, v1beta2.AppEtcd, v1beta2.LabelCluster, cluster, v1beta2.LabelOwner, uid)
}
