package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// Backups go to OSS at the bucket's own host, with a Secret of OSS, and its retention works.
func TestOSS(t *testing.T) {
	s := startStore(t)
	s3test.Resolve(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"accessKeyID": s.AccessKey, "accessKeySecret": s.SecretKey} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := toS3(c.endpoints(), &agent.Store{Type: v1beta2.StorageOSS, Bucket: bucketName, Key: "dir/etcd", Endpoint: s3test.Virtual(s.proxy.Endpoint), SecretDir: dir, Secret: "oss"})
	tk.Repeated, tk.Overwrite, tk.MaxBackups = true, false, 1
	first := mustSave(t, tk)
	tk.Time = due.AddDate(0, 0, 1)
	second := mustSave(t, tk)
	want := "dir/" + snapshotname.Name("etcd", second.Revision, tk.Time)
	if second.Location != "oss://"+bucketName+"/"+want || second.Deleted != 1 {
		t.Errorf("the results are %+v and %+v", first, second)
	}
	s.checkKeys(t, want)
	checkFile(t, c, s.object(t, want).Body, second)
}
