package agent

import (
	"bytes"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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
