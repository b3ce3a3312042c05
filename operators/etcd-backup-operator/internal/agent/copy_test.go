package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// toGoogle is a second place at a server.
func toGoogle(t *testing.T, proxy *s3test.Proxy) *task.Copy {
	return &task.Copy{Store: &agent.Store{
		Type: v1beta2.StorageGCS, Bucket: "mybucket", Key: "copies/etcd", Endpoint: proxy.Endpoint,
		SecretDir: gcstest.SecretDir(t, gcstest.Credentials(t)), Secret: "google",
	}}
}

// toClaim is a second place on a volume.
func toClaim(dir string) *task.Copy {
	return &task.Copy{PVC: &agent.PVC{Claim: "copies", Dir: dir, Path: "dir/etcd"}}
}

// copyOf copies what was stored, as the operator asks for it.
func copyOf(tk task.Task, at time.Time, r task.Result, to *task.Copy) task.Task {
	tk.Endpoints, tk.Time = nil, at
	to.Of = &task.Stored{Location: r.Location, SHA256: r.SHA256, Size: r.Size, Revision: r.Revision, ClusterID: r.ClusterID}
	tk.Copy = to
	return tk
}

// A backup is copied to a store of another type. What fails there fails no backup, the next one
// copies what is missing, and retention is kept in both places.
func TestCopies(t *testing.T) {
	s := startStore(t)
	server := gcstest.Start(t)
	bucket, proxy := server.Bucket(t, "mybucket"), server.NewProxy(t)
	c := startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 10, 100)
	tk := toS3(c.endpoints(), s.place(t, "etcd"))
	tk.Repeated, tk.Overwrite, tk.MaxBackups = true, false, 3
	var names []string
	save := func() task.Result {
		t.Helper()
		r := saveNow(t, tk, due.AddDate(0, 0, len(names)))
		names = append(names, snapshotname.Name("etcd", r.Revision, due.AddDate(0, 0, len(names))))
		return r
	}
	copyTask := func(r task.Result) task.Task {
		return copyOf(tk, due.AddDate(0, 0, len(names)-1), r, toGoogle(t, proxy))
	}
	checkCopies := func(want ...string) {
		t.Helper()
		var all []string
		for _, key := range gcstest.Keys(t, bucket) {
			all = append(all, strings.TrimPrefix(key, "copies/"))
		}
		slices.Sort(want)
		if !slices.Equal(slices.Sorted(slices.Values(all)), want) {
			t.Errorf("the copies are %v, want %v", all, want)
		}
	}
	save()
	if r := mustSave(t, copyTask(save())); r.Location != "gcs://mybucket/copies/"+names[1] {
		t.Errorf("the copy is %+v", r)
	}
	checkCopies(names[1])
	proxy.Inject(s3test.Fault{Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected by a test")})
	mustFail(t, copyTask(save()), agent.ReasonAccessDenied, agent.ExitPermanent, "roles/storage.objectUser")
	proxy.Heal()
	saved := save()
	s.checkKeys(t, names[1:]...)
	// Of a backup of another cluster, or of another EtcdBackup, nothing is deleted there.
	foreign := snapshotname.Name("etcd", 1, due.AddDate(0, 0, -9))
	w := bucket.Object("copies/" + foreign).NewWriter(t.Context())
	w.Metadata = map[string]string{metaCluster: saved.ClusterID, metaRevision: "1", metaBackup: "ns/another"}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	mustSave(t, copyTask(saved))
	checkCopies(names[1], names[2], names[3], foreign)
	checkFile(t, c, bytes.NewReader(gcstest.Get(t, bucket, "copies/"+names[3])), saved)
	attrs, err := bucket.Object("copies/" + names[2]).Attrs(t.Context())
	if err != nil || attrs.Metadata[metaCluster] != saved.ClusterID || attrs.Metadata[metaUID] != tk.UID {
		t.Errorf("the metadata of a copy is %v, %v", attrs, err)
	}
	if r := mustSave(t, copyTask(save())); r.Deleted != 1 {
		t.Errorf("the result is %+v", r)
	}
	s.checkKeys(t, names[2:]...)
	checkCopies(names[2], names[3], names[4], foreign)
	mustSave(t, copyTask(saved)) // by another Pod that comes late
	checkCopies(names[2], names[3], names[4], foreign)
}

// The copy of a one-shot backup replaces what the backup itself would.
func TestCopyOfOneBackup(t *testing.T) {
	s := startStore(t)
	dir := t.TempDir()
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := toS3(c.endpoints(), s.place(t, "etcd"))
	var r task.Result
	for range 2 {
		c.fill(t, 3, 100)
		r = mustSave(t, tk)
		if copied := mustSave(t, copyOf(tk, due, r, toClaim(dir))); copied.Location != "pvc://copies/dir/etcd" {
			t.Fatalf("the copy is %+v", copied)
		}
		content, err := os.ReadFile(filepath.Join(dir, "dir/etcd"))
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, c, bytes.NewReader(content), r)
	}
	storeFile(t, dir, "dir/etcd", of(1, 5))
	mustFail(t, copyOf(tk, due, r, toClaim(dir)), v1beta2.BackupReasonOtherCluster, agent.ExitPermanent, "of another cluster")
	r.Location = "s3://elsewhere/etcd"
	mustFail(t, copyOf(tk, due, r, toClaim(dir)), agent.ReasonInvalidTask, agent.ExitPermanent, "it is not of this place")
}

