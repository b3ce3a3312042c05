package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/gcstest"
)

func TestTasksThatMakeNoSense(t *testing.T) {
	for name, env := range map[string]string{
		"nothing":         "",
		"no JSON":         "{",
		"no endpoint":     `{"pvc":{"dir":"/x","path":"y"}}`,
		"nowhere to":      `{"endpoints":["http://a:1"]}`,
		"two places":      `{"endpoints":["http://a:1"],"pvc":{},"store":{}}`,
		"nothing to copy": `{"endpoints":["http://a:1"],"pvc":{},"copy":{"pvc":{}}}`,
		"strange format":  `{"endpoints":["http://a:1"],"pvc":{},"compression":"lzw"}`,
	} {
		t.Run(name, func(t *testing.T) {
			code, result := carryRaw(t.Context(), t, env, nil)
			checkFailure(t, code, result, agent.ReasonInvalidTask, agent.ExitPermanent, "")
		})
	}
	code, result := carryRaw(t.Context(), t, `{"endpoints":["http://a:1"],"pvc":{"dir":"/x","path":"y"}}`, nil, "--endpoint=http://b:1")
	checkFailure(t, code, result, agent.ReasonInvalidTask, agent.ExitPermanent, "takes no arguments")
}

// TestAFullVolume mounts a small file system, and so needs to be root.
func TestAFullVolume(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount a tmpfs of 4 MiB (run this test as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	old := filepath.Join(dir, "file")
	storeFile(t, dir, "file", map[string]string{metaCluster: hex(7), metaRevision: "4"})
	endpoint := serve(t, &fake{content: snapshotOf(8 << 20)})
	mustFail(t, toPVC([]string{endpoint}, dir, "file"), agent.ReasonNoSpace, agent.ExitPermanent, "full")
	if got, err := os.ReadFile(old); err != nil || string(got) != "x" {
		t.Errorf("the file that was there holds %q: %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the volume holds %v (%v), want only what was there", entries, err)
	}
}

func TestTheVolumeIsTidied(t *testing.T) {
	dir := t.TempDir()
	tk := toPVC([]string{serve(t, &fake{content: snapshotOf(1024)})}, dir, "file")
	tk.Overwrite = false
	j := &job{task: tk, log: slog.New(slog.DiscardHandler)}
	v, err := openVolume(j)
	if err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	ours, running, dead, foreign := v.stamp()+"x", v.mark()+"1-x", v.mark()+"2-x", ".etcd-backup-other-1-x"
	for _, name := range []string{ours, running, dead, foreign} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{dead, foreign} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-2*idle)); err != nil {
			t.Fatal(err)
		}
	}
	mustSave(t, tk)
	for name, want := range map[string]bool{ours: false, running: true, dead: false, foreign: true, "file": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}

func TestAFileThatComesUpMeanwhileIsKept(t *testing.T) {
	dir := t.TempDir()
	j := &job{task: toPVC(nil, dir, "file"), log: slog.New(slog.DiscardHandler)}
	j.task.Overwrite = false
	v, err := openVolume(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := explain(t.Context(), v.put(t.Context(), "file", strings.NewReader("new"), nil, false))
	if f.Reason != v1beta2.BackupReasonAlreadyExists {
		t.Errorf("got %+v", f)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the volume holds %v (%v), want only what was there", entries, err)
	}
}

// maxMemory is the promise of issue and documentation, in KiB as the kernel counts.
const maxMemory = 64 << 10

// TestMemory runs the agent as it ships, with a database that is several times the size of its
// memory.
func TestMemory(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 300, 1<<20)
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/etcd-backup-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	direct := func(key string) task.Task {
		place := s.place(t, key)
		place.Endpoint = s.Endpoint
		return toS3(c.endpoints(), place)
	}
	tasks := map[string]task.Task{"S3": direct("key"), "S3 with zstd": direct("key.zst"), "a volume": toPVC(c.endpoints(), dir, "file")}
	azure, google := startOther(t, v1beta2.StorageABS).place, startOther(t, v1beta2.StorageGCS).place
	google.Endpoint = startSink(t)
	tasks["ABS"], tasks["GCS"] = toS3(c.endpoints(), &azure), toS3(c.endpoints(), &google)
	other := google
	other.Endpoint = startSink(t)
	from := direct("copied")
	tasks["a copy from S3 to GCS"] = copyOf(from, due, mustSave(t, from), &task.Copy{Store: &other})
	for name, tk := range tasks {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, zstd) {
				tk.Compression = zstd
			}
			env, err := json.Marshal(tk)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = append(os.Environ(), task.Env+"="+string(env), ResultFileEnv+"="+filepath.Join(t.TempDir(), "result"))
			start := time.Now()
			used, log, err := peakMemory(cmd)
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			t.Logf("300 MiB in %s, with at most %d KiB of memory", time.Since(start).Round(time.Millisecond), used)
			if used > maxMemory {
				t.Errorf("%d KiB of memory were used, want at most %d", used, maxMemory)
			}
		})
	}
}

// startSink starts a server that takes a resumable upload as Google does, and keeps nothing of it:
// the one of the other tests copies all that it has with each chunk.
func startSink(t *testing.T) (endpoint string) {
	t.Helper()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	size := int64(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case gcstest.IsBegin(r):
			w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?upload_id=1")
		case gcstest.IsChunk(r), gcstest.IsLast(r):
			n, _ := io.Copy(sum, r.Body) // what is missing is missed at the end
			size += n
			if gcstest.IsChunk(r) {
				w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", size-1))
				w.Header().Set("X-Http-Status-Code-Override", "308") // as asked for by X-GUploader-No-308
				return
			}
			fmt.Fprintf(w, `{"bucket": %q, "name": "etcd", "size": "%d", "generation": "1", "crc32c": %q}`, bucketName, size, base64.StdEncoding.EncodeToString(sum.Sum(nil)))
		default:
			gcstest.Answer(http.StatusNotFound, "notFound", "No such object")(w, r, nil)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// peakMemory runs a process, and returns the most that it had in memory, in KiB. (What the kernel
// counts of a child that has ended begins with what its parent had.)
func peakMemory(cmd *exec.Cmd) (used int, log string, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	ended := make(chan struct{})
	polled := make(chan int)
	go func() {
		used := 0
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone once it has ended
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			peak, _, _ := strings.Cut(rest, "kB")
			if n, err := strconv.Atoi(strings.TrimSpace(peak)); err == nil {
				used = n
			}
			select {
			case <-ended:
				polled <- used
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	return <-polled, stderr.String(), err
}

// Root, which runs these tests, can write everywhere.
func TestAVolumeThatIsNotWritable(t *testing.T) {
	f := explain(t.Context(), &fs.PathError{Op: "mkdir", Path: "backups", Err: syscall.EACCES})
	note(task.Result{Failure: f})
	if f.Reason != agent.ReasonAccessDenied || !f.Permanent || !strings.Contains(f.Message, "fsGroup 65532") {
		t.Errorf("got %+v", f)
	}
}

func TestExplainNeverHidesThatTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTimedOut)
	if f := explain(ctx, errors.New("anything")); f.Reason != agent.ReasonTimedOut || !f.Permanent {
		t.Errorf("got %+v", f)
	}
}
