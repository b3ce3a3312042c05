package member

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Owns reports whether a volume is the EtcdCluster's: by its owner reference, or, where
// volumes are retained, by the uid in its label, if nobody else controls it. What
// belongs to another uid, such as an earlier EtcdCluster of that name, is not.
func Owns(c *v1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim) bool {
	if metav1.GetControllerOf(claim) != nil {
		return metav1.IsControlledBy(claim, c)
	}
	return IsRetained(claim) && claim.Labels[v1beta2.LabelOwner] == string(c.UID)
}

// IsInDoubt reports whether a PVC might be the EtcdCluster's although Owns does not report it. Anyone who can
// edit a PVC can change its owner references and labels. Only another controller's reference, or a restore's
// mark on a PVC that it has retired, is evidence that the PVC is not a member's.
func IsInDoubt(c *v1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim) bool {
	_, retired := claim.Labels[v1beta2.LabelRetiredBy]
	return !retired && metav1.GetControllerOf(claim) == nil && !Owns(c, claim)
}

// IsRetained reports whether a volume is one that is not deleted with its EtcdCluster.
func IsRetained(claim *corev1.PersistentVolumeClaim) bool {
	return len(claim.OwnerReferences) == 0 && claim.Labels[v1beta2.LabelOwner] != ""
}

// FormerOwners are the uids of the EtcdClusters whose volume a claim was before it was
// adopted.
func FormerOwners(claim *corev1.PersistentVolumeClaim) []string {
	return strings.Fields(claim.Annotations[v1beta2.AnnotationFormerOwners])
}

// WithFormerOwner is the value of v1beta2.AnnotationFormerOwners of a claim that is adopted
// from the EtcdCluster of the uid former.
func WithFormerOwner(claim *corev1.PersistentVolumeClaim, former string) string {
	owners := FormerOwners(claim)
	if !slices.Contains(owners, former) {
		owners = append(owners, former)
	}
	return strings.Join(owners, " ")
}
