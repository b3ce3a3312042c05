package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// The hash is recorded beside the snapshot, whatever etcd has compacted before: also if it has
// just compacted its newest revision, of which it keeps a hash that counts what is gone.
func TestTheHashIsRecorded(t *testing.T) {
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 1)
		c.fill(t, 20, 10)
		for _, compacted := range []int64{0, 9, 22} {
			if compacted > 0 {
				if _, err := c.client(t).Compact(t.Context(), compacted, clientv3.WithCompactPhysical()); err != nil {
					t.Fatal(err)
				}
			}
			name := fmt.Sprintf("compacted at %d", compacted)
			place := s.place(t, version+"/"+name)
			result := mustSave(t, toS3(c.endpoints(), place))
			told, err := c.client(t).HashKV(t.Context(), c.members[0].Client, 0)
			if err != nil {
				t.Fatal(err)
			}
			want := &snapshot.Hash{Value: told.Hash, Revision: 22, CompactedRevision: compacted}
			if diff := cmp.Diff(want, result.Hash); diff != "" {
				t.Errorf("%s (-told +result):\n%s", name, diff)
			}
			out := s.object(t, place.Key)
			checkFile(t, c, out.Body, result)
			if diff := cmp.Diff(result.Hash, snapshot.HashIn(out.Metadata)); diff != "" {
				t.Errorf("the metadata of the object (-result +metadata):\n%s", diff)
			}
			dir := t.TempDir()
			result = mustSave(t, toPVC(c.endpoints(), dir, "dir/file"))
			root, err := os.OpenRoot(filepath.Join(dir, "dir"))
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			entry, err := sidecar.Read(root, "file")
			if err != nil || entry == nil {
				t.Fatal(entry, err)
			}
			if diff := cmp.Diff(result.Hash, snapshot.HashIn(entry.Metadata)); diff != "" || result.Hash == nil {
				t.Errorf("beside the file (-result +sidecar):\n%s", diff)
			}
		}
	})
}

// What does not come to a hash that can be compared is left out, and no backup fails for it.
func TestNoHash(t *testing.T) {
	c := startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 20, 10)
	for name, row := range map[string]struct {
		change func(*job, *member)
		words  string
	}{
		"a large database": {func(_ *job, m *member) { m.size = maxHashed + 1 }, "too large"},
		"not wanted":       {func(j *job, _ *member) { j.task.RecordHash = v1beta2.RecordHashNever }, "as spec.recordHash says"},
		"an old etcd":      {func(_ *job, m *member) { m.version = "3.5.15" }, `"version":"3.5.15"`},
		"an old etcd, always": {func(j *job, m *member) {
			j.task.RecordHash, m.version = v1beta2.RecordHashAlways, "3.5.15"
		}, `"version":"3.5.15"`},
		"no version":     {func(_ *job, m *member) { m.version = "" }, "too old"},
		"a slow member":  {func(j *job, _ *member) { j.limits.hash = 1 }, "deadline"},
		"many attempts":  {func(j *job, _ *member) { j.hashes = maxHashes }, "not asking for a hash again"},
		"another member": {func(_ *job, m *member) { m.id++ }, "answered in place of"},
		"little time":    {func(j *job, _ *member) { j.task.Timeout = 10 }, "deadline"},
		"little time, always": {func(j *job, _ *member) {
			j.task.RecordHash, j.task.Timeout = v1beta2.RecordHashAlways, 10
		}, "deadline"},
		"compacted since": {func(_ *job, m *member) { m.revision = 5 }, "compacted"},
		"to come":         {func(_ *job, m *member) { m.revision = 900 }, "future revision"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &logs{}
			j := &job{task: task.Task{Endpoints: c.endpoints()}, log: slog.New(slog.NewJSONHandler(l, nil)), limits: quickLimits}
			from, err := j.source(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer from.conn.Close()
			if name == "compacted since" {
				if _, err := c.client(t).Compact(t.Context(), 9); err != nil {
					t.Fatal(err)
				}
			}
			row.change(j, &from)
			got := j.hash(t.Context(), from, 1)
			if spent := j.hashes == maxHashes; spent != (row.words == "deadline" || name == "many attempts") {
				t.Errorf("asked %d times", j.hashes)
			}
			if got != nil || !strings.Contains(l.String(), row.words) {
				t.Errorf("got %+v, and the log has no %q:\n%s", got, row.words, l)
			}
		})
	}
}

// A large database is hashed if a person wants that, within a longer time; and not at each attempt.
func TestHashOfALargeDatabase(t *testing.T) {
	c := startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 20, 10)
	j := &job{task: task.Task{Endpoints: c.endpoints(), RecordHash: v1beta2.RecordHashAlways}, log: slog.New(slog.DiscardHandler), limits: quickLimits}
	j.limits.hash = 1
	from, err := j.source(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer from.conn.Close()
	from.size = maxHashed + 1
	for range maxHashes {
		if got := j.hash(t.Context(), from, 1); got == nil {
			t.Error("it is not hashed")
		}
	}
	if got := j.hash(t.Context(), from, 1); got != nil {
		t.Errorf("it is hashed again: %+v", got)
	}
}
