package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// large is a snapshot of several parts.
func large() []byte { return snapshotOf(12 << 20) }

// begin begins an upload without the agent's code.
func (s *store) begin(t *testing.T, key string) objectstore.Upload {
	t.Helper()
	b := bucketName
	out, err := s.Client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &b, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	return objectstore.Upload{Key: key, ID: *out.UploadId}
}

// ids are those of all uploads.
func (s *store) ids(t *testing.T) []string {
	t.Helper()
	b := bucketName
	out, err := s.Client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, u := range out.Uploads {
		ids = append(ids, *u.UploadId)
	}
	return ids
}

// Two one-shot backups of one key that overlap both end well.
func TestTwoBackupsOfOneKey(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: large()})}
	second := toS3(endpoints, s.place(t, "key"))
	second.UID, second.Backup = "4567-uid", "ns/second"
	s.proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: s3test.During(func() {
		// Not as a process of its own, of which there can be one in a test.
		j := &job{task: second, log: slog.New(slog.DiscardHandler), limits: quickLimits, result: &task.Result{}}
		if err := save(t.Context(), j); err != nil {
			t.Errorf("the second one failed: %v", err)
		}
	})})
	l := &logs{}
	code, result := carry(t.Context(), t, toS3(endpoints, s.place(t, "key")), l)
	if code != agent.ExitDone || strings.Contains(l.String(), "backup attempt failed") {
		t.Errorf("the first one failed: %+v\n%s", result.Failure, l)
	}
	// It comes in messages of 32 KiB, and is stored in parts of 5 MiB.
	if size := s.size(t, "key"); size != int64(len(large())) || result.Size != size {
		t.Errorf("stored are %d bytes of %d", size, len(large()))
	}
	s.checkKeys(t, "key")
}

// The same for two EtcdBackups that share a path and a schedule.
func TestUploadsOfOthersAreLeftAlone(t *testing.T) {
	for name, repeated := range map[string]bool{"one-shot": false, "repeated": true} {
		t.Run(name, func(t *testing.T) {
			s := startStore(t)
			endpoints := []string{serve(t, &fake{content: large()})}
			var others []string
			for _, key := range []string{"key", "key_v1_b", snapshotname.Name("key", 5, due), snapshotname.Name("key", 4, due)} {
				others = append(others, s.begin(t, key).ID)
			}
			tk := toS3(endpoints, s.place(t, "key"))
			tk.Repeated = repeated
			mustSave(t, tk)
			// One that is tried again aborts only its own.
			f := s.proxy.Inject(s3test.Fault{When: s3test.IsPart(""), Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
			mustFail(t, tk, "AccessDenied", agent.ExitPermanent, "s3:PutObject")
			if s.proxy.Hits(f) == 0 {
				t.Error("no upload has failed")
			}
			left := s.ids(t)
			slices.Sort(left)
			slices.Sort(others)
			if !slices.Equal(left, others) {
				t.Errorf("left are the uploads %v, want %v", left, others)
			}
			for _, key := range s.Keys(t, bucketName) {
				if strings.Contains(key, "unfinished") {
					t.Errorf("the note %s is left", key)
				}
			}
		})
	}
}

// A Pod that is killed in the middle leaves an upload. The next one of the same Job aborts
// just that, and neither that of another run which is killed as well.
func TestWhatAKilledAttemptLeftIsRemoved(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: large()})}
	foreign := s.begin(t, "key")
	tk := toS3(endpoints, s.place(t, "key"))
	env, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", task.Env+"="+string(env), ResultFileEnv+"="+filepath.Join(t.TempDir(), "result"))
	s.proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_ = cmd.Process.Kill() // SIGKILL
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}})
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the agent was not killed: %s", out)
	}
	if ids, keys := s.ids(t), s.Keys(t, bucketName); len(ids) != 2 || len(keys) != 1 || !strings.HasPrefix(keys[0], "key.unfinished-") {
		t.Fatalf("what is killed leaves the uploads %v and the objects %v", ids, keys)
	}
	other := tk
	other.UID = "4567-uid"
	mustSave(t, other)
	if ids := s.ids(t); len(ids) != 2 {
		t.Errorf("another run leaves the uploads %v, want both", ids)
	}
	mustSave(t, tk)
	if ids := s.ids(t); !slices.Equal(ids, []string{foreign.ID}) {
		t.Errorf("left are the uploads %v, want that of somebody else", ids)
	}
	if keys := s.Keys(t, bucketName); !slices.Equal(keys, []string{"key"}) {
		t.Errorf("left are %v", keys)
	}
}

// Where the note can't be stored, or is no note, the backup is made all the same.
func TestWithoutANote(t *testing.T) {
	s := startStore(t)
	tk := toS3([]string{serve(t, &fake{content: large()})}, s.place(t, "key"))
	isNote := func(r *http.Request) bool { return strings.Contains(r.URL.Path, ".unfinished-") }
	refused := s.proxy.Inject(s3test.Fault{When: isNote, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
	mustSave(t, tk)
	if s.proxy.Hits(refused) == 0 {
		t.Error("there was no note to refuse")
	}
	refused.When = func(*http.Request) bool { return false }
	s.checkKeys(t, "key")

	n := &journal{job: &job{task: tk, log: slog.New(slog.DiscardHandler)}}
	victim := s.begin(t, "victim")
	for _, content := range []string{"", "{", `{"key":"victim","id":"` + victim.ID + `"}`} {
		b, key := bucketName, n.note()
		if _, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: strings.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
		mustSave(t, tk)
		if ids := s.ids(t); !slices.Contains(ids, victim.ID) {
			t.Errorf("a note of %q has another key's upload aborted", content)
		}
	}
}

// An agent that is told to end takes its upload and its note with it.
func TestWhatIsInterruptedLeavesNoNote(t *testing.T) {
	s := startStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: s3test.During(cancel)})
	code, result := carry(ctx, t, toS3([]string{serve(t, &fake{content: large()})}, s.place(t, "key")), nil)
	checkFailure(t, code, result, agent.ReasonInterrupted, agent.ExitRetry, "was terminated")
	s.checkKeys(t)
}

// Errors that say that nothing can be stored come before the source is asked for anything.
func TestAStoreIsAskedFirst(t *testing.T) {
	s := startStore(t)
	tk := toS3([]string{serve(t, &fake{content: snapshotOf(1024)})}, s.place(t, "key"))
	tk.Store.Bucket = "nowhere"
	j := &job{task: tk, log: slog.New(slog.DiscardHandler), limits: quickLimits}
	b, err := openBucket(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.prepare(t.Context()); !errors.Is(err, objectstore.BucketNotFound) {
		t.Errorf("got %v", err)
	}
}
