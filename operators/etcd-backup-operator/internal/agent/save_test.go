package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// A snapshot says from which revision on it can be restored: that of the last compaction.
func TestTheOldestRevisionIsRecorded(t *testing.T) {
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 1)
		c.fill(t, 20, 10)
		for _, compacted := range []int64{0, 5, 21} {
			if compacted > 0 {
				if _, err := c.client(t).Compact(t.Context(), compacted); err != nil {
					t.Fatal(err)
				}
			}
			want := fmt.Sprint(max(compacted, 1))
			place := s.place(t, "dir/"+version+"-"+want)
			result := mustSave(t, toS3(c.endpoints(), place))
			if got := s.object(t, place.Key).Metadata["oldest-revision"]; got != want || fmt.Sprint(result.OldestRevision) != want {
				t.Errorf("compacted at %d, the metadata says %q, and the result %d", compacted, got, result.OldestRevision)
			}
		}
	})
}

// What etcd has compacted while its snapshot began might be in it, or not: nothing is told then.
func TestACompactionMeanwhile(t *testing.T) {
	c := startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 20, 10)
	j := &job{task: task.Task{Endpoints: c.endpoints()}, log: slog.New(slog.DiscardHandler), limits: quickLimits}
	from, err := j.source(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer from.conn.Close()
	oldest := j.oldestRevision(t.Context(), from)
	if _, err := c.client(t).Compact(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	if got := j.confirmOldest(t.Context(), from, oldest); oldest != 1 || got != 0 {
		t.Errorf("the oldest was %d, and is %d", oldest, got)
	}
	if got := j.oldestRevision(t.Context(), from); got != 9 || j.confirmOldest(t.Context(), from, got) != 9 {
		t.Errorf("the oldest is %d", got)
	}
}

func TestEveryVersionIsSaved(t *testing.T) {
	s := startStore(t)
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 1)
		c.fill(t, 5, 10)
		place := s.place(t, "dir/"+version)
		result := mustSave(t, toS3(c.endpoints(), place))
		out := s.object(t, place.Key)
		checkFile(t, c, out.Body, result)
		if result.Location != "s3://backups/dir/"+version || result.EtcdVersion != version || result.Revision != 7 || len(result.ClusterID) != 16 || len(result.MemberID) != 16 {
			t.Errorf("the result is %+v", result)
		}
		for name, want := range map[string]string{
			"etcd-version": version, "revision": "7", "cluster-id": result.ClusterID, "member-id": result.MemberID,
			"compression": "none", "backup": "ns/name", "backup-uid": "0123-uid",
		} {
			if got := out.Metadata[name]; got != want {
				t.Errorf("metadata %s is %q, want %q", name, got, want)
			}
		}
		b := bucketName
		tags, err := s.Client.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: &b, Key: &place.Key})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, tag := range tags.TagSet {
			got[*tag.Key] = *tag.Value
		}
		if got["sha256"] != result.SHA256 || got["size"] != fmt.Sprint(result.Size) {
			t.Errorf("tags are %v", got)
		}
	})
}

