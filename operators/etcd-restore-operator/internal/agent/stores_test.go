package agent

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// otherStore is a place in a store that is not S3.
type otherStore struct {
	place agent.Store
	// deny has the next requests refused; nil if the test of the store itself does that. right
	// is then part of what is told.
	deny  func()
	right string
}

// otherStores start a store each, reached with a Secret of the predecessor's, with an object.
var otherStores = map[v1beta2.StorageType]func(t *testing.T, s *store, key string, content []byte) otherStore{
	// At the bucket's own host.
	v1beta2.StorageOSS: func(t *testing.T, s *store, key string, content []byte) otherStore {
		s3test.Resolve(t)
		dir := t.TempDir()
		for name, content := range map[string]string{"accessKeyID": s.AccessKey, "accessKeySecret": s.SecretKey} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.put(t, key, content)
		deny := s3test.Fault{When: s3test.IsMethod(http.MethodGet), Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")}
		return otherStore{agent.Store{Endpoint: s3test.Virtual(s.proxy.Endpoint), SecretDir: dir}, func() { s.proxy.Inject(deny) }, "oss:ListObjects on the bucket"}
	},
	v1beta2.StorageABS: func(t *testing.T, _ *store, key string, content []byte) otherStore {
		server := azuretest.Start(t)
		azuretest.Put(t, server.Container(t, bucketName), key, content, nil)
		return otherStore{place: agent.Store{Endpoint: server.Endpoint, SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key)}}
	},
	v1beta2.StorageGCS: func(t *testing.T, _ *store, key string, content []byte) otherStore {
		server := gcstest.Start(t)
		gcstest.Put(t, server.Bucket(t, bucketName), key, content)
		proxy := server.NewProxy(t)
		deny := s3test.Fault{Times: 1, Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected by a test")}
		return otherStore{agent.Store{Endpoint: proxy.Endpoint, SecretDir: gcstest.SecretDir(t, gcstest.Credentials(t))}, func() { proxy.Inject(deny) }, "roles/storage.objectViewer"}
	},
}

// A snapshot is read from each type of store by its path and by a prefix, and what is missing, or
// refused, is told in the fields of that type.
func TestOtherStores(t *testing.T) {
	for kind, start := range otherStores {
		t.Run(string(kind), func(t *testing.T) {
			o := startOrigin(t, etcdtest.Newest())
			s := startStore(t)
			key := at("prod/etcd", 7, 1)
			other := start(t, s, key, o.content)
			taskOf := func(key, prefix string) task.Task {
				place := other.place
				place.Type, place.Bucket, place.Secret = kind, bucketName, "store"
				place.Key, place.Newest, place.Prefix = key, prefix != "", prefix
				tk := s.task(t, "unused")
				tk.Store = &place
				return tk
			}
			for _, tk := range []task.Task{taskOf(key, ""), taskOf("", "prod/")} {
				if found := must(t, tk).Snapshot; found == nil || found.Location != kind.Scheme()+bucketName+"/"+key || found.ETag == "" {
					t.Errorf("found %+v", found)
				}
				if other.deny != nil {
					other.deny()
					mustFail(t, tk, agent.ReasonAccessDenied, other.right)
				}
			}
			field := (&agent.Store{Type: kind}).Field()
			mustFail(t, taskOf("nothing", ""), task.ReasonSnapshotNotFound, "correct "+field+".path")
			mustFail(t, taskOf("", "nothing/"), task.ReasonSnapshotNotFound, "correct "+field+".prefix")
		})
	}
}
