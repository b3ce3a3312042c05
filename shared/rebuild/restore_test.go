package rebuild

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
)

// alarm is the key of an alarm of a member.
func alarm(t testing.TB, member uint64, kind pb.AlarmType) string {
	t.Helper()
	key, err := proto.Marshal(&pb.AlarmMember{MemberID: member, Alarm: kind})
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

// fetched is a database, with a digest, as it is fetched to a folder; beside it the data dir
// is made.
func fetched(t *testing.T, dir string, c content) (file *os.File, dataDir string) {
	t.Helper()
	database, err := os.ReadFile(build(t, c))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(database)
	path := filepath.Join(dir, "snapshot")
	if err := os.WriteFile(path, append(database, sum[:]...), datadir.FileMode); err != nil {
		t.Fatal(err)
	}
	file, err = os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file, filepath.Join(dir, "data")
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func theSeed(revision int64) Seed {
	return Seed{Name: "seed", PeerURL: "http://127.0.0.1:1", Token: "token", Revision: revision}
}

// bucketsOf is all that a database holds.
func bucketsOf(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string]map[string]string{}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			all[string(name)] = map[string]string{}
			return b.ForEach(func(k, v []byte) error {
				all[string(name)][string(k)] = string(v)
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRestoreKeepsAllButTheOldMembers compares every bucket with the snapshot's.
func TestRestoreKeepsAllButTheOldMembers(t *testing.T) {
	for name, c := range map[string]content{
		"with keys":                  {events: some(200), valueSize: 20, meta: of36},
		"the newest event a removal": {events: []string{"a", "b", "-a"}, meta: of36},
		"nothing was ever written":   {meta: of36},
		"all compacted":              {meta: merged(of36, keyFinishedCompact, string(revisionKey(77, false)))},
		"without the bucket alarm":   {events: some(2), meta: of36, without: bucketAlarm},
		"of 3.5":                     {events: some(2), cluster: map[string]string{keyClusterVersion: "3.5.0"}, meta: map[string]string{"consistent_index": "12345678", keyTerm: "12345678"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := bucketsOf(t, build(t, c))
			file, dataDir := fetched(t, t.TempDir(), c)
			got, err := Restore(t.Context(), quiet, file, dataDir, theSeed(1000))
			if err != nil || got.ClearedAlarms != nil {
				t.Fatal(got, err)
			}
			after := bucketsOf(t, databaseIn(dataDir))
			if len(after["members"]) != 1 || len(after["members_removed"]) != 0 {
				t.Errorf("the members are %q, removed are %q", after["members"], after["members_removed"])
			}
			if v, there := after[bucketKey][string(revisionKey(1000, false))]; !there || v != "" {
				t.Errorf("the newest revision is %q, %t", v, there)
			}
			if got := after[bucketMeta][keyScheduledCompact]; got != string(revisionKey(1000, false)) {
				t.Errorf("compacted is %q", got)
			}
			delete(after[bucketKey], string(revisionKey(1000, false)))
			for _, key := range []string{keyScheduledCompact, "consistent_index", keyTerm} {
				delete(after[bucketMeta], key)
				delete(before[bucketMeta], key)
			}
			for _, name := range []string{"members", "members_removed", bucketAlarm} {
				delete(after, name)
				delete(before, name)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the rest (-snapshot +restored):\n%s", diff)
			}
			if info, err := Inspect(t.Context(), openFile(t, databaseIn(dataDir))); err != nil || info.Revision != 1000 {
				t.Errorf("got %+v, %v", info, err)
			}
			if left := list(t, filepath.Dir(dataDir)); !slices.Equal(left, []string{"data"}) {
				t.Errorf("left are %v", left)
			}
		})
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// An alarm is of the cluster that the snapshot is from: with it, etcd would refuse writes.
func TestRestoreClearsAlarms(t *testing.T) {
	noSpace, other, corrupt := alarm(t, 7, pb.AlarmType_NOSPACE), alarm(t, 9, pb.AlarmType_NOSPACE), alarm(t, 7, pb.AlarmType_CORRUPT)
	for name, tc := range map[string]struct {
		alarms []string
		want   []string
	}{
		"none":           {nil, nil},
		"no space":       {[]string{noSpace}, []string{"NOSPACE"}},
		"of two members": {[]string{noSpace, other}, []string{"NOSPACE"}},
		"corrupt":        {[]string{corrupt}, []string{"CORRUPT"}},
		"both":           {[]string{noSpace, corrupt}, []string{"CORRUPT", "NOSPACE"}},
		"one to come":    {[]string{alarm(t, 7, 9)}, []string{"alarm 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := content{events: some(20), meta: of36, alarms: map[string]string{}}
			for _, key := range tc.alarms {
				c.alarms[key] = ""
			}
			file, dataDir := fetched(t, t.TempDir(), c)
			info, err := Inspect(t.Context(), file)
			slices.Sort(info.Alarms)
			if diff := cmp.Diff(tc.want, info.Alarms); diff != "" || err != nil {
				t.Errorf("inspected: %v\n%s", err, diff)
			}
			got, err := Restore(t.Context(), quiet, file, dataDir, theSeed(1000))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got.ClearedAlarms)
			if diff := cmp.Diff(tc.want, got.ClearedAlarms); diff != "" {
				t.Error(diff)
			}
			if left, there := bucketsOf(t, databaseIn(dataDir))[bucketAlarm]; !there || len(left) > 0 {
				t.Errorf("left are %q, bucket %t", left, there)
			}
		})
	}
	t.Run("no alarm at all", func(t *testing.T) {
		_, err := Inspect(t.Context(), openFile(t, build(t, content{meta: of36, alarms: map[string]string{"\xff": ""}})))
		var got *runner.Error
		if !errors.As(err, &got) || got.Reason != agent.ReasonCorruptSnapshot {
			t.Errorf("got %v", err)
		}
	})
}

// TestAVolumeHoldsTheDatabaseOnce makes a data dir on a file system that has not the room
// for two databases, but for one and Slack. It mounts one, and so needs to be root.
func TestAVolumeHoldsTheDatabaseOnce(t *testing.T) {
	const size = 96 << 20
	dir := t.TempDir()
	c := content{events: some(1500), valueSize: 32 << 10, meta: of36}
	source, err := os.Stat(build(t, c))
	if err != nil || source.Size() < size/2 {
		t.Fatalf("the database has %d bytes, %v", source.Size(), err)
	}
	limit := source.Size() + Slack
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+itoa(limit)); err != nil {
		t.Fatalf("mount a tmpfs (run this test as root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	file, dataDir := fetched(t, dir, c)
	if err := CheckSpace(dir, 0, Slack-1<<20); err != nil {
		t.Fatal(err)
	}
	stop, most := watchUse(t, dir)
	if _, err := Restore(t.Context(), quiet, file, dataDir, theSeed(1_000_000)); err != nil {
		t.Fatal(err)
	}
	stop()
	t.Logf("a database of %d MiB took %d MiB at most", source.Size()>>20, most()>>20)
	if most() >= 2*source.Size()+128<<20 {
		t.Error("the volume has held the database twice")
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// watchUse looks how full a file system is, again and again, until it is stopped.
func watchUse(t *testing.T, dir string) (stop func(), most func() int64) {
	t.Helper()
	var peak atomic.Int64
	look := func() {
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err == nil {
			peak.Store(max(peak.Load(), int64(s.Blocks-s.Bfree)*s.Bsize))
		}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			look()
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() { close(end); <-ended; look() }, peak.Load
}

// What has the name of the file is what is moved: it must be what was checked.
func TestAFileThatWasReplaced(t *testing.T) {
	file, dataDir := fetched(t, t.TempDir(), content{events: some(20), meta: of36})
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file.Name(), []byte("another"), datadir.FileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), quiet, file, dataDir, theSeed(1000)); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("got %v", err)
	}
}

func TestARevisionThatWasReached(t *testing.T) {
	file, dataDir := fetched(t, t.TempDir(), content{events: []string{"a", "b"}, meta: of36})
	_, err := Restore(t.Context(), quiet, file, dataDir, theSeed(3))
	var got *runner.Error
	if !errors.As(err, &got) || got.Reason != agent.ReasonInvalidTask {
		t.Errorf("got %v", err)
	}
}

func TestRestoreEndsWithItsContext(t *testing.T) {
	file, dataDir := fetched(t, t.TempDir(), content{events: some(20), meta: of36})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := Restore(ctx, quiet, file, dataDir, theSeed(1000)); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
