package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestAnotherGoodSnapshotOfTheSameSize is put in the place of the one that was verified:
// its own digest is right, and nothing but that digest tells the two apart on a volume.
// It must not become a member.
func TestAnotherGoodSnapshotOfTheSameSize(t *testing.T) {
	t.Parallel()
	verified, other := twins(t)
	first, second := verified.content, other.content
	for name, c := range map[string]struct{ verified, swapped []byte }{
		"unpacked": {first, second},
		"packed":   {packed(t, first), packed(t, second)},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, onVolume(t, c.swapped)) // it is a good one
			tk := onVolume(t, c.verified)
			found := must(t, tk).Snapshot
			if err := os.WriteFile(filepath.Join(tk.PVC.Dir, "file"), c.swapped, 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "packed" {
				found.Size = int64(len(c.swapped)) // so that the digest alone tells
			}
			m := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
			mustFail(t, restoring(t, tk, found, m, 1_000_000), task.ReasonChanged, "its sha256 is")
			if _, err := os.Stat(m.Dir); !os.IsNotExist(err) {
				t.Errorf("there is a data dir: %v", err)
			}
		})
	}
}
