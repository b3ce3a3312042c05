package act_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What etcd-backup-operator applies to the status survives this operator's writes, stays
// that one's, and is no reason to write.
func TestReportKeepsWhatOthersApply(t *testing.T) {
	b := newBench(t)
	b.report()
	apply := func(status map[string]any) {
		t.Helper()
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1beta2.GroupVersion.String(), "kind": "EtcdCluster",
			"metadata": map[string]any{"name": b.cluster.Name, "namespace": b.cluster.Namespace},
			"status":   status,
		}}
		if err := b.client.Status().Apply(apiservertest.Context(t), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("etcd-backup-operator")); err != nil {
			t.Fatal(err)
		}
		apiservertest.Read(t, b.client, b.cluster)
	}
	apply(map[string]any{
		"backup": map[string]any{"failures": int64(3), "newest": map[string]any{"backup": "x", "location": "s3://b/k", "completionTime": "2026-01-01T10:05:00Z"}},
		"conditions": []any{map[string]any{
			"type": v1beta2.ConditionBackedUp, "status": "True", "reason": "BackedUp", "message": "m", "lastTransitionTime": "2026-01-01T10:05:00Z",
		}},
	})
	before := b.cluster.DeepCopy()

	d := plan.Plan(*b.observe())
	d.Action = action.LatchClusterID{ClusterID: 0xc1}
	b.mustReport(d)
	if b.cluster.Status.ClusterID == "" || b.cluster.ResourceVersion == before.ResourceVersion {
		t.Fatal("nothing was written")
	}
	kept := func(c *v1beta2.EtcdCluster) any {
		return []any{c.Status.Backup, meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionBackedUp)}
	}
	if diff := cmp.Diff(kept(before), kept(b.cluster)); diff != "" || b.cluster.Status.Backup == nil {
		t.Errorf("after the write (-applied +kept):\n%s", diff)
	}
	if meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionProgressing) == nil {
		t.Error("the operator's own conditions are gone")
	}
	// The other's fields are still its own: it removes them by applying nothing.
	apply(map[string]any{})
	if meta.IsStatusConditionPresentAndEqual(b.cluster.Status.Conditions, v1beta2.ConditionBackedUp, metav1.ConditionTrue) || b.cluster.Status.Backup != nil {
		t.Errorf("the status still has %+v", kept(b.cluster))
	}
}
