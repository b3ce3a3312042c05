package build

import (
	"encoding/json"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// The Job is told to look for the newest, and to list what is there if that is all it is
// for.
func TestTaskOfAPrefix(t *testing.T) {
	for name, only := range map[string]bool{"verifyOnly": true, "restore": false} {
		t.Run(name, func(t *testing.T) {
			r := &v1beta2.EtcdRestore{Spec: v1beta2.RestoreSpec{
				VerifyOnly: only, ClusterID: "00c0ffee00c0ffee", BackupStorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Prefix: "mybucket/"},
			}}
			job, err := Job(r, plan.StartJob{Name: "j", Source: plan.Source{Store: r.Spec.Store()}}, images)
			if err != nil {
				t.Fatal(err)
			}
			var got task.Task
			for _, e := range job.Spec.Template.Spec.Containers[0].Env {
				if e.Name == task.Env {
					if err := json.Unmarshal([]byte(e.Value), &got); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got.Store == nil || !got.Store.Newest || got.Store.Bucket != "mybucket" || got.Store.Key != "" || got.Catalogue != only || got.ClusterID != r.Spec.ClusterID {
				t.Errorf("the task is %+v, %+v", got, got.Store)
			}
		})
	}
}