// TestALargeDatabase goes through everything that happens to more than one part.
func TestALargeDatabase(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 40, 1<<20)
	dir := t.TempDir()

	t.Run("to S3", func(t *testing.T) {
		result := mustSave(t, toS3(c.endpoints(), s.place(t, "large")))
		checkFile(t, c, s.object(t, "large").Body, result)
	})
	t.Run("to S3 with zstd", func(t *testing.T) {
		tk := toS3(c.endpoints(), s.place(t, "small"))
		tk.Compression = zstd
		result := mustSave(t, tk)
		if result.Size > result.SnapshotSize/2 {
			t.Errorf("%d bytes became %d", result.SnapshotSize, result.Size)
		}
		out := s.object(t, "small")
		checkFile(t, c, out.Body, result)
		if out.Metadata["compression"] != zstd {
			t.Errorf("metadata is %v", out.Metadata)
		}
	})
	for _, compression := range []string{"", zstd} {
		t.Run("to a volume, compression "+compression, func(t *testing.T) {
			tk := toPVC(c.endpoints(), dir, "a/b/file"+compression)
			tk.Compression = compression
			result := mustSave(t, tk)
			f, err := os.Open(filepath.Join(dir, tk.PVC.Path))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkFile(t, c, f, result)
			if result.Location != "pvc://claim/"+tk.PVC.Path {
				t.Errorf("location %q", result.Location)
			}
		})
	}
	for name, fault := range map[string]s3test.Fault{
		"cuts":                 {When: s3test.IsPart(""), Times: 3, Do: s3test.Cut(1 << 20)},
		"503":                  {When: s3test.IsPart("3"), Times: 2, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"500":                  {When: s3test.IsPart("4"), Times: 2, Do: s3test.Answer(http.StatusInternalServerError, "InternalError")},
		"throttled":            {When: s3test.IsPart(""), Do: s3test.Throttle(20 << 20)},
		"an end that was lost": {When: s3test.IsComplete, Times: 1, Do: s3test.CutAnswer},
		// More than one request may be tried: the whole is tried again.
		"down for long": {When: s3test.IsPart("2"), Times: 9, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"stalls":        {When: s3test.IsPart("2"), Times: 2, Do: s3test.Stall(1 << 20)},
	} {
		t.Run("through a proxy: "+name, func(t *testing.T) {
			f := s.proxy.Inject(fault)
			defer func() { f.When = func(*http.Request) bool { return false } }()
			result := mustSave(t, toS3(c.endpoints(), s.place(t, "faults")))
			checkFile(t, c, s.object(t, "faults").Body, result)
			if hits := s.proxy.Hits(f); hits == 0 || hits < fault.Times {
				t.Errorf("the fault hit %d times", hits)
			}
			if left := s.Uploads(t, bucketName); len(left) > 0 {
				t.Errorf("uploads of %v are left", left)
			}
		})
	}
	t.Run("told to end in the middle", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := s.proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: s3test.During(cancel)})
		before := s.Keys(t, bucketName)
		code, result := carry(ctx, t, toS3(c.endpoints(), s.place(t, "interrupted")), nil)
		checkFailure(t, code, result, agent.ReasonInterrupted, agent.ExitRetry, "was terminated")
		if s.proxy.Hits(f) != 1 {
			t.Error("it was not in the middle")
		}
		s.checkKeys(t, before...)
	})
	t.Run("takes too long", func(t *testing.T) {
		f := s.proxy.Inject(s3test.Fault{When: s3test.IsPart(""), Do: s3test.Throttle(1 << 20)})
		defer func() { f.When = func(*http.Request) bool { return false } }()
		before := s.Keys(t, bucketName)
		tk := toS3(c.endpoints(), s.place(t, "late"))
		tk.Timeout = time.Second
		mustFail(t, tk, agent.ReasonTimedOut, agent.ExitPermanent, "timeoutInSecond")
		s.checkKeys(t, before...)
	})
}

func TestASourceThatDiesIsReplaced(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 3)
	c.fill(t, 60, 1<<20)
	for _, m := range c.members { // all have all
		m.WaitReady(t)
	}
	l := &logs{}
	var killed int
	var beside string
	s.proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: s3test.During(func() {
		for i, m := range c.members {
			if strings.Contains(l.String(), `"taking the snapshot"`) && strings.Contains(l.String(), m.Client) {
				c.processes[i].Kill()
				killed = i
			}
		}
	})})
	tk := toS3(c.endpoints(), s.place(t, "key"))
	code, result := carry(t.Context(), t, tk, l)
	if code != agent.ExitDone {
		t.Fatalf("exit code %d: %+v", code, result.Failure)
	}
	if !c.processes[killed].Ended() || !strings.Contains(l.String(), v1beta2.BackupReasonSourceLost) {
		t.Error("the source was not killed in the middle")
	}
	checkFile(t, c, s.object(t, "key").Body, result)
	s.checkKeys(t, "key")

	t.Run("dead endpoints are passed over", func(t *testing.T) {
		tk.Endpoints = append([]string{"http://127.0.0.1:1", "http://no-such-host.invalid:2379"}, tk.Endpoints...)
		result := mustSave(t, tk)
		checkFile(t, c, s.object(t, "key").Body, result)
	})
	t.Run("without a majority it is saved beside", func(t *testing.T) {
		second := (killed + 1) % 3
		c.processes[second].Kill()
		result := mustSave(t, tk)
		beside = strings.TrimPrefix(result.Location, "s3://backups/")
		if result.Quorum == nil || *result.Quorum || !strings.HasPrefix(beside, "key_noquorum_v") {
			t.Errorf("the result is %+v", result)
		}
		checkFile(t, c, s.object(t, beside).Body, result)
	})
	t.Run("nobody is left", func(t *testing.T) {
		for _, p := range c.processes {
			p.Kill()
		}
		result := mustFail(t, tk, v1beta2.BackupReasonNoEndpoint, agent.ExitRetry, "connection refused")
		if strings.Contains(result.Failure.Message, "rpc error") || strings.Contains(result.Failure.Message, `"`) {
			t.Errorf("not in a person's words: %s", result.Failure.Message)
		}
		tk.Endpoints, tk.Timeout = c.endpoints(), 400*time.Millisecond // some attempts
		mustFail(t, tk, agent.ReasonTimedOut, agent.ExitPermanent, "connection refused")
		s.checkKeys(t, "key", beside) // as it was
	})
}

