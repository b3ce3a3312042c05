package agent

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// Whatever was written is in the store shortly after, also while the archiver is restarted, and
// with a snapshot it restores to any of its revisions; in S3 and on a volume, with every etcd.
func TestArchive(t *testing.T) {
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 1)
		client := c.client(t)
		dir := t.TempDir()
		for name, tk := range map[string]task.Task{
			"S3":     toS3(c.endpoints(), s.place(t, "archive/"+version)),
			"volume": toPVC(c.endpoints(), dir, "backups/etcd"),
		} {
			t.Run(name, func(t *testing.T) {
				tk := recordingOf(tk)
				putKeys(t, c, client, 5, name+"-before")
				a := startArchiver(t, tk)
				p := a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
				if p.Timeline != 1 || p.ClusterID == "" || p.MemberID == "" || p.Gap != nil || !p.AuthChanged.IsZero() || p.Time.IsZero() {
					t.Errorf("it tells %+v", p)
				}
				saveNow(t, tk, due)
				first := putKeys(t, c, client, 5, name+"-first")
				keys := maps.Clone(c.keys)
				before := time.Now()
				p = a.await(t, "the recovery point", func(p task.ArchiveProgress) bool { return p.RecoveryTime.After(before) })
				if p.Revision != first || p.Newest != first {
					t.Errorf("it tells %+v, want revision %d", p, first)
				}
				a.stop()
				putKeys(t, c, client, 5, name+"-second") // nobody records
				a = startArchiver(t, tk)
				last := putKeys(t, c, client, 5, name+"-third")
				if p := a.awaitRevision(t, last); p.Timeline != 1 || p.Gap != nil {
					t.Errorf("it tells %+v", p)
				}
				if got := a.restored(t, 1, first); !maps.Equal(got, keys) {
					t.Errorf("at revision %d it restores %v, want %v", first, got, keys)
				}
				if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
					t.Errorf("at revision %d it restores %v, want %v", last, got, c.keys)
				}
			})
		}
	})
}

// A store that refuses is told, with what is wrong, and nothing is missing once it takes segments
// again.
func TestArchiveStoreRefuses(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	tk := recordingOf(toS3(c.endpoints(), s.place(t, "etcd")))
	a := startArchiver(t, tk)
	a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
	saveNow(t, tk, due)
	s.proxy.Inject(s3test.Fault{When: s3test.IsPut, Times: 3, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
	last := putKeys(t, c, c.client(t), 5, "key")
	p := a.await(t, "the failure", func(p task.ArchiveProgress) bool { return p.Failure != nil && p.Failure.Reason == "AccessDenied" })
	if p.Revision >= last {
		t.Errorf("it tells %+v", p)
	}
	a.awaitRevision(t, last)
	if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
		t.Errorf("it restores %v, want %v", got, c.keys)
	}
}

// The next timeline begins where etcd has compacted what was not recorded, where its data was
// rolled back, and where the newest segment is damaged; and the gap is told.
func TestArchiveGaps(t *testing.T) {
	c, dir := startCluster(t, etcdtest.Newest(), 1), t.TempDir()
	tk := recordingOf(toPVC(c.endpoints(), dir, "backups/etcd"))
	a := startArchiver(t, tk)
	last := putKeys(t, c, c.client(t), 5, "first")
	a.awaitRevision(t, last)
	a.stop()

	compacted := putKeys(t, c, c.client(t), 5, "unseen")
	if _, err := c.client(t).Compact(t.Context(), compacted-1); err != nil {
		t.Fatal(err)
	}
	a = startArchiver(t, tk)
	p := a.await(t, "timeline 2", func(p task.ArchiveProgress) bool { return p.Timeline == 2 && p.Failure == nil })
	if p.Gap == nil || p.Gap.From != last+1 || p.Gap.To != compacted || p.Begin != compacted || !strings.Contains(p.Gap.Message, "compacted") || p.Gap.Time.IsZero() {
		t.Errorf("it tells %+v, %+v", p, p.Gap)
	}
	last = putKeys(t, c, c.client(t), 5, "second")
	a.awaitRevision(t, last)
	a.stop()

	copied := filepath.Join(t.TempDir(), "copy")
	m := c.members[0]
	c.processes[0].Terminate()
	if err := os.CopyFS(copied, os.DirFS(m.Dir)); err != nil {
		t.Fatal(err)
	}
	c.processes[0] = m.Start(t, "existing", m)
	m.WaitReady(t)
	a = startArchiver(t, tk)
	last = putKeys(t, c, c.client(t), 5, "lost")
	if p := a.awaitRevision(t, last); p.Timeline != 2 {
		t.Errorf("it tells %+v", p)
	}
	c.processes[0].Terminate()
	if err := errors.Join(os.RemoveAll(m.Dir), os.CopyFS(m.Dir, os.DirFS(copied))); err != nil {
		t.Fatal(err)
	}
	c.processes[0] = m.Start(t, "existing", m)
	m.WaitReady(t)
	putKeys(t, c, c.client(t), 9, "other") // beyond the revision that was archived
	p = a.await(t, "timeline 3", func(p task.ArchiveProgress) bool { return p.Timeline == 3 && p.Failure == nil })
	if p.Gap == nil || p.Gap.From != last+1 || !strings.Contains(p.Gap.Message, "rolled back") {
		t.Errorf("it tells %+v, %+v", p, p.Gap)
	}
	last = putKeys(t, c, c.client(t), 5, "third")
	a.awaitRevision(t, last)
	a.stop()

	newest, _ := archive.Newest(a.segments(t), a.segments(t)[0].ClusterID)
	file := filepath.Join(dir, "backups", archive.Folder("etcd"), newest.Name())
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	a = startArchiver(t, tk)
	p = a.await(t, "timeline 4", func(p task.ArchiveProgress) bool { return p.Timeline == 4 && p.Failure == nil })
	if p.Gap == nil || p.Gap.From != newest.First || !strings.Contains(p.Gap.Message, "damaged") {
		t.Errorf("it tells %+v, %+v", p, p.Gap)
	}
}

// Members that end, authentication that is enabled, and users that change end no archive.
func TestArchiveOutlivesItsMembers(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c, dir := startCluster(t, version, 3), t.TempDir()
		tk := recordingOf(toPVC(c.endpoints(), dir, "backups/etcd"))
		tk.AuthDir, tk.Cluster, tk.OwnAuth = mounted(t, map[string]string{"password": "secret"}), "example", true
		a := startArchiver(t, tk)
		p := a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
		saveNow(t, tk, due)
		putKeys(t, c, c.client(t), 5, "before")
		watched := slices.IndexFunc(c.members, func(m *etcdtest.Member) bool { return idOf(t, m) == p.MemberID })
		c.processes[watched].Kill()
		left := &cluster{keys: c.keys, members: slices.Delete(slices.Clone(c.members), watched, watched+1)}
		last := putKeys(t, c, left.client(t), 5, "after")
		if p := a.awaitRevision(t, last); p.Timeline != 1 {
			t.Errorf("it tells %+v", p)
		}
		left.members[0].EnableAuth(t, "secret")
		a.await(t, "the change of users", func(p task.ArchiveProgress) bool { return !p.AuthChanged.IsZero() })
		last = putKeys(t, c, left.members[0].Dial(t, "root", "secret"), 5, "with a user")
		if p := a.awaitRevision(t, last); p.Timeline != 1 || p.Gap != nil {
			t.Errorf("it tells %+v", p)
		}
		if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
			t.Errorf("it restores %v, want %v", got, c.keys)
		}
	})
}

