package observe

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// isInDoubt reports whether a Pod might be a member's although the EtcdCluster does not control it. Anyone who
// can edit a Pod can change its owner references, and its etcd keeps running. A Pod that another controller
// owns is not a member's.
func isInDoubt(c *v1beta2.EtcdCluster, p *corev1.Pod) bool {
	return metav1.GetControllerOf(p) == nil && member.IsListed(c, p.Name)
}
