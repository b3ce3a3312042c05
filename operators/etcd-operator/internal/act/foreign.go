package act

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// ownConditions are the types of the conditions that this operator writes. All others in the
// status are somebody else's, such as BackedUp, which etcd-backup-operator applies.
var ownConditions = []string{
	v1beta2.ConditionAvailable,
	v1beta2.ConditionProgressing,
	v1beta2.ConditionDegraded,
	v1beta2.ConditionScaling,
	v1beta2.ConditionUpgrading,
	v1beta2.ConditionRecovering,
	v1beta2.ConditionStorageResizing,
	v1beta2.ConditionConsistent,
	v1beta2.ConditionPaused,
	v1beta2.ConditionNameConflict,
	v1beta2.ConditionOrphanedPods,
	v1beta2.ConditionUnmanagedMembers,
	v1beta2.ConditionCredentialsMissing,
	v1beta2.ConditionCredentialsInvalid,
	v1beta2.ConditionCertificatesReady,
	v1beta2.ConditionKnownVulnerability,
	v1beta2.ConditionSpaceLow,
	v1beta2.ConditionVersionUnsupported,
}

// keepForeign gives next what of before is not this operator's to write. A status is
// written with the resource version that it was read with, so what others have written
// meanwhile is not lost either.
func keepForeign(before, next *v1beta2.ClusterStatus) {
	next.Backup = before.Backup
}

// replaceOwned returns the conditions in before, with this operator's conditions replaced by those in next.
// Messages quote text from other systems, and are made printable. replaceOwned can modify before.
func replaceOwned(before, next []metav1.Condition) []metav1.Condition {
	kept := slices.DeleteFunc(before, func(c metav1.Condition) bool {
		return slices.Contains(ownConditions, c.Type) && !slices.ContainsFunc(next, func(n metav1.Condition) bool { return n.Type == c.Type })
	})
	for _, c := range next {
		c.Message = plaintext.Line(c.Message)
		meta.SetStatusCondition(&kept, c)
	}
	return kept
}
