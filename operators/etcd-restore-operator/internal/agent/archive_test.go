package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// archived is an etcd of which all that follows on its snapshot is recorded.
type archived struct {
	*origin
	id     uint64
	mu     sync.Mutex
	stored map[archive.Segment][]byte
	writes []written
	stop   func() error
}

// written is a write that was acknowledged.
type written struct {
	begun, acknowledged time.Time
	revision            int64
}

// startArchived starts an etcd that is recorded until the test has written what it wants.
func startArchived(t *testing.T, version string) *archived {
	t.Helper()
	a := &archived{origin: startOrigin(t, version), stored: map[archive.Segment][]byte{}}
	status, err := a.client.Status(t.Context(), a.client.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	a.id = status.Header.ClusterId
	r := archive.Recorder{
		Conn: a.client.ActiveConnection(), ClusterID: a.id, Timeline: 1, Dir: t.TempDir(), Interval: 100 * time.Millisecond, Idle: 200 * time.Millisecond,
		Size: 1 << 20, HashEvery: time.Nanosecond, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Store: func(_ context.Context, s archive.Segment, content *os.File) error {
			all, err := io.ReadAll(content)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.stored[s] = all
			return err
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Record(ctx, archive.Position{Revision: a.revision})
		ended <- err
	}()
	a.stop = sync.OnceValue(func() error {
		cancel()
		return etcdtest.Receive(t, "the recorder to end", ended)
	})
	t.Cleanup(func() { _ = a.stop() })
	return a
}

// write writes n keys, waits until they are recorded, and returns the newest revision.
func (a *archived) write(t *testing.T, n int, word string) (revision int64) {
	t.Helper()
	for i := range n {
		w := written{begun: time.Now()}
		got, err := a.client.Put(t.Context(), fmt.Sprintf("%s-%d", word, i%7), fmt.Sprintf("%s-%d", word, i))
		if err != nil {
			t.Fatal(err)
		}
		w.acknowledged, w.revision = time.Now(), got.Header.Revision
		a.writes, revision = append(a.writes, w), w.revision
	}
	etcdtest.Eventually(t, "all is recorded", func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if end := archive.End(slices.Collect(maps.Keys(a.stored)), a.id, 1, a.revision); end < revision {
			return fmt.Errorf("it ends at %d of %d", end, revision)
		}
		return nil
	})
	return revision
}

// snapshotName is that of the snapshot beside the archive.
func (a *archived) snapshotName(dir string) string { return at(dir, a.revision, 1) }

// onVolume is a task whose volume has the snapshot and the archive.
func (a *archived) onVolume(t *testing.T) task.Task {
	t.Helper()
	if err := a.stop(); !errors.Is(err, context.Canceled) && err != nil && !strings.Contains(err.Error(), "canceled") {
		t.Fatal(err)
	}
	tk := onVolume(t, a.content)
	name := a.snapshotName("etcd")
	if err := os.Rename(filepath.Join(tk.PVC.Dir, tk.PVC.Path), filepath.Join(tk.PVC.Dir, name)); err != nil {
		t.Fatal(err)
	}
	tk.PVC.Path = name
	folder := filepath.Join(tk.PVC.Dir, archive.Folder("etcd"))
	if err := os.MkdirAll(filepath.Join(folder, "notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	for s, content := range a.stored {
		if err := os.WriteFile(filepath.Join(folder, s.Name()), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tk
}

// segments are those with changes, in order.
func (a *archived) segments() []archive.Segment {
	all := slices.DeleteFunc(slices.Collect(maps.Keys(a.stored)), func(s archive.Segment) bool { return s.Last < s.First })
	slices.SortFunc(all, func(a, b archive.Segment) int { return int(a.First - b.First) })
	return all
}

// file is that of a segment on a task's volume.
func file(tk task.Task, s archive.Segment) string {
	return filepath.Join(tk.PVC.Dir, archive.Folder("etcd"), s.Name())
}

// A cluster is restored as of any revision that was recorded after the snapshot, with every key as
// it was, whether that was verified before or not.
func TestRestoreByTheArchive(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcd string) {
		t.Parallel()
		a := startArchived(t, etcd)
		first := a.write(t, 40, "one")
		if _, err := a.client.Delete(t.Context(), "key-50"); err != nil {
			t.Fatal(err)
		}
		last := a.write(t, 40, "two")
		tk := a.onVolume(t)
		for name, c := range map[string]struct {
			revision int64
			prefixes []string
			verify   bool
		}{
			"the next":            {revision: a.revision + 1},
			"in the middle":       {revision: first + 1, verify: true},
			"the last":            {revision: last},
			"of the snapshot":     {revision: a.revision - 20},
			"of some keys":        {revision: last, prefixes: []string{"two-", "key-5"}, verify: true},
			"of keys of the past": {revision: first, prefixes: []string{"two-"}},
		} {
			t.Run(name, func(t *testing.T) {
				want := a.as(t, c.revision)
				all := len(want)
				if c.prefixes != nil {
					want = underOnly(want, c.prefixes...)
				}
				tk := tk
				tk.Revision, tk.Prefixes = c.revision, c.prefixes
				appended := max(c.revision-a.revision, 0)
				check := func(result task.Result) {
					t.Helper()
					got := result.Cut
					if got == nil || got.Revision != c.revision || got.TotalKeys != int64(len(want)) || got.Appended != appended || (got.DatabaseSize > 0) != (appended > 0) || !got.Time.IsZero() {
						t.Fatalf("told %+v, want %d keys", got, len(want))
					}
					if c.prefixes != nil && *got.LeftOut != int64(all-len(want)) {
						t.Errorf("left out %d, want %d", *got.LeftOut, all-len(want))
					}
				}
				var found *task.Snapshot
				if c.verify {
					verified := must(t, tk)
					check(verified)
					found = verified.Snapshot
				}
				m := etcdtest.NewMember(t, etcd, "seed")
				tk = restoring(t, tk, found, m, 1)
				tk.Member.Bump = bump
				result := must(t, tk)
				check(result)
				begins := max(c.revision, a.revision) + bump
				if result.Revision != begins {
					t.Errorf("it begins at %d, want %d", result.Revision, begins)
				}
				m.Start(t, "new", m)
				m.WaitReady(t)
				if got, revision := stateOf(t, connect(t, m)); !maps.Equal(got, want) || revision != begins {
					t.Errorf("the cluster has %d keys at revision %d, want %d at %d", len(got), revision, len(want), begins)
				}
			})
		}
	})
}

// As of a time, all that was acknowledged before the recovery point is there, and nothing that
// began later than the time.
func TestRestoreToATime(t *testing.T) {
	t.Parallel()
	a := startArchived(t, etcdtest.Newest())
	a.write(t, 150, "one")
	a.write(t, 150, "two")
	tk := a.onVolume(t)
	for i := 150; i < len(a.writes); i += 37 { // of the second, so that the archive has begun
		tk.Time = a.writes[i].begun
		got := must(t, tk).Cut
		if got == nil || got.Time.IsZero() || got.Time.After(tk.Time) || tk.Time.Sub(got.Time) > 30*time.Second {
			t.Fatalf("told %+v, for %s", got, tk.Time)
		}
		for _, w := range a.writes {
			if w.acknowledged.Before(got.Time) && w.revision > got.Revision || w.begun.After(tk.Time) && w.revision <= got.Revision {
				t.Errorf("revision %d was written from %s to %s: as of %s, revision %d was restored, and the recovery point is %s", w.revision, w.begun, w.acknowledged, tk.Time, got.Revision, got.Time)
			}
		}
	}
	want := must(t, tk).Cut
	m := etcdtest.NewMember(t, etcdtest.Newest(), "seed")
	tk = preparing(t, tk, m, a.revision+bump)
	for range 2 { // it is prepared once
		if got := must(t, tk).Cut; got == nil || *got != *want {
			t.Errorf("prepared %+v, want %+v", got, want)
		}
	}
	tk.Time = time.Time{}
	if got := must(t, tk).Cut; got != nil {
		t.Errorf("another task tells %+v", got)
	}
}

// Whatever the archive lacks, the restore is refused before anything is touched, and the message
// says what can be restored.
func TestAnArchiveThatDoesNotLeadThere(t *testing.T) {
	t.Parallel()
	a := startArchived(t, etcdtest.Newest())
	for range 4 {
		a.write(t, 20, "one")
	}
	base := a.onVolume(t)
	last, all := a.writes[len(a.writes)-1], a.segments()
	if len(all) < 4 {
		t.Fatalf("there are %d segments", len(all))
	}
	second := all[1]
	for name, c := range map[string]struct {
		change        func(t *testing.T, tk *task.Task)
		reason, words string
	}{
		"later": {func(_ *testing.T, tk *task.Task) { tk.Revision = last.revision + 10 }, task.ReasonRevisionNotHeld,
			fmt.Sprintf("in pvc://claim/etcd_archive/, the archive ends before revision %d: set spec.revision to %d or lower", last.revision+1, last.revision)},
		"a segment is missing": {func(t *testing.T, tk *task.Task) { remove(t, file(*tk, second)) }, task.ReasonRevisionNotHeld,
			fmt.Sprintf("it does not hold revisions %d to %d", second.First, second.Last)},
		"no archive": {func(t *testing.T, tk *task.Task) {
			if err := os.RemoveAll(filepath.Dir(file(*tk, second))); err != nil {
				t.Fatal(err)
			}
		}, task.ReasonRevisionNotHeld, "holds revisions 150 to 211, and not revision"},
		"no archive, of a time": {func(t *testing.T, tk *task.Task) {
			if err := os.RemoveAll(filepath.Dir(file(*tk, second))); err != nil {
				t.Fatal(err)
			}
			tk.Revision, tk.Time = 0, last.begun
		}, task.ReasonTimeNotHeld, "no archive of the snapshot's cluster"},
		"a name without an archive": {func(t *testing.T, tk *task.Task) {
			if err := os.Rename(filepath.Join(tk.PVC.Dir, tk.PVC.Path), filepath.Join(tk.PVC.Dir, "file")); err != nil {
				t.Fatal(err)
			}
			tk.PVC.Path, tk.Revision, tk.Time = "file", 0, last.begun
		}, task.ReasonTimeNotHeld, "(beside it)"},
		"a segment is cut": {func(t *testing.T, tk *task.Task) {
			overwrite(t, file(*tk, second), a.stored[second][:len(a.stored[second])/2])
		}, task.ReasonArchiveUnusable, "it is cut short"},
		"a segment is cut, of a time": {func(t *testing.T, tk *task.Task) {
			for _, s := range all {
				overwrite(t, file(*tk, s), a.stored[s][:len(a.stored[s])/2])
			}
			tk.Revision, tk.Time = 0, last.begun
		}, task.ReasonArchiveUnusable, "it is cut short"},
		"a segment is another one": {func(t *testing.T, tk *task.Task) { overwrite(t, file(*tk, second), a.stored[all[2]]) }, task.ReasonArchiveUnusable, "the segment follows lineage"},
		"two histories": {func(t *testing.T, tk *task.Task) {
			fork := second
			fork.Ends++
			overwrite(t, file(*tk, fork), a.stored[second])
		}, task.ReasonArchiveUnusable, "the archive holds two histories"},
		"of another history": {func(t *testing.T, tk *task.Task) {
			overwrite(t, filepath.Join(tk.PVC.Dir, tk.PVC.Path), altered(t, a.content, "value-199", "value-xxx"))
			overwrite(t, filepath.Join(tk.PVC.Dir, tk.PVC.Path), altered(t, a.content, "key-9", "key-x"))
		}, task.ReasonArchiveUnusable, "does not belong to the snapshot"},
		"of several clusters": {func(t *testing.T, tk *task.Task) {
			foreign := second
			foreign.ClusterID++
			overwrite(t, file(*tk, foreign), nil)
		}, task.ReasonClusterAmbiguous, "has segments of several"},
		"another hash": {func(t *testing.T, tk *task.Task) { a.rehash(t, *tk) }, task.ReasonHashMismatch, "data differs from what was recorded"},
		// Its newest mark might be older than its newest change.
		"a time after its end":    {func(_ *testing.T, tk *task.Task) { tk.Revision, tk.Time = 0, last.begun.Add(time.Hour) }, task.ReasonTimeNotHeld, ", and does not tell what was written until"},
		"a time before its begin": {func(_ *testing.T, tk *task.Task) { tk.Revision, tk.Time = 0, last.begun.Add(-time.Hour) }, task.ReasonTimeNotHeld, "begins at"},
		"a time before what the snapshot holds": {func(t *testing.T, tk *task.Task) {
			a.rewrite(t, *tk, func(w *archive.Writer, _ archive.Segment) error {
				return w.Mark(archive.Mark{Revision: 100, Asked: last.begun, Answered: last.begun})
			})
			tk.Revision, tk.Time = 0, last.begun.Add(time.Second)
		}, task.ReasonTimeNotHeld, "the cluster was at revision 100"},
		"a time that came twice": {func(t *testing.T, tk *task.Task) {
			at := last.begun.Add(time.Second).UTC()
			a.rewrite(t, *tk, func(w *archive.Writer, s archive.Segment) error {
				return errors.Join(w.Mark(archive.Mark{Revision: s.Last, Asked: at, Answered: at}),
					w.Times(archive.Times{{Begin: at, End: at, First: all[0].Last, Last: all[0].Last}, {Begin: at, End: at, First: last.revision, Last: last.revision}}))
			})
			tk.Revision, tk.Time = 0, at
		}, task.ReasonTimeNotHeld, fmt.Sprintf("this time came 2 times: first at revision %d, and last at revision %d: set spec.revision", all[0].Last, last.revision)},
		"a time that came in two timelines": {func(t *testing.T, tk *task.Task) {
			at := last.begun.Add(time.Second)
			for timeline, revision := range map[uint32]int64{7: 100, 8: 200} {
				idle(t, *tk, second.ClusterID, timeline, revision, at)
			}
			tk.Revision, tk.Time = 0, at
		}, task.ReasonTimeNotHeld, "first at revision 100, and last at revision"},
		"a time in a hole": {func(t *testing.T, tk *task.Task) { a.hole(t, tk) }, task.ReasonTimeNotHeld, "does not tell when revisions"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := base
			pvc := *base.PVC
			pvc.Dir = t.TempDir()
			if err := os.CopyFS(pvc.Dir, os.DirFS(base.PVC.Dir)); err != nil {
				t.Fatal(err)
			}
			tk.PVC, tk.Revision = &pvc, last.revision
			c.change(t, &tk)
			mustFail(t, tk, c.reason, c.words)
			tk = restoring(t, tk, nil, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), a.revision+bump)
			mustFail(t, tk, c.reason, c.words)
			mustHaveNoData(t, tk)
		})
	}
}

