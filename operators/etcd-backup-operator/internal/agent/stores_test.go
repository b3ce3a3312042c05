package agent

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// otherStore is a place in a store that is not S3, and a look into it without our own code.
type otherStore struct {
	place agent.Store
	keys  func() []string
	get   func(key string) io.Reader
}

// otherStores start a store each, reached with a Secret of the predecessor's, with a bucket.
var otherStores = map[v1beta2.StorageType]func(*testing.T) otherStore{
	// At the bucket's own host.
	v1beta2.StorageOSS: func(t *testing.T) otherStore {
		s := startStore(t)
		s3test.Resolve(t)
		dir := t.TempDir()
		for name, content := range map[string]string{"accessKeyID": s.AccessKey, "accessKeySecret": s.SecretKey} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return otherStore{
			agent.Store{Endpoint: s3test.Virtual(s.proxy.Endpoint), SecretDir: dir},
			func() []string { return s.Keys(t, bucketName) },
			func(key string) io.Reader { return s.object(t, key).Body },
		}
	},
	v1beta2.StorageABS: func(t *testing.T) otherStore {
		server := azuretest.Start(t)
		client := server.Container(t, bucketName)
		return otherStore{
			agent.Store{Endpoint: server.Endpoint, SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key)},
			func() []string { return azuretest.Keys(t, client) },
			func(key string) io.Reader { return bytes.NewReader(azuretest.Get(t, client, key)) },
		}
	},
	v1beta2.StorageGCS: func(t *testing.T) otherStore {
		server := gcstest.Start(t)
		bucket := server.Bucket(t, bucketName)
		return otherStore{
			agent.Store{Endpoint: server.Endpoint, SecretDir: gcstest.SecretDir(t, gcstest.Credentials(t))},
			func() []string { return gcstest.Keys(t, bucket) },
			func(key string) io.Reader { return bytes.NewReader(gcstest.Get(t, bucket, key)) },
		}
	},
}

// startOther starts one of them.
func startOther(t *testing.T, kind v1beta2.StorageType) otherStore {
	t.Helper()
	s := otherStores[kind](t)
	s.place.Type, s.place.Bucket, s.place.Key, s.place.Secret = kind, bucketName, "dir/etcd", "store"
	return s
}

// inOtherStores runs a test in each of them.
func inOtherStores(t *testing.T, test func(*testing.T, otherStore)) {
	t.Helper()
	for kind := range otherStores {
		t.Run(string(kind), func(t *testing.T) { test(t, startOther(t, kind)) })
	}
}

// Backups go to each type of store, and their retention works.
func TestOtherStores(t *testing.T) {
	inOtherStores(t, func(t *testing.T, s otherStore) {
		c := startCluster(t, etcdtest.Newest(), 1)
		tk := toS3(c.endpoints(), &s.place)
		tk.Repeated, tk.Overwrite, tk.MaxBackups = true, false, 1
		first := mustSave(t, tk)
		tk.Time = due.AddDate(0, 0, 1)
		second := mustSave(t, tk)
		want := "dir/" + snapshotname.Name("etcd", second.Revision, tk.Time)
		if second.Location != s.place.Type.Scheme()+bucketName+"/"+want || second.Deleted != 1 {
			t.Errorf("the results are %+v and %+v", first, second)
		}
		if keys := s.keys(); !slices.Equal(keys, []string{want}) {
			t.Errorf("%v are stored, want %s", keys, want)
		}
		checkFile(t, c, s.get(want), second)
	})
}

// An archive lies beside the snapshots in each type of store.
func TestArchiveInOtherStores(t *testing.T) {
	inOtherStores(t, func(t *testing.T, s otherStore) {
		c := startCluster(t, etcdtest.Newest(), 1)
		tk := recordingOf(toS3(c.endpoints(), &s.place))
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
		segments := slices.DeleteFunc(s.keys(), func(key string) bool { return !strings.HasPrefix(key, "dir/etcd_archive/") })
		if len(segments) < 2 {
			t.Errorf("the segments are %v", segments)
		}
		if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
			t.Errorf("it restores %v, want %v", got, c.keys)
		}
	})
}
