package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
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
)

func TestTasksThatMakeNoSense(t *testing.T) {
	for name, env := range map[string]string{
		"nothing":        "",
		"no JSON":        "{",
		"no endpoint":    `{"pvc":{"dir":"/x","path":"y"}}`,
		"nowhere to":     `{"endpoints":["http://a:1"]}`,
		"two places":     `{"endpoints":["http://a:1"],"pvc":{},"store":{}}`,
		"strange format": `{"endpoints":["http://a:1"],"pvc":{},"compression":"lzw"}`,
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

// TestMemory runs the agent as a process of its own, with a database that is several
// times the size of its memory.
func TestMemory(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 300, 1<<20)
	dir := t.TempDir()
	for name, tk := range map[string]task.Task{
		"S3": toS3(c.endpoints(), s.place(t, "key")), "S3 with zstd": toS3(c.endpoints(), s.place(t, "key.zst")), "a volume": toPVC(c.endpoints(), dir, "file"),
	} {
		t.Run(name, func(t *testing.T) {
			if tk.Store != nil {
				tk.Store.Endpoint = s.Endpoint
			}
			if strings.Contains(name, zstd) {
				tk.Compression = zstd
			}
			env, err := json.Marshal(tk)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=1", task.Env+"="+string(env), ResultFileEnv+"="+filepath.Join(t.TempDir(), "result"))
			start := time.Now()
			var log bytes.Buffer
			cmd.Stderr = &log
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &log)
			}
			used, err := strconv.Atoi(strings.TrimSpace(string(out)))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("300 MiB in %s, with at most %d KiB of memory", time.Since(start).Round(time.Millisecond), used)
			if used > maxMemory {
				t.Errorf("%d KiB of memory were used, want at most %d", used, maxMemory)
			}
		})
	}
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