// Segments that no snapshot needs are deleted, and no others: neither those of a cluster without
// one, nor any while a snapshot does not tell what it is of.
func TestArchivePrunes(t *testing.T) {
	c, dir := startCluster(t, etcdtest.Newest(), 1), t.TempDir()
	tk := recordingOf(toPVC(c.endpoints(), dir, "backups/etcd"))
	a := startArchiver(t, tk)
	a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
	last := int64(0)
	for i := range 3 {
		last = putKeys(t, c, c.client(t), 1, fmt.Sprint("key", i))
		a.awaitRevision(t, last)
	}
	if n := len(a.segments(t)); n != 3 {
		t.Errorf("%d segments are left without a snapshot", n)
	}
	folder := filepath.Join(dir, "backups")
	unknown := snapshotname.Name("backups/etcd", 1, due)
	if err := os.WriteFile(filepath.Join(dir, unknown), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := saveNow(t, tk, due.Add(time.Hour))
	last = putKeys(t, c, c.client(t), 1, "more")
	a.awaitRevision(t, last)
	if n := len(a.segments(t)); n != 4 {
		t.Errorf("%d segments are left, beside a snapshot of an unknown cluster", n)
	}
	if err := os.Remove(filepath.Join(dir, unknown)); err != nil {
		t.Fatal(err)
	}
	last = putKeys(t, c, c.client(t), 1, "even more")
	a.awaitRevision(t, last)
	etcdtest.Eventually(t, "the segments to be deleted", func() error {
		for _, s := range a.segments(t) {
			if s.Last < saved.Revision {
				return fmt.Errorf("segment %s is there, and the snapshot is of revision %d", s.Name(), saved.Revision)
			}
		}
		return nil
	})
	if got := a.restored(t, 1, last); !maps.Equal(got, c.keys) {
		t.Errorf("it restores %v, want %v", got, c.keys)
	}
	if sidecars, err := os.ReadDir(filepath.Join(folder, archive.Folder("etcd"), ownDir)); err != nil || len(sidecars) != len(a.segments(t)) {
		t.Errorf("%d sidecars, %v", len(sidecars), err)
	}
}
