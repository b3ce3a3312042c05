package member

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// TestClaimsBeginEmpty: an EtcdCluster from before admission refused it, whose volumes would
// be copies, gets new members on empty ones.
func TestClaimsBeginEmpty(t *testing.T) {
	snapshot := "snapshot.storage.k8s.io"
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "n", UID: "u"}}
	c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		DataSource:    &corev1.TypedLocalObjectReference{APIGroup: &snapshot, Kind: "VolumeSnapshot", Name: "s"},
		DataSourceRef: &corev1.TypedObjectReference{APIGroup: &snapshot, Kind: "VolumeSnapshot", Name: "s"},
		VolumeName:    "pv",
	}}
	got := NewClaim(c, "x-a").Spec
	if got.DataSource != nil || got.DataSourceRef != nil || got.VolumeName != "" {
		t.Errorf("the volume is made of %v, %v, %q", got.DataSource, got.DataSourceRef, got.VolumeName)
	}
	if c.Spec.Pod.PersistentVolumeClaimSpec.VolumeName == "" {
		t.Error("the EtcdCluster was changed")
	}
}

// TestFormerOwners: a volume that is adopted again remembers all whose it was, each once.
func TestFormerOwners(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{}
	for _, owner := range []string{"a", "b", "a"} {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta2.AnnotationFormerOwners, WithFormerOwner(claim, owner))
	}
	if got := claim.Annotations[v1beta2.AnnotationFormerOwners]; got != "a b" {
		t.Errorf("it was %q's", got)
	}
}