func TestTwoClustersAreRefused(t *testing.T) {
	s := startStore(t)
	a, b := startCluster(t, etcdtest.Newest(), 1), startCluster(t, etcdtest.Newest(), 1)
	tk := toS3(append(a.endpoints(), b.endpoints()...), s.place(t, "key"))
	mustFail(t, tk, v1beta2.BackupReasonDifferentClusters, agent.ExitPermanent, b.endpoints()[0])
	s.checkKeys(t)
}

func TestWhatUsersGetWrong(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 3, 10)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	if err := os.Symlink("/etc", filepath.Join(dir, "escape")); err != nil {
		t.Fatal(err)
	}
	mustSave(t, toS3(c.endpoints(), s.place(t, "there")))
	for name, row := range map[string]struct {
		task   task.Task
		change func(*task.Task)
		reason string
		words  string
	}{
		"no such bucket":            {task: toS3(nil, s.place(t, "key")), change: func(tk *task.Task) { tk.Store.Bucket = "nowhere" }, reason: "BucketNotFound", words: "create it"},
		"wrong credentials":         {task: toS3(nil, s.place(t, "key")), change: func(tk *task.Task) { tk.Store.SecretDir = s3test.SecretDir(t, s.AccessKey, "x") }, reason: "CredentialsInvalid", words: "aws_secret_access_key"},
		"an object is there":        {task: toS3(nil, s.place(t, "there")), change: func(tk *task.Task) { tk.Overwrite = false }, reason: v1beta2.BackupReasonAlreadyExists, words: "overwrite"},
		"a file is there":           {task: toPVC(nil, dir, "there"), change: func(tk *task.Task) { tk.Overwrite = false }, reason: v1beta2.BackupReasonAlreadyExists, words: "overwrite"},
		"a file of somebody else":   {task: toPVC(nil, dir, "there"), reason: v1beta2.BackupReasonForeignFile, words: "remove it"},
		"the operator's own folder": {task: toPVC(nil, dir, "a/.etcd-backups/file"), reason: agent.ReasonInvalidPath, words: "choose another path"},
		"a path above the root":     {task: toPVC(nil, dir, "../file"), reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"an absolute path":          {task: toPVC(nil, dir, "/etc/file"), reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"a path to a folder":        {task: toPVC(nil, dir, "folder/"), reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"a link out of the volume":  {task: toPVC(nil, dir, "escape/file"), reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"a file as a folder":        {task: toPVC(nil, dir, "there/file"), reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"no scheme":                 {task: toPVC([]string{"host:2379"}, dir, "file"), reason: agent.ReasonInvalidTask, words: "http://host:2379"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.task.Endpoints == nil {
				row.task.Endpoints = c.endpoints()
			}
			if row.change != nil {
				row.change(&row.task)
			}
			mustFail(t, row.task, row.reason, agent.ExitPermanent, row.words)
		})
	}
	s.checkKeys(t, "there")
	if got, err := os.ReadFile(filepath.Join(dir, "there")); err != nil || string(got) != "old" {
		t.Errorf("the file holds %q: %v", got, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the volume holds %v (%v), want what was there before", entries, err)
	}
	t.Run("a TLS endpoint without TLS", func(t *testing.T) {
		tk := toPVC([]string{strings.Replace(c.endpoints()[0], "http", "https", 1)}, dir, "file")
		mustFail(t, tk, v1beta2.BackupReasonTLSInvalid, agent.ExitRetry, "scheme")
	})
	t.Run("a store that is not there", func(t *testing.T) {
		tk := toS3(c.endpoints(), s.place(t, "key"))
		tk.Store.Endpoint = "http://127.0.0.1:1"
		mustFail(t, tk, "StoreUnavailable", agent.ExitRetry, "endpoint")
	})
}

func TestRetention(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 3, 10)
	dir := t.TempDir()
	const old, onVolume = 1020, 20 // more than a page of S3's list
	neighbours := []string{"etcd", "etcd_v1_b_v1_2001-01-01-00:00:00", "etcd_v1_2001-01-01-00:00:00.zst", "etcdx_v1_2001-01-01-00:00:00"}
	names := slices.Clone(neighbours)
	for i := range old {
		names = append(names, snapshotname.Name("etcd", int64(1_000_000-i), due.Add(time.Duration(i-old)*time.Hour)))
	}
	cluster := mustSave(t, toPVC(c.endpoints(), t.TempDir(), "file")).ClusterID
	for i, name := range names {
		b, key := bucketName, "dir/"+name
		of := map[string]string{metaCluster: cluster, metaRevision: "3"}
		if _, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: strings.NewReader("x"), Metadata: of}); err != nil {
			t.Fatal(err)
		}
		if i < len(neighbours) || i >= len(names)-onVolume {
			storeFile(t, dir, name, of)
		}
	}
	want := slices.Concat(names[len(names)-2:], neighbours, []string{snapshotname.Name("etcd", 5, due)})
	slices.Sort(want)
	repeated := func(tk task.Task) task.Task {
		tk.Repeated, tk.MaxBackups, tk.Overwrite = true, 3, false
		return tk
	}
	t.Run("S3", func(t *testing.T) {
		result := mustSave(t, repeated(toS3(c.endpoints(), s.place(t, "dir/etcd"))))
		if result.Deleted != old-2 || result.RetentionError != "" || result.Location != "s3://backups/dir/etcd_v5_2026-03-01-12:00:00" {
			t.Errorf("the result is %+v", result)
		}
		var keys []string
		for _, name := range want {
			keys = append(keys, "dir/"+name)
		}
		s.checkKeys(t, keys...)
	})
	t.Run("a volume", func(t *testing.T) {
		result := mustSave(t, repeated(toPVC(c.endpoints(), dir, "etcd")))
		if result.Deleted != onVolume-2 || result.RetentionError != "" {
			t.Errorf("the result is %+v", result)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if want := append([]string{ownDir}, want...); !slices.Equal(left, want) {
			t.Errorf("left are %v, want %v", left, want)
		}
		if sidecars, err := os.ReadDir(filepath.Join(dir, ownDir)); err != nil || len(sidecars) != len(want) {
			t.Errorf("%d files describe %d snapshots (%v)", len(sidecars), len(want), err)
		}
	})
	t.Run("by age", func(t *testing.T) {
		tk := repeated(toPVC(c.endpoints(), dir, "etcd"))
		tk.MaxBackups, tk.MaxAge, tk.Time = 0, 150*time.Minute, due.Add(time.Hour)
		if result := mustSave(t, tk); result.Deleted != 1 {
			t.Errorf("deleted %d, want the one that is two hours older", result.Deleted)
		}
	})
	t.Run("a prune that fails does not fail the backup", func(t *testing.T) {
		s.proxy.Inject(s3test.Fault{When: func(r *http.Request) bool { return r.URL.Query().Get("list-type") == "2" }, Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
		tk := repeated(toS3(c.endpoints(), s.place(t, "dir/etcd")))
		tk.Time = due.Add(time.Hour)
		if result := mustSave(t, tk); !strings.Contains(result.RetentionError, "s3:ListBucket") || result.Deleted != 0 {
			t.Errorf("the result is %+v", result)
		}
	})
	t.Run("a backup that fails deletes nothing", func(t *testing.T) {
		before := s.Keys(t, bucketName)
		f := s.proxy.Inject(s3test.Fault{When: s3test.IsPut, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
		defer func() { f.When = func(*http.Request) bool { return false } }()
		tk := repeated(toS3(c.endpoints(), s.place(t, "dir/etcd")))
		tk.MaxBackups, tk.Time = 1, due.Add(2*time.Hour)
		mustFail(t, tk, "AccessDenied", agent.ExitPermanent, "s3:PutObject")
		s.checkKeys(t, before...)
	})
}

// brokenPlace is one that some requests fail at.
type brokenPlace struct {
	destination
	lists, dates, looks error
}

func (p *brokenPlace) path() string { return "etcd" }

func (p *brokenPlace) list(context.Context, string) ([]string, error) {
	return []string{snapshotname.Name("etcd", 3, due.AddDate(0, 0, -1)), snapshotname.Name("etcd", 4, due.AddDate(0, 0, -2))}, p.lists
}

func (p *brokenPlace) clock(context.Context, string) (time.Time, error) { return due, p.dates }

func (p *brokenPlace) look(context.Context, string) (found, error) {
	return found{there: true}, p.looks
}

func (p *brokenPlace) remove(context.Context, []string) (int, error) { return 0, nil }

func TestWhatKeepsRetentionFromDeleting(t *testing.T) {
	gone := errors.New("the bucket does not exist")
	for says, p := range map[string]brokenPlace{
		"list older backups: the bucket does not exist":     {lists: gone},
		"read the stored backup: the bucket does not exist": {dates: gone},
		"read older backups: the bucket does not exist":     {looks: gone},
	} {
		j := &job{task: task.Task{Repeated: true, MaxBackups: 1, Time: due}, result: &task.Result{}}
		err := j.prune(t.Context(), &p, snapshotname.Name("etcd", 5, due))
		if err == nil || err.Error() != says {
			t.Errorf("got %v, want %s", err, says)
			continue
		}
		note(task.Result{RetentionError: err.Error()})
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	l := &logs{}
	_, result := carry(t.Context(), t, toS3(c.endpoints(), s.place(t, "key")), l)
	if result.Failure != nil || strings.Contains(l.String(), s.SecretKey) {
		t.Errorf("%+v, log: %s", result, l)
	}
}
