package agent

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// recording is a task that records, and takes repeated snapshots beside that.
func recordingOf(tk task.Task) task.Task {
	tk.Repeated, tk.Archive = true, &task.Archive{Interval: time.Second}
	return tk
}

// archiving is an archiver that runs.
type archiving struct {
	*archiver
	address string
	stop    func()
}

// startArchiver starts an archiver, which ends with the test.
func startArchiver(t *testing.T, tk task.Task) *archiving {
	t.Helper()
	l := &logs{}
	limits := quickLimits
	limits.archiveAddress, limits.archiveDir = etcdtest.FreeAddrs(t, 1)[0], t.TempDir()
	limits.auth, limits.prune = 100*time.Millisecond, time.Millisecond
	j := &job{task: tk, log: slog.New(slog.NewJSONHandler(l, nil)), limits: limits, result: &task.Result{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- j.record(ctx) }()
	stopped := false
	a := &archiving{archiver: &archiver{job: j}, address: limits.archiveAddress, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := etcdtest.Receive(t, "the archiver to end", ended); explain(context.Background(), err).ExitCode() != agent.ExitRetry {
			t.Errorf("the archiver ended: %v", err)
		}
		if left, err := filepath.Glob(filepath.Join(limits.archiveDir, "*")); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v", left, err)
		}
	}}
	t.Cleanup(func() {
		a.stop()
		if t.Failed() {
			t.Logf("the archiver's log:\n%s", l)
		}
	})
	return a
}

// progress asks as the operator does.
func (a *archiving) ask() (p task.ArchiveProgress, err error) {
	answer, err := http.Get("http://" + a.address + task.ArchivePath)
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&p)
	return p, err
}

// await waits until the progress is as wanted.
func (a *archiving) await(t *testing.T, what string, want func(task.ArchiveProgress) bool) (p task.ArchiveProgress) {
	t.Helper()
	etcdtest.Eventually(t, what, func() (err error) {
		if p, err = a.ask(); err != nil {
			return err
		}
		if !want(p) {
			return fmt.Errorf("it tells %+v, failure %+v", p, p.Failure)
		}
		return nil
	})
	return p
}

// awaitRevision waits until all up to a revision is stored.
func (a *archiving) awaitRevision(t *testing.T, revision int64) task.ArchiveProgress {
	t.Helper()
	return a.await(t, fmt.Sprint("revision ", revision), func(p task.ArchiveProgress) bool {
		return p.Revision >= revision && p.Failure == nil && !p.RecoveryTime.IsZero()
	})
}

// segments are those that are stored.
func (a *archiving) segments(t *testing.T) []archive.Segment {
	t.Helper()
	to, err := a.openArchive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.close()
	all, err := segments(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// putKeys puts a few keys and returns the newest revision.
func putKeys(t *testing.T, c *cluster, client *clientv3.Client, n int, word string) (revision int64) {
	t.Helper()
	for i := range n {
		key := fmt.Sprintf("%s-%d", word, i)
		got, err := client.Put(t.Context(), key, word)
		if err != nil {
			t.Fatal(err)
		}
		c.keys[key], revision = word, got.Header.Revision
	}
	return revision
}

// restored is what a snapshot and the archive hold of a revision.
func (a *archiving) restored(t *testing.T, timeline uint32, revision int64) map[string]string {
	t.Helper()
	from, err := a.destination(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.close()
	names, err := from.list(t.Context(), from.path()+"_v")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	f := fetch(t, from, names[0])
	keys, at, begin := contentOf(t, f.Name())
	to, err := a.openArchive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.close()
	all, err := segments(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	cluster := all[0].ClusterID
	chain, err := archive.Chain(all, cluster, timeline, at, revision)
	if err != nil {
		t.Fatal(err)
	}
	changes := archive.NewChanges(chain, at, revision, begin, func(s archive.Segment) (io.ReadCloser, error) {
		return to.read(t.Context(), nameOf(to, s))
	})
	defer changes.Close()
	for {
		record, value, err := changes.Next()
		if errors.Is(err, io.EOF) {
			return keys
		}
		if err == nil {
			err = apply(keys, record, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fetch copies a stored snapshot.
func fetch(t *testing.T, from destination, name string) *os.File {
	t.Helper()
	stored, err := from.read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := io.Copy(f, snapshot.NewReader(stored)); err != nil {
		t.Fatal(err)
	}
	return f
}

// saveNow takes a snapshot.
func saveNow(t *testing.T, tk task.Task, at time.Time) task.Result {
	t.Helper()
	tk.Archive, tk.Time = nil, at
	return mustSave(t, tk)
}

// idOf is a member's id as it is told.
func idOf(t *testing.T, m *etcdtest.Member) string {
	t.Helper()
	got, err := m.Dial(t, "", "").Status(t.Context(), m.Client)
	if err != nil {
		t.Fatal(err)
	}
	return hex(got.Header.MemberId)
}

// contentOf is what a database file has: its keys, its revision, and what an archive that begins
// behind that has for lineage.
func contentOf(t *testing.T, file string) (keys map[string]string, revision int64, lineage archive.Lineage) {
	t.Helper()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys, revision = map[string]string{}, 1 // of an etcd to which nothing was written
	var begin archive.Begin
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("key")).ForEach(func(record, value []byte) error { // oldest first
			if main := int64(binary.BigEndian.Uint64(record)); main != revision {
				revision, begin = main, archive.Begin{}
			}
			begin.Add(record, value)
			return apply(keys, record, value)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, revision, begin.Lineage()
}

// apply applies a record of etcd's history.
func apply(keys map[string]string, record, value []byte) error {
	var kv mvccpb.KeyValue
	if err := proto.Unmarshal(value, &kv); err != nil {
		return err
	}
	if len(record) > 17 { // a deletion
		delete(keys, string(kv.Key))
		return nil
	}
	keys[string(kv.Key)] = string(kv.Value)
	return nil
}