// Once members might be stopped for what was verified, another hash is no end: the copy is made anew.
func TestAnotherHashOfAnArchiveThatWasVerified(t *testing.T) {
	t.Parallel()
	a := startArchived(t, etcdtest.Newest())
	last := a.write(t, 20, "one")
	tk := a.onVolume(t)
	tk.Revision = last
	found := must(t, tk).Snapshot
	a.rehash(t, tk)
	tk = restoring(t, tk, found, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), a.revision+bump)
	code, result := carry(t.Context(), t, tk)
	checkFailure(t, code, result, agent.ExitRetry, task.ReasonHashMismatch, "both are fetched again")
	mustHaveNoData(t, tk)
}

// mustHaveNoData checks that nothing was made of what was refused.
func mustHaveNoData(t *testing.T, tk task.Task) {
	t.Helper()
	if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
		t.Errorf("the volume holds %v", got)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rewrite writes all segments of a task's volume anew, in one segment each, with other marks and
// hashes.
func (a *archived) rewrite(t *testing.T, tk task.Task, more func(w *archive.Writer, s archive.Segment) error) {
	t.Helper()
	position := archive.Position{}
	for _, s := range a.segments() {
		remove(t, file(tk, s))
		if position.At == 0 {
			position = archive.Position{Revision: s.First - 1, At: s.Follows}
		}
		r, err := archive.NewReader(bytes.NewReader(a.stored[s]), s)
		if err != nil {
			t.Fatal(err)
		}
		var content bytes.Buffer
		w, err := archive.NewWriter(&content, s.ClusterID, s.Timeline, position)
		if err != nil {
			t.Fatal(err)
		}
		for {
			record, value, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err = errors.Join(err, w.Change(record, value)); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		position = w.Position()
		if err := more(w, s); err != nil {
			t.Fatal(err)
		}
		renewed, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, file(tk, renewed), content.Bytes())
	}
	for s := range a.stored { // what tells that nothing was written
		if s.Last < s.First {
			remove(t, file(tk, s))
		}
	}
}

// idle writes a segment of a timeline that tells of one revision around a time.
func idle(t *testing.T, tk task.Task, cluster uint64, timeline uint32, revision int64, around time.Time) {
	t.Helper()
	var content bytes.Buffer
	w, err := archive.NewWriter(&content, cluster, timeline, archive.Position{Revision: revision, At: 1})
	for _, at := range []time.Time{around.Add(-time.Minute), around.Add(time.Minute)} {
		err = errors.Join(err, w.Mark(archive.Mark{Revision: revision, Asked: at, Answered: at}))
	}
	s, closed := w.Close()
	if err = errors.Join(err, closed); err != nil {
		t.Fatal(err)
	}
	overwrite(t, file(tk, s), content.Bytes())
}

// rehash has the archive say that the cluster had another hash.
func (a *archived) rehash(t *testing.T, tk task.Task) {
	a.rewrite(t, tk, func(w *archive.Writer, s archive.Segment) error {
		return w.Hash(archive.Hash{Revision: s.Last, Compacted: 150, Hash: 1})
	})
}

// hole has the archive say that ten minutes lie between its segments, and asks for a time between
// the first two.
func (a *archived) hole(t *testing.T, tk *task.Task) {
	at := a.writes[0].begun
	a.rewrite(t, *tk, func(w *archive.Writer, s archive.Segment) error {
		m := archive.Mark{Revision: s.Last, Asked: at, Answered: at.Add(time.Second)}
		at = at.Add(10 * time.Minute)
		return w.Mark(m)
	})
	tk.Revision, tk.Time = 0, a.writes[0].begun.Add(5*time.Minute)
}

// putArchive stores the segments beside the snapshots of a path, and a snapshot of that name.
func (a *archived) putArchive(t *testing.T, s *store, path string) {
	t.Helper()
	b := bucketName
	for segment, content := range a.stored {
		key := archive.Folder(path) + segment.Name()
		if _, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: bytes.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
}

// In a store the base of a revision, and of a time, is found under a prefix; and what breaks
// meanwhile is tried again.
func TestTheSnapshotUnderAPrefixThatAnArchiveFollowsOn(t *testing.T) {
	t.Parallel()
	a := startArchived(t, etcdtest.Newest())
	a.write(t, 30, "one")
	last := a.write(t, 5, "two") // which begins when the first are recorded
	_ = a.onVolume(t)            // nothing is recorded any more
	s := startStore(t)
	id := fmt.Sprintf("%016x", a.id)
	name := a.snapshotName("prod/etcd")
	s.putAs(t, name, id, a.content)
	s.putAs(t, at("prod/etcd", a.revision-1, 0), "00000000000000ff", a.content)
	s.putAs(t, at("prod/etcd", 5, 2), id, a.content)
	a.putArchive(t, s, "prod/etcd")
	tk := s.under(t, "prod/")
	tk.ClusterID = id
	for what, change := range map[string]func(*task.Task){
		"a revision": func(tk *task.Task) { tk.Revision = last },
		"by its key": func(tk *task.Task) {
			tk.Store.Newest, tk.Store.Prefix, tk.Store.Key, tk.Revision = false, "", name, last
		},
	} {
		t.Run(what, func(t *testing.T) {
			tk, place := tk, *tk.Store
			tk.Store = &place
			change(&tk)
			got := must(t, tk)
			if got.Snapshot.Location != "s3://"+bucketName+"/"+name || got.Cut == nil || got.Cut.Revision != last {
				t.Errorf("found %+v, %+v", got.Snapshot, got.Cut)
			}
		})
	}
	t.Run("beyond its end", func(t *testing.T) {
		tk := tk
		tk.Revision = last + 1
		mustFail(t, tk, task.ReasonRevisionNotHeld, fmt.Sprintf("the archive ends before revision %d (s3://backups/prod/etcd_archive/)", last+1))
	})
	t.Run("a time", func(t *testing.T) { // the names are of 2026, the newest before it is chosen
		tk := tk
		tk.Time = a.writes[30].begun
		got, newest := must, at("prod/etcd", 5, 2)
		if found := got(t, tk).Snapshot.Location; !tk.Time.Before(midnight) && found != "s3://"+bucketName+"/"+newest {
			t.Errorf("found %s", found)
		}
	})
	t.Run("a time, of no cluster", func(t *testing.T) {
		tk := tk
		tk.Time, tk.ClusterID = a.writes[30].begun, "00000000000000aa"
		mustFail(t, tk, task.ReasonWrongCluster, "records that it is of cluster")
	})
	t.Run("a segment is deleted meanwhile", func(t *testing.T) {
		gone := s.proxy.Inject(s3test.Fault{Do: s3test.Answer(404, "NoSuchKey"), When: func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".seg")
		}})
		tk := tk
		tk.Revision = last
		code, result := carry(t.Context(), t, tk)
		checkFailure(t, code, result, agent.ExitRetry, task.ReasonChanged, "was deleted since it was listed")
		if s.proxy.Hits(gone) < attempts {
			t.Errorf("it was tried %d times", s.proxy.Hits(gone))
		}
	})
}

func TestBothARevisionAndATime(t *testing.T) {
	t.Parallel()
	tk := onVolume(t, []byte("any"))
	tk.Revision, tk.Time = 5, midnight
	mustFail(t, tk, agent.ReasonInvalidTask, "both a revision and a time")
}
