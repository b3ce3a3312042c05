package controller_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// An EtcdCluster says where its backups can be stored: others are refused, whoever names its
// Service, and begin by themselves once they are allowed. Where an address is named, the Job
// knows by etcd's id what to refuse.
func TestRestrictedStores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := cluster(b.namespace)
	c.Spec.Backup = &v1beta2.ClusterBackup{AllowedStores: []string{"s3://elsewhere/etcd"}}
	apiservertest.Create(t, b.client, c)
	c.Status.ClusterID = "00c0ffee00c0ffee"
	c.Status.Members.Ready = []string{"c-1"}
	apiservertest.SetStatus(t, b.client, c)

	for name, change := range map[string]func(*v1beta2.EtcdBackup){
		"by-name": func(e *v1beta2.EtcdBackup) {
			e.Spec.EtcdEndpoints, e.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
		},
		"by-service": func(e *v1beta2.EtcdBackup) { e.Spec.EtcdEndpoints = []string{"http://c-client:2379"} },
	} {
		e := b.create(name, change)
		b.until(e, "the refusal", func(s *v1beta2.BackupStatus) bool { return strings.HasPrefix(s.Reason, "StoreNotAllowed") })
		if want := "EtcdCluster c does not allow backups in s3://bucket/" + name + ":"; !strings.Contains(e.Status.Reason, want) || len(b.jobs(e)) > 0 {
			t.Errorf("%d Jobs, %s", len(b.jobs(e)), e.Status.Reason)
		}
		b.wantEvents(e, "StoreNotAllowed")
	}

	e := b.create("by-address", func(e *v1beta2.EtcdBackup) { e.Spec.EtcdEndpoints = []string{"http://10.0.0.7:2379"} })
	j := b.job(e)
	var told task.Task
	for _, env := range j.Spec.Template.Spec.Containers[0].Env {
		if env.Name == task.Env {
			if err := json.Unmarshal([]byte(env.Value), &told); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Contains(told.Forbidden, c.Status.ClusterID) {
		t.Errorf("the Job is told %+v", told)
	}

	apiservertest.Read(t, b.client, c)
	c.Spec.Backup.AllowedStores = append(c.Spec.Backup.AllowedStores, "s3://bucket")
	if err := b.client.Update(apiservertest.Context(t), c); err != nil {
		t.Fatal(err)
	}
	e.Name = "by-name"
	apiservertest.Read(t, b.client, e)
	b.job(e)
}
