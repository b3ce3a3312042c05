package agent

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A snapshot is read from Azure by its path and by a prefix, and what is missing is told in the
// fields of Azure.
func TestABS(t *testing.T) {
	o := startOrigin(t, etcdtest.Newest())
	s := startStore(t)
	server := azuretest.Start(t)
	key := at("prod/etcd", 7, 1)
	azuretest.Put(t, server.Container(t, bucketName), key, o.content, nil)
	place := agent.Store{
		Type: v1beta2.StorageABS, Bucket: bucketName, Key: key, Endpoint: server.Endpoint,
		SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key), Secret: "azure",
	}
	for _, change := range []func(*agent.Store){func(*agent.Store) {}, func(p *agent.Store) { p.Key, p.Newest, p.Prefix = "", true, "prod/" }} {
		tk, p := s.task(t, key), place
		change(&p)
		tk.Store = &p
		if found := must(t, tk).Snapshot; found == nil || found.Location != "abs://"+bucketName+"/"+key || found.ETag == "" {
			t.Errorf("found %+v", found)
		}
	}
	missing, empty := place, place
	missing.Key = "nothing"
	empty.Key, empty.Newest, empty.Prefix = "", true, "nothing/"
	for _, c := range []struct {
		place *agent.Store
		words string
	}{{&missing, "correct abs.path"}, {&empty, "correct abs.prefix"}} {
		tk := s.task(t, key)
		tk.Store = c.place
		mustFail(t, tk, task.ReasonSnapshotNotFound, c.words)
	}
}
