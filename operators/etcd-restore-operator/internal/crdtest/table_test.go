package crdtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What kubectl get shows, and the names it can be asked by.
func TestTableAndNames(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	u := admissiontest.Object(t, "EtcdRestore", namespace, "shown", `{etcdCluster: {name: shown}, `+fromS3+`}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = map[string]any{
		"cluster": "shown", "succeeded": false, "phase": "Seeding", "progress": "1.0 KiB of 1.5 KiB",
		"seedMember": "shown-aaaaaaaaaa", "revision": int64(1000000007), "reason": "why not", "failure": map[string]any{"reason": "SnapshotCorrupt", "message": "why not"},
		"conditions": []any{admissiontest.Condition("Complete", "False", "SeedStarting"), admissiontest.Condition("Failed", "False", "NotFailed")},
		"snapshot":   map[string]any{"location": "s3://b-1/k", "size": int64(1536), "readableSize": "1.5 KiB"},
	}
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	want := []admissiontest.Column{
		{Name: "Name", Cell: "shown"},
		{Name: "Cluster", Cell: "shown"},
		{Name: "Succeeded", Cell: false},
		{Name: "Phase", Cell: "Seeding"},
		{Name: "Status", Cell: "SeedStarting"},
		{Name: "Progress", Cell: "1.0 KiB of 1.5 KiB"},
		{Name: "Size", Cell: "1.5 KiB"},
		{Name: "Age"},
		{Name: "Seed", Wide: true, Cell: "shown-aaaaaaaaaa"},
		{Name: "Revision", Wide: true, Cell: float64(1000000007)},
		{Name: "Location", Wide: true, Cell: "s3://b-1/k"},
		{Name: "Reason", Wide: true, Cell: "SnapshotCorrupt"},
	}
	if diff := cmp.Diff(want, admissiontest.Columns(t, namespace, "etcdrestores")); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	admissiontest.Called(t, "etcdrestores", "etcdrs")
}
