package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// isMember reports whether the status names a member. An object that an earlier EtcdCluster with the same name
// has left is in doubt only if it has the name of a member.
func isMember(c *v1beta2.EtcdCluster, name string) bool {
	return slices.ContainsFunc(c.Status.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Name == name })
}

// isInDoubt reports whether a Pod might be a member's although the EtcdCluster does not control it. Anyone who
// can edit a Pod can change its owner references, and its etcd keeps running. A Pod that another controller
// owns is not a member's.
func isInDoubt(c *v1beta2.EtcdCluster, p *corev1.Pod) bool {
	return metav1.GetControllerOf(p) == nil && isMember(c, p.Name)
}