// What is read back must be what was stored.
func TestDamagedCopiesAreNotMade(t *testing.T) {
	s := startStore(t)
	dir := t.TempDir()
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := toS3(c.endpoints(), s.place(t, "etcd"))
	stored := mustSave(t, tk)
	s.proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodGet), Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		answer := httptest.NewRecorder()
		forth.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		content := answer.Body.Bytes()
		if len(content) > 10_000 {
			content[5000] ^= 1
		}
		_, _ = w.Write(content)
	}})
	mustFail(t, copyOf(tk, due, stored, toClaim(dir)), agent.ReasonCorruptSnapshot, agent.ExitRetry, "its sha256 is")
	if _, err := os.Stat(filepath.Join(dir, "dir/etcd")); !os.IsNotExist(err) {
		t.Errorf("a damaged copy is stored: %v", err)
	}
}

// A cluster that restricts its stores is copied nowhere by a detour.
func TestCopiesTakeNoDetour(t *testing.T) {
	s := startStore(t)
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := toPVC(c.endpoints(), t.TempDir(), "etcd")
	r := mustSave(t, tk)
	tk.Pinned = []string{r.ClusterID}
	t.Setenv("HTTP_PROXY", "http://proxy.example.com")
	mustFail(t, copyOf(tk, due, r, &task.Copy{Store: s.place(t, "etcd")}), v1beta2.BackupReasonStoreNotAllowed, agent.ExitPermanent, "HTTP_PROXY")
	s.checkKeys(t)
}

