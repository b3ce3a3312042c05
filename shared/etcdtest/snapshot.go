package etcdtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// keySize is the length of a revision, the key in etcd's bucket of keys; one byte more
// marks a deletion (server/storage/mvcc/revision.go).
const keySize = 17

// SnapshotKeys restores a snapshot file with the etcdutl of a version, which checks its
// digest, and returns the keys in it with their newest values.
func SnapshotKeys(t testing.TB, version, file string) map[string]string {
	t.Helper()
	etcdutl := filepath.Join(filepath.Dir(Binary(t, version)), "etcdutl")
	dir := filepath.Join(t.TempDir(), "restored")
	if out, err := exec.CommandContext(t.Context(), etcdutl, "snapshot", "restore", file, "--data-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("etcdutl snapshot restore %s: %v\n%s", file, err, out)
	}
	db, err := bbolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys := map[string]string{}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("key")).ForEach(func(revision, value []byte) error { // oldest first
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return err
			}
			if len(revision) > keySize {
				delete(keys, string(kv.Key))
				return nil
			}
			keys[string(kv.Key)] = string(kv.Value)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
