package agent

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

const bump = 1_000_000_000

// successors are the versions that a snapshot of one is restored to: its own minor and
// the next.
func successors(version string) []string {
	all := etcdtest.Versions()
	i := slices.Index(all, version)
	return all[i:min(i+2, len(all))]
}

func minor(version string) string { return version[:strings.LastIndex(version, ".")] }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, from string) {
		t.Parallel()
		o := startOrigin(t, from)
		s.put(t, from, o.content)
		s.put(t, from+".zst", packed(t, o.content))
		sources := map[string]task.Task{
			"S3": s.task(t, from), "S3 with zstd": s.task(t, from+".zst"),
			"etcdctl": onVolume(t, savedByEtcdctl(t, o)), "a volume": onVolume(t, o.content), "a volume with zstd": onVolume(t, packed(t, o.content)),
		}
		bare := onVolume(t, o.content[:len(o.content)-32])
		bare.SkipHashCheck = true
		sources["a bare database"] = bare
		for name, tk := range sources {
			to := successors(from)
			if name != "S3" {
				to = to[len(to)-1:]
			}
			for _, version := range to {
				t.Run(name+" to "+version, func(t *testing.T) {
					found := must(t, tk).Snapshot
					checkFound(t, o, found, tk)
					m := etcdtest.NewMember(t, version, "seed")
					result := must(t, restoring(t, tk, found, m, o.revision+bump))
					if result.Already || *result.Snapshot != *found {
						t.Errorf("got %+v", result)
					}
					m.Start(t, "new", m)
					m.WaitReady(t)
					checkRestored(t, connect(t, m), o, o.revision+bump)
				})
			}
		}
	})
}

// savedByEtcdctl is what etcdctl snapshot save writes.
func savedByEtcdctl(t *testing.T, o *origin) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snapshot.db")
	etcdctl := filepath.Join(filepath.Dir(etcdtest.Binary(t, o.member.Version)), "etcdctl")
	if out, err := exec.CommandContext(t.Context(), etcdctl, "--endpoints=http://"+o.member.Client, "snapshot", "save", file).CombinedOutput(); err != nil {
		t.Fatalf("etcdctl snapshot save: %v\n%s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// checkFound compares what a verification has found with what was stored.
func checkFound(t *testing.T, o *origin, found *task.Snapshot, tk task.Task) {
	t.Helper()
	if found.Revision != o.revision || found.TotalKeys != int64(len(o.state)) || found.EtcdVersion != minor(o.member.Version) || found.DatabaseSize != int64(len(o.content)-32) {
		t.Errorf("found %+v; want revision %d, %d keys, version %s and %d bytes", found, o.revision, len(o.state), o.member.Version, len(o.content)-32)
	}
	if (found.ETag != "") != (tk.Store != nil) || (found.ClusterID == clusterID) != (tk.Store != nil) || len(found.SHA256) != 64 {
		t.Errorf("found %+v", found)
	}
}

// checkRestored compares a cluster with what the snapshot held.
func checkRestored(t *testing.T, client *clientv3.Client, o *origin, revision int64) {
	t.Helper()
	state, got := stateOf(t, client)
	if !maps.Equal(state, o.state) {
		t.Errorf("the cluster has %d keys, want the %d of the snapshot with their revisions", len(state), len(o.state))
	}
	if got != revision {
		t.Errorf("the cluster is at revision %d, want %d", got, revision)
	}
	if _, err := client.Get(t.Context(), "key-20", clientv3.WithRev(o.revision)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a read at the snapshot's revision gets %v, want that it is compacted", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := client.Watch(clientv3.WithRequireLeader(ctx), "", clientv3.WithPrefix(), clientv3.WithRev(o.revision+1))
	if got := <-events; !errors.Is(got.Err(), rpctypes.ErrCompacted) || got.CompactRevision != revision {
		t.Errorf("a watch from behind the snapshot gets %v, compacted at %d; want that it is compacted at %d", got.Err(), got.CompactRevision, revision)
	}
}
