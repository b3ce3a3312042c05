package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// hash is what the etcd tells of the revision of its snapshot.
func (o *origin) hash(t *testing.T) *snapshot.Hash {
	t.Helper()
	got, err := o.client.HashKV(t.Context(), o.client.Endpoints()[0], o.revision)
	if err != nil {
		t.Fatal(err)
	}
	return &snapshot.Hash{Value: got.Hash, Revision: o.revision, CompactedRevision: max(got.CompactRevision, 0)}
}

// describe records a hash beside the file of a task.
func describe(t *testing.T, tk task.Task, h *snapshot.Hash) task.Task {
	t.Helper()
	root, err := os.OpenRoot(tk.PVC.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	is, err := sidecar.FingerprintOf(root, tk.PVC.Path)
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]string{}
	h.AddTo(metadata)
	content, err := json.Marshal([]sidecar.Entry{{Metadata: metadata}, {Fingerprint: is, Metadata: metadata}})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Mkdir(sidecar.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tk.PVC.Dir, sidecar.Name(tk.PVC.Path)), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return tk
}

// altered is a snapshot in which values differ, with the digest of what it now holds.
func altered(t *testing.T, content []byte, from, to string) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(dir, "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content[:len(content)-sha256.Size], 0o600); err != nil {
		t.Fatal(err)
	}
	etcdtest.Alter(t, dir, from, to)
	changed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(changed)
	return append(changed, digest[:]...)
}

// parts are what can be restored of a snapshot: all, and less of it by a revision or prefixes.
func parts(revision int64) []task.Task {
	return []task.Task{{}, {Revision: revision}, {Prefixes: []string{"key-1"}}, {Revision: revision, Prefixes: []string{"key-1"}}}
}

// Both who verifies and who restores compare the data with what its source hashed it to,
// wherever it is stored, also if etcd has compacted more since.
func TestTheHashIsCompared(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, etcd string) {
		t.Parallel()
		o := startOrigin(t, etcd)
		first := o.hash(t)
		if _, err := o.client.Compact(t.Context(), 170, clientv3.WithCompactPhysical()); err != nil {
			t.Fatal(err)
		}
		later := o.hash(t)
		b, key := bucketName, etcd
		metadata := map[string]string{clusterIDKey: clusterID}
		first.AddTo(metadata)
		if _, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: bytes.NewReader(o.content), Metadata: metadata}); err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]struct {
			tk   task.Task
			want string
		}{
			"in a store":                 {s.task(t, key), "Equal"},
			"on a volume":                {describe(t, onVolume(t, o.content), first), "Equal"},
			"packed":                     {describe(t, onVolume(t, packed(t, o.content)), first), "Equal"},
			"compacted since":            {describe(t, onVolume(t, o.content), later), "Equal"},
			"compacted before":           {describe(t, onVolume(t, o.content), &snapshot.Hash{Value: 1, Revision: o.revision, CompactedRevision: 100}), "NotComparable"},
			"beyond the snapshot":        {describe(t, onVolume(t, o.content), &snapshot.Hash{Value: 1, Revision: o.revision + 1, CompactedRevision: 150}), "NotComparable"},
			"nothing recorded":           {onVolume(t, o.content), "NotRecorded"},
			"an entry of another backup": {describe(t, onVolume(t, o.content), nil), "NotRecorded"},
		} {
			t.Run(name, func(t *testing.T) {
				found := must(t, row.tk).Snapshot
				if found.Hash != row.want {
					t.Errorf("verified: got %q, want %q", found.Hash, row.want)
				}
				for _, want := range []*task.Snapshot{nil, found} {
					for _, part := range parts(180) {
						tk := row.tk
						tk.Revision, tk.Prefixes = part.Revision, part.Prefixes
						tk = restoring(t, tk, want, etcdtest.NewMember(t, etcd, "seed"), o.revision+bump)
						if got := must(t, tk).Snapshot; got.Hash != row.want {
							t.Errorf("restored at revision %d under %q, verified before %t: got %q, want %q", tk.Revision, tk.Prefixes, want != nil, got.Hash, row.want)
						}
					}
				}
			})
		}
	})
}

// A snapshot whose digest is right, and whose data is not that of its source, is not restored,
// unless a person asks for it.
func TestAnotherHash(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcd string) {
		t.Parallel()
		o := startOrigin(t, etcd)
		content := altered(t, o.content, "value-190", "value-xxx")
		told := o.hash(t)
		const reason, words = task.ReasonHashMismatch, "does not have the hash that its source had"
		mustFail(t, describe(t, onVolume(t, content), told), reason, words)
		unrecorded := must(t, onVolume(t, content)).Snapshot
		equal := *unrecorded
		equal.Hash = "Equal"
		for _, found := range []*task.Snapshot{nil, &equal, unrecorded} {
			for _, part := range parts(160) {
				tk := describe(t, onVolume(t, content), told)
				tk.Revision, tk.Prefixes = part.Revision, part.Prefixes
				tk = restoring(t, tk, found, etcdtest.NewMember(t, etcd, "seed"), o.revision+bump)
				if found == unrecorded { // members might be stopped for it by now
					if got := must(t, tk).Snapshot; got.Hash != "NotRecorded" {
						t.Errorf("got %+v", got)
					}
					continue
				}
				code, result := carry(t.Context(), t, tk)
				if found == nil {
					checkFailure(t, code, result, agent.ExitPermanent, reason, words)
				} else { // members might be stopped, and the same bytes had that hash before
					checkFailure(t, code, result, agent.ExitRetry, reason, "is fetched again")
				}
				if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
					t.Errorf("the volume holds %v", got)
				}
			}
		}
		tk := describe(t, onVolume(t, content), told)
		tk.SkipHashCheck = true
		found := must(t, tk).Snapshot
		got := must(t, restoring(t, tk, nil, etcdtest.NewMember(t, etcd, "seed"), o.revision+bump)).Snapshot
		if found.Hash != "Skipped" || got.Hash != "Skipped" {
			t.Errorf("got %+v and %+v", found, got)
		}
	})
}

// What lies where the description of a file is expected does not keep a restore from its work.
func TestSidecarsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, plant := range map[string]func(path string) error{
		"no JSON":     func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link away": func(path string) error { return os.Symlink("/etc/passwd", path) },
	} {
		t.Run(name, func(t *testing.T) {
			tk := onVolume(t, o.content)
			path := filepath.Join(tk.PVC.Dir, sidecar.Name(tk.PVC.Path))
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if found := must(t, tk).Snapshot; found.Hash != "NotRecorded" {
				t.Errorf("got %+v", found)
			}
		})
	}
}
