package crdtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What kubectl get shows of a backup with which nothing is wrong, and the names it can be asked by.
func TestTableAndNames(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	u := admissiontest.Object(t, "EtcdBackup", namespace, "shown", policy(`schedule: "@daily"`))
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = map[string]any{
		"succeeded": true, "phase": "Scheduled", "lastSuccessDate": "2020-01-02T03:04:05Z", "nextScheduleTime": "2020-01-03T03:04:05Z",
		"etcdRevision": int64(7),
		"conditions":   []any{admissiontest.Condition("Complete", "True", "BackupSucceeded"), admissiontest.Condition("Failed", "False", "NotFailed")},
		"snapshot":     map[string]any{"location": "s3://b-1/k", "size": int64(1536), "readableSize": "1.5 KiB"},
		"archive":      map[string]any{"phase": "Running"},
	}
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	columns := admissiontest.Columns(t, namespace, "etcdbackups")
	for i, column := range columns {
		if age, ok := column.Cell.(string); column.Name == "Last Success" && ok && age != "" && age != "<unknown>" {
			columns[i].Cell = "long ago"
		}
	}
	want := []admissiontest.Column{
		{Name: "Name", Cell: "shown"},
		{Name: "Succeeded", Cell: true},
		{Name: "Phase", Cell: "Scheduled"},
		{Name: "Status", Cell: "BackupSucceeded"},
		{Name: "Last Success", Cell: "long ago"},
		{Name: "Size", Cell: "1.5 KiB"},
		{Name: "Location", Cell: "s3://b-1/k"},
		{Name: "Schedule", Cell: "@daily"},
		{Name: "Archive", Cell: "Running"},
		{Name: "Age"},
		{Name: "Interval", Wide: true},
		{Name: "Next", Wide: true, Cell: "2020-01-03T03:04:05Z"},
		{Name: "Revision", Wide: true, Cell: float64(7)},
		{Name: "Recovery Point", Wide: true},
		{Name: "Verified", Wide: true},
		{Name: "Reason", Wide: true},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	admissiontest.Called(t, "etcdbackups", "etcdbk")
}