// The archive is copied beside the recording, which goes on while the second place is away.
func TestCopiesOfTheArchive(t *testing.T) {
	s := startStore(t)
	server := gcstest.Start(t)
	server.Bucket(t, "mybucket")
	proxy := server.NewProxy(t)
	c := startCluster(t, etcdtest.Newest(), 1)
	tk := recordingOf(toS3(c.endpoints(), s.place(t, "etcd")))
	snapshots := tk
	tk.Copy = toGoogle(t, proxy)
	a := startArchiver(t, tk)
	a.await(t, "the begin", func(p task.ArchiveProgress) bool { return p.Begin > 0 && p.Failure == nil })
	snapshots.Archive = nil
	stored := saveNow(t, snapshots, due)
	mustSave(t, copyOf(snapshots, due, stored, toGoogle(t, proxy)))
	copied := func(revision int64) func(task.ArchiveProgress) bool {
		return func(p task.ArchiveProgress) bool {
			return p.Copy != nil && p.Copy.Revision >= revision && p.Copy.Failure == nil
		}
	}
	client := c.client(t)
	a.await(t, "a copy", copied(putKeys(t, c, client, 5, "first")))
	proxy.Inject(s3test.Fault{Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected by a test")})
	last := a.awaitRevision(t, putKeys(t, c, client, 5, "second")).Revision
	p := a.await(t, "a failure", func(p task.ArchiveProgress) bool { return p.Copy.Failure != nil })
	if p.Copy.Failure.Reason != string(objectstore.AccessDenied) || p.Failure != nil || p.Copy.Revision >= last {
		t.Errorf("it tells %+v, %+v", p, p.Copy)
	}
	proxy.Heal()
	a.await(t, "the copy of what was missing", copied(last))
	last = putKeys(t, c, client, 5, "third")
	a.await(t, "the copy of what followed", copied(last))
	a.stop()
	dir := t.TempDir()
	volume := toClaim(dir)
	volume.Segments = true
	mustSave(t, copyOf(snapshots, due, stored, volume))
	for name, tk := range map[string]task.Task{"the store": tk, "the volume": copyOf(snapshots, due, stored, volume)} {
		own := *a.job
		own.task = tk
		second := &archiving{archiver: &archiver{job: own.second()}}
		if got := second.restored(t, 1, last); !maps.Equal(got, c.keys) {
			t.Errorf("the copies in %s restore %v, want %v", name, got, c.keys)
		}
	}
	again := startArchiver(t, tk)
	again.await(t, "what is copied already", copied(last))
}

// What is copied is told of the timeline that is recorded, also if it was copied before anybody knew
// which one that is.
func TestCopiesAreToldOfTheirTimeline(t *testing.T) {
	p := &archiveProgress{}
	told := func() *task.CopyProgress { return p.copyOf(&p.told) }
	if got := told(); got != nil {
		t.Errorf("before anything is known: %+v", got)
	}
	p.copied(archive.Segment{ClusterID: 1, Timeline: 1, Last: 9})
	p.copied(archive.Segment{ClusterID: 1, Timeline: 2, Last: 5})
	p.copied(archive.Segment{ClusterID: 1, Timeline: 2, Last: 4})
	p.copied(archive.Segment{ClusterID: 2, Timeline: 2, Last: 7})
	p.began(member{cluster: 1}, beginAt(2, 3))
	if got := told(); got == nil || got.Revision != 5 || got.Failure != nil {
		t.Errorf("it tells %+v", got)
	}
	p.copyEnded(&agent.Failure{Reason: "x"})
	if got := told(); got.Revision != 5 || got.Failure == nil {
		t.Errorf("it tells %+v", got)
	}
	p.copyEnded(nil)
	p.began(member{cluster: 1}, beginAt(3, 5))
	if got := told(); got == nil || got.Revision != 0 || got.Failure != nil {
		t.Errorf("of a new timeline it tells %+v", got)
	}
}

// A queue that is full asks for a comparison in place of what it cannot hold.
func TestCopyQueue(t *testing.T) {
	q := &copyQueue{}
	q.add(archive.Segment{})
	if all, complete := q.take(); len(all) > 0 || !complete {
		t.Errorf("without a second place it holds %v, %v", all, complete)
	}
	q.woken = make(chan struct{}, 1)
	for range maxCopies {
		q.add(archive.Segment{})
	}
	if all, complete := q.take(); len(all) != maxCopies || !complete {
		t.Errorf("it holds %d, %v", len(all), complete)
	}
	for range maxCopies + 1 {
		q.add(archive.Segment{})
	}
	if all, complete := q.take(); len(all) != 1 || complete {
		t.Errorf("it holds %d, %v", len(all), complete)
	}
	select {
	case <-q.woken:
	case <-time.After(time.Second):
		t.Error("nobody is woken")
	}
}

// What a person is told of copies is in the golden file.
func TestCopyMessages(t *testing.T) {
	j := &job{task: task.Task{Repeated: true}, of: &task.Stored{ClusterID: "<cluster>"}}
	written := snapshotname.Name("etcd_archive/x", 5, due)
	_, stored := j.missing(t.Context(), unreadable{failed: errUnreadable}, nil, written)
	_, copied := j.missing(t.Context(), unreadable{}, unreadable{failed: errUnreadable}, written)
	for _, err := range []error{
		stored, copied, j.checkCopy(), errEarlier("s3://mybucket/etcd", errUnreadable), errOlder(errUnreadable),
		errSegment(archive.Segment{ClusterID: 1, Timeline: 1, First: 2, Last: 3}, errUnreadable),
	} {
		if err == nil {
			t.Error("there is no error")
			continue
		}
		messages.NoteFailure(explain(t.Context(), err))
	}
	for name, change := range map[string]func(*task.Task){
		"no second place": func(tk *task.Task) { tk.Copy.PVC = nil },
		"nothing to copy": func(tk *task.Task) { tk.Copy.Of = nil },
	} {
		tk := copyOf(toPVC(nil, "/", "file"), due, task.Result{Location: "pvc://claim/file"}, toClaim("/"))
		change(&tk)
		content, err := json.Marshal(tk)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = read(string(content)); err == nil {
			t.Errorf("%s: the task is taken", name)
			continue
		}
		messages.NoteFailure(explain(t.Context(), err))
	}
}
