package agent

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

func TestTasksThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{
		"nothing":               "",
		"no JSON":               "{",
		"no place":              `{"uid":"u","scratch":"/s"}`,
		"two places":            `{"uid":"u","scratch":"/s","pvc":{},"store":{}}`,
		"no uid":                `{"scratch":"/s","pvc":{}}`,
		"a uid that is a way":   `{"uid":"../u","scratch":"/s","pvc":{}}`,
		"two objects":           `{"uid":"u","scratch":"/s","store":{"bucket":"b","key":"k","newest":true}}`,
		"no object":             `{"uid":"u","scratch":"/s","store":{"bucket":"b"}}`,
		"a seed of the newest":  `{"uid":"u","store":{"bucket":"b","newest":true,"prefix":"p"},"want":{},"member":{"name":"a","peerURL":"http://a:1","token":"t","dataDir":"/d","permitFile":"/l","revision":1}}`,
		"nowhere to work":       `{"uid":"u","pvc":{}}`,
		"half a member":         `{"uid":"u","pvc":{},"want":{},"member":{"name":"a"}}`,
		"a member, and a trial": `{"uid":"u","pvc":{},"startEtcd":"3.6.16","member":{"name":"a","peerURL":"http://a:1","token":"t","dataDir":"/d","permitFile":"/l","revision":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			code, result := carryRaw(t.Context(), t, quickSettings, env)
			checkFailure(t, code, result, agent.ExitPermanent, agent.ReasonInvalidTask, "")
		})
	}
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// flipped is the content with one bit flipped.
func flipped(content []byte, at int) []byte {
	bad := bytes.Clone(content)
	bad[at] ^= 0x10
	return bad
}

func TestWhatIsNoSnapshot(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	whole, zipped := o.content, packed(t, o.content)
	s := startStore(t)
	for name, c := range map[string]struct {
		content       []byte
		skip          bool
		reason, words string
	}{
		"nothing":                        {[]byte{}, false, task.ReasonCorruptSnapshot, "no content"},
		"text":                           {[]byte(strings.Repeat("text\n", 10_000)), false, task.ReasonCorruptSnapshot, "not a snapshot of etcd"},
		"text, packed":                   {packed(t, []byte("text")), false, task.ReasonCorruptSnapshot, "not a snapshot of etcd"},
		"cut short":                      {whole[:len(whole)-1000], false, task.ReasonCorruptSnapshot, "ends after"},
		"cut short by whole pages":       {whole[:len(whole)/8192*4096], false, task.ReasonCorruptSnapshot, "cut short"},
		"cut short by whole pages, skip": {whole[:len(whole)/8192*4096], true, task.ReasonCorruptSnapshot, "cut short"},
		"packed and cut short":           {zipped[:len(zipped)/2], false, task.ReasonCorruptSnapshot, "unpacked"},
		"a bit flipped":                  {flipped(whole, len(whole)/2), false, task.ReasonCorruptSnapshot, "sha256"},
		"a bit flipped, skip":            {flipped(whole, len(whole)/2), true, task.ReasonCorruptSnapshot, "sha256"},
		"a bit of the digest flipped":    {flipped(whole, len(whole)-1), false, task.ReasonCorruptSnapshot, "sha256"},
		"packed, and a bit flipped":      {flipped(zipped, len(zipped)/2), false, task.ReasonCorruptSnapshot, ""},
		"packed twice":                   {packed(t, zipped), false, task.ReasonCorruptSnapshot, "packed twice"},
		"packed with gzip":               {gzipped(t, whole), false, task.ReasonCorruptSnapshot, "gzip"},
		"no digest":                      {whole[:len(whole)-32], false, task.ReasonNoHash, "skipHashCheck"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := onVolume(t, c.content)
			tk.SkipHashCheck = c.skip
			mustFail(t, tk, c.reason, c.words)
			s.put(t, "bad", c.content)
			tk = s.task(t, "bad")
			tk.SkipHashCheck = c.skip
			mustFail(t, tk, c.reason, c.words)
			if left, err := os.ReadDir(tk.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left are %v (%v)", left, err)
			}
		})
	}
}

// What is larger than the scratch space is refused: before it is fetched if its size is
// known, and else as soon as it shows. What is read where it lies needs none.
func TestScratchThatIsTooSmall(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "plain", o.content)
	s.put(t, "packed", packed(t, o.content))
	const field = "raise spec.pod.resources.limits.ephemeral-storage"
	size := int64(len(o.content))
	limited := func(tk task.Task, limit int64) task.Task {
		tk.ScratchLimit = limit
		return tk
	}
	mustFail(t, limited(s.task(t, "plain"), size/2), agent.ReasonScratchSpaceExceeded, "it needs at least "+v1beta2.ReadableSize(size)+", ")
	mustFail(t, limited(s.task(t, "plain"), size-1), agent.ReasonScratchSpaceExceeded, field)
	mustFail(t, limited(s.task(t, "packed"), size-1000), agent.ReasonScratchSpaceExceeded, field)
	must(t, limited(s.task(t, "plain"), size))
	must(t, limited(s.task(t, "packed"), size))
	must(t, limited(onVolume(t, o.content), 1))
}

func TestAPlaceThatIsWrong(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	s.put(t, "key", []byte("content"))
	onS3 := func(change func(*task.Task)) task.Task {
		tk := s.task(t, "key")
		change(&tk)
		return tk
	}
	volume := func(path string) task.Task {
		tk := onVolume(t, []byte("content"))
		tk.PVC.Path = path
		return tk
	}
	for name, c := range map[string]struct {
		task          task.Task
		reason, words string
	}{
		"no such object":       {onS3(func(tk *task.Task) { tk.Store.Key = "other" }), task.ReasonSnapshotNotFound, "correct s3.path"},
		"no such bucket":       {onS3(func(tk *task.Task) { tk.Store.Bucket = "other" }), "BucketNotFound", "bucket"},
		"a wrong secret key":   {onS3(func(tk *task.Task) { tk.Store.SecretDir = s3test.SecretDir(t, s.AccessKey, "wrong") }), "CredentialsInvalid", "aws_secret_access_key"},
		"an unknown user":      {onS3(func(tk *task.Task) { tk.Store.SecretDir = s3test.SecretDir(t, "wrong", "wrong") }), "CredentialsInvalid", "aws_access_key_id"},
		"an empty Secret":      {onS3(func(tk *task.Task) { tk.Store.SecretDir = t.TempDir() }), "CredentialsInvalid", "credentials"},
		"https where there is": {onS3(func(tk *task.Task) { tk.Store.Endpoint = strings.Replace(tk.Store.Endpoint, "http:", "https:", 1) }), "StoreTLSInvalid", "certificate"},
		"another cluster's":    {onS3(func(tk *task.Task) { tk.ClusterID = "0000000000000001" }), task.ReasonWrongCluster, clusterID},
		"no such file":         {volume("other"), task.ReasonSnapshotNotFound, "pvc://claim/other"},
		"a folder":             {volume("."), agent.ReasonInvalidPath, "pvc.path"},
		"beyond the volume":    {volume("../file"), agent.ReasonInvalidPath, "pvc.path"},
		"below a file":         {volume("file/x"), agent.ReasonInvalidPath, "pvc.path"},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.task, c.reason, c.words) })
	}
	t.Run("nothing says whose it is", func(t *testing.T) {
		tk := onVolume(t, []byte("content"))
		tk.ClusterID = clusterID
		mustFail(t, tk, task.ReasonWrongCluster, "remove spec.clusterID")
	})
	t.Run("credentials that may not read", func(t *testing.T) {
		s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
		mustFail(t, s.task(t, "key"), "AccessDenied", "AccessDenied: injected by a test")
		tk := s.task(t, "key")
		tk.Store.Key, tk.Store.Newest, tk.Store.Prefix = "", true, "prod/"
		s.proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodGet), Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
		mustFail(t, tk, "AccessDenied", "s3:ListBucket on the bucket")
	})
	t.Run("a folder on the volume", func(t *testing.T) {
		tk := onVolume(t, nil)
		if err := os.Mkdir(filepath.Join(tk.PVC.Dir, "backups"), 0o700); err != nil {
			t.Fatal(err)
		}
		tk.PVC.Path = "backups"
		mustFail(t, tk, agent.ReasonInvalidPath, "pvc://claim/backups is not a file: correct pvc.path")
	})
	t.Run("a volume that refuses writes", func(t *testing.T) {
		tk := s.task(t, "key")
		tk.Scratch = "/sys" // also for root
		mustFail(t, tk, agent.ReasonAccessDenied, "fsGroup")
	})
	t.Run("a link out of the volume", func(t *testing.T) {
		tk := onVolume(t, nil)
		if err := os.Symlink("/etc/passwd", filepath.Join(tk.PVC.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		tk.PVC.Path = "link"
		mustFail(t, tk, agent.ReasonInvalidPath, "pvc.path")
	})
}

func TestATransferThatBreaks(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", o.content)
	s.put(t, "packed", packed(t, o.content))
	want := must(t, s.task(t, "key")).Snapshot
	for name, fault := range map[string]s3test.Fault{
		"cut twice":                 {When: s3test.IsGet, Times: 2, Do: s3test.CutDownload(1000)},
		"cut at once":               {When: s3test.IsGet, Times: 2, Do: s3test.CutDownload(0)},
		"silent":                    {When: s3test.IsGet, Times: 1, Do: s3test.StallDownload(1000)},
		"a store that is busy":      {When: s3test.IsGet, Times: 3, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"a store that is down long": {When: s3test.IsGet, Times: 8, Do: s3test.Answer(http.StatusInternalServerError, "InternalError")},
	} {
		t.Run(name, func(t *testing.T) {
			f := s.proxy.Inject(fault)
			if got := must(t, s.task(t, "key")).Snapshot; *got != *want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if s.proxy.Hits(f) != fault.Times {
				t.Errorf("it was hit %d times", s.proxy.Hits(f))
			}
		})
	}
	t.Run("an object that is replaced meanwhile", func(t *testing.T) {
		other := packed(t, o.content)
		s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
			defer s.put(t, "key", other) // also when what is below panics
			s3test.CutDownload(1000)(w, r, forth)
		}})
		if got := must(t, s.task(t, "key")).Snapshot; got.Compression != zstd {
			t.Errorf("got %+v, want what lies there now", got)
		}
	})
	t.Run("a store that stays down", func(t *testing.T) {
		s.proxy.Inject(s3test.Fault{Do: s3test.Answer(http.StatusInternalServerError, "InternalError")})
		code, result := carry(t.Context(), t, s.task(t, "key"))
		checkFailure(t, code, result, agent.ExitRetry, "StoreUnavailable", "")
	})
}

func TestTimeAndSignals(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	s.put(t, "key", make([]byte, 1<<20))
	silent := s3test.Fault{When: s3test.IsGet, Do: s3test.StallDownload(0)}
	s.proxy.Inject(silent)
	t.Run("its time is up", func(t *testing.T) {
		tk := s.task(t, "key")
		tk.Timeout = 300 * time.Millisecond
		mustFail(t, tk, agent.ReasonTimedOut, "timeoutInSecond")
	})
	t.Run("it is told to end", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		code, result := carry(ctx, t, s.task(t, "key"))
		checkFailure(t, code, result, agent.ExitRetry, agent.ReasonInterrupted, "")
	})
}

func TestProgressIsTold(t *testing.T) {
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	s.put(t, "key", o.content)
	var got task.Progress
	told := quickSettings
	told.listen = etcdtest.FreeAddrs(t, 1)[0]
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.CutDownload(5000)})
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.During(func() {
		etcdtest.Eventually(t, "the progress", func() error {
			answer, err := http.Get("http://" + told.listen + task.ProgressPath)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
				return err
			}
			if got.Fetched == 0 {
				return fmt.Errorf("nothing yet")
			}
			return nil
		})
	})})
	if code, result := carryRaw(t.Context(), t, told, encode(t, s.task(t, "key"))); code != agent.ExitDone {
		t.Fatalf("exit code %d: %+v", code, result.Failure)
	}
	if got.Fetched != 5000 || got.Total != int64(len(o.content)) {
		t.Errorf("got %+v, want 5000 of %d", got, len(o.content))
	}
}
