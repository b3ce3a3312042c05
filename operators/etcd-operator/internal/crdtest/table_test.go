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
	u := admissiontest.Object(t, "EtcdCluster", namespace, "shown", `{size: 3}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = map[string]any{
		"phase": "Running", "ready": "2/3", "currentVersion": "3.6.16",
		"leader": "shown-aaaaaaaaaa", "clusterID": "00c0ffee00c0ffee",
		"conditions": []any{
			admissiontest.Condition("Available", "True", "Serving"),
			admissiontest.Condition("Degraded", "True", "MemberLost"),
			admissiontest.Condition("Progressing", "True", "ReplacingDeadMember"),
		},
	}
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}

	want := []admissiontest.Column{
		{Name: "Name", Cell: "shown"},
		{Name: "Size", Cell: float64(3)},
		{Name: "Ready", Cell: "2/3"},
		{Name: "Version", Cell: "3.6.16"},
		{Name: "Phase", Cell: "Running"},
		{Name: "Available", Cell: "True"},
		{Name: "Health", Cell: "MemberLost"},
		{Name: "Progress", Cell: "ReplacingDeadMember"},
		{Name: "Age"},
		{Name: "Leader", Wide: true, Cell: "shown-aaaaaaaaaa"},
		{Name: "Cluster ID", Wide: true, Cell: "00c0ffee00c0ffee"},
	}
	if diff := cmp.Diff(want, admissiontest.Columns(t, namespace, "etcdclusters")); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	admissiontest.Called(t, "etcdclusters", "etcd", "etcdclus")
}
