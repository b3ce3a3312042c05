package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// The tests of this file take labels away from objects, and give them to others. The
// operator has the caches of its main program.

// A volume that only names the cluster in a label is nobody's: what the caches do not show
// holds nothing up.
func TestAVolumeWithTheLabelAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: b.namespace, Labels: map[string]string{v1beta2.LabelCluster: "x"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	apiservertest.Create(t, b.client, claim)
	c := b.create("x", 1)
	b.until(c, "its beginning", func(s *v1beta2.ClusterStatus) bool { return s.Bootstrap != nil })
}
