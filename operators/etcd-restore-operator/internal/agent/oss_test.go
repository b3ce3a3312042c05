package agent

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// A snapshot is read from OSS by its path and by a prefix, and what is missing is told in the
// fields of OSS.
func TestOSS(t *testing.T) {
	o := startOrigin(t, etcdtest.Newest())
	s := startStore(t)
	s3test.Resolve(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"accessKeyID": s.AccessKey, "accessKeySecret": s.SecretKey} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := at("prod/etcd", 7, 1)
	s.put(t, key, o.content)
	place := agent.Store{Type: v1beta2.StorageOSS, Bucket: bucketName, Key: key, Endpoint: s3test.Virtual(s.proxy.Endpoint), SecretDir: dir, Secret: "oss"}
	for _, change := range []func(*agent.Store){func(*agent.Store) {}, func(p *agent.Store) { p.Key, p.Newest, p.Prefix = "", true, "prod/" }} {
		tk, p := s.task(t, key), place
		change(&p)
		tk.Store = &p
		if found := must(t, tk).Snapshot; found == nil || found.Location != "oss://"+bucketName+"/"+key || found.ETag == "" {
			t.Errorf("found %+v", found)
		}
	}
	missing, empty := place, place
	missing.Key = "nothing"
	empty.Key, empty.Newest, empty.Prefix = "", true, "nothing/"
	for _, c := range []struct {
		place *agent.Store
		words string
	}{{&missing, "correct oss.path"}, {&empty, "correct oss.prefix"}} {
		tk := s.task(t, key)
		tk.Store = c.place
		mustFail(t, tk, task.ReasonSnapshotNotFound, c.words)
	}
	newest := place
	newest.Key, newest.Newest, newest.Prefix = "", true, "prod/"
	for _, place := range []*agent.Store{&place, &newest} {
		tk := s.task(t, key)
		tk.Store = place
		s.proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodGet), Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
		mustFail(t, tk, agent.ReasonAccessDenied, "oss:ListObjects on the bucket")
	}
}
