package controller_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
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

// A member whose Pod loses a label that lists select by goes on, and is seen again; another
// member that is lost is replaced all the same.
func TestAMemberLosesItsLabels(t *testing.T) {
	for name, label := range map[string]string{"app": v1beta2.LabelApp, "etcd_cluster": v1beta2.LabelCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			podtest.StartKubelet(t, b.client, b.namespace)
			c := b.create("x", 3)
			b.untilHealthy(c, 3)
			pods := b.pods(c)
			stripped, lost := pods[0], pods[1]
			before := stripped.DeepCopy()
			delete(stripped.Labels, label)
			if err := b.client.Patch(apiservertest.Context(t), &stripped, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			etcdtest.Eventually(t, "the label to be put back", func() error {
				if p := b.pod(stripped.Name); p.UID != before.UID || p.Labels[label] != before.Labels[label] {
					return fmt.Errorf("Pod %s has the labels %v", p.UID, p.Labels)
				}
				return nil
			})
			b.delete(&lost)
			b.until(c, "the lost member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), lost.Name) })
			b.untilHealthy(c, 3)
			if !slices.Contains(memberNames(&c.Status), stripped.Name) || b.pod(stripped.Name).UID != before.UID {
				t.Errorf("the members are %v, want %s among them, in its Pod", memberNames(&c.Status), stripped.Name)
			}
		})
	}
}
