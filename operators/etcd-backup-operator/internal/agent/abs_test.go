package agent

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// Backups go to Azure with a Secret of the predecessor's, and their retention works.
func TestABS(t *testing.T) {
	server := azuretest.Start(t)
	client := server.Container(t, "mycontainer")
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := toS3(c.endpoints(), &agent.Store{
		Type: v1beta2.StorageABS, Bucket: "mycontainer", Key: "dir/etcd", Endpoint: server.Endpoint,
		SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key), Secret: "azure",
	})
	tk.Repeated, tk.Overwrite, tk.MaxBackups = true, false, 1
	first := mustSave(t, tk)
	tk.Time = due.AddDate(0, 0, 1)
	second := mustSave(t, tk)
	want := "dir/" + snapshotname.Name("etcd", second.Revision, tk.Time)
	if second.Location != "abs://mycontainer/"+want || second.Deleted != 1 {
		t.Errorf("the results are %+v and %+v", first, second)
	}
	if keys := azuretest.Keys(t, client); len(keys) != 1 || keys[0] != want {
		t.Errorf("%v are stored, want %s", keys, want)
	}
	checkFile(t, c, bytes.NewReader(azuretest.Get(t, client, want)), second)
}

// An archive lies beside the snapshots, in Azure as elsewhere.
func TestArchiveInABS(t *testing.T) {
	server := azuretest.Start(t)
	client := server.Container(t, "mycontainer")
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := recordingOf(toS3(c.endpoints(), &agent.Store{
		Type: v1beta2.StorageABS, Bucket: "mycontainer", Key: "dir/etcd", Endpoint: server.Endpoint,
		SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key), Secret: "azure",
	}))
	a := startArchiver(t, tk)
	a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
	saveNow(t, tk, due)
	a.awaitRevision(t, putKeys(t, c, c.client(t), 5, "first"))
	a.stop()
	a = startArchiver(t, tk)
	last := putKeys(t, c, c.client(t), 5, "second")
	if p := a.awaitRevision(t, last); p.Timeline != 1 || p.Gap != nil {
		t.Errorf("it tells %+v", p)
	}
	segments := 0
	for _, key := range azuretest.Keys(t, client) {
		if strings.HasPrefix(key, "dir/etcd_archive/") {
			segments++
		}
	}
	if segments < 2 {
		t.Errorf("%v are stored", azuretest.Keys(t, client))
	}
	if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
		t.Errorf("it restores %v, want %v", got, c.keys)
	}
}
