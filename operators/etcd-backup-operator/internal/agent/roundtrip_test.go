package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/retention"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// TestRoundTrips: retention, copies and restores read what a backup writes into the metadata of its snapshot.
// On a volume, the sidecar file holds the metadata.
func TestRoundTrips(t *testing.T) {
	type written struct {
		Cluster          uint64
		Revision, Oldest int64
		HasQuorum        bool
		Hash             *snapshot.Hash
	}
	j := &job{task: task.Task{Backup: "ns/name", UID: "u"}}
	roundtriptest.Check(t, func(w written) (read written, err error) {
		m := j.metadata(member{cluster: w.Cluster, revision: w.Revision, health: health{quorum: w.HasQuorum}}, w.Oldest, w.Hash)
		want := retention.Identity{Cluster: hex(w.Cluster), Revision: w.Revision, Marked: !w.HasQuorum}
		if diff := cmp.Diff(want, identity(m)); diff != "" {
			return w, fmt.Errorf("retention reads another identity (-want +got):\n%s", diff)
		}
		from := sourceOf(found{there: true, metadata: m})
		read = written{Cluster: from.cluster, Revision: from.revision, HasQuorum: !identity(m).Marked, Hash: snapshot.HashIn(m)}
		read.Oldest, err = strconv.ParseInt(m[snapshot.MetaOldestRevision], 10, 64)
		return read, err
	}, func(w *written) {
		w.Oldest = positive(w.Oldest)
		if h := w.Hash; h != nil {
			h.Revision, h.CompactedRevision = positive(h.Revision), max(h.CompactedRevision, 0)
		}
	})

	dir := t.TempDir()
	own(t, dir)
	v, err := openVolume(&job{task: toPVC(nil, dir, "file"), log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	is, err := sidecar.FingerprintOf(v.root, "file")
	if err != nil {
		t.Fatal(err)
	}
	roundtriptest.Check(t, func(metadata map[string]string) (map[string]string, error) {
		if err := v.writeSidecar("file", []sidecar.Entry{{Fingerprint: is, Metadata: metadata}}); err != nil {
			return nil, err
		}
		read, err := sidecar.Read(v.root, "file")
		if err != nil || read == nil {
			return nil, fmt.Errorf("the sidecar is %v, %w", read, err)
		}
		return read.Metadata, nil
	})
}

func positive(n int64) int64 { return max(n, 1) }
