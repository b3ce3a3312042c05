package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// A Pod or PVC that has lost its owner reference and the label with the owner's uid might be a member's, if the status
// of the EtcdCluster names that member. The restore waits for a user to correct it.
func TestObjectsInDoubt(t *testing.T) {
	t.Parallel()
	foreign := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}}
	for name, row := range map[string]struct {
		object client.Object
		names  string
	}{
		"a Pod": {&corev1.Pod{}, "Pod x-a "},
		"a PVC": {&corev1.PersistentVolumeClaim{}, "PVC x-a "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := b.cluster("x")
			c.Status.MemberDetails = []v1beta2.MemberDetail{{Name: "x-a"}}
			apiservertest.SetStatus(t, b.client, c)
			var ours []metav1.OwnerReference
			b.edit(row.object, "x-a", func() {
				ours = row.object.GetOwnerReferences()
				row.object.SetOwnerReferences(foreign)
				labels := row.object.GetLabels()
				delete(labels, v1beta2.LabelOwner)
				row.object.SetLabels(labels)
			})
			e := b.restore("x")
			b.until(e, "the doubt", func(s *v1beta2.RestoreStatus) bool {
				cond := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionComplete)
				return cond != nil && cond.Reason == v1beta2.RestoreReasonInDoubt && strings.HasPrefix(cond.Message, row.names)
			})
			b.wantEvents(e, v1beta2.RestoreReasonInDoubt)
			if e.Status.SeedMember != "" {
				t.Errorf("seed %s was chosen, want none", e.Status.SeedMember)
			}
			b.edit(row.object, "x-a", func() { row.object.SetOwnerReferences(ours) })
			b.complete(e)
			b.wantRestored(e, c)
		})
	}
}
