package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const boot = "11111111-2222-3333-4444-555555555555"

// statLine is proc(5)'s, with a program name that tries to look like the fields behind it.
func statLine(pid int, state string, ticks uint64) string {
	return fmt.Sprintf("%d (a) Z 1 (b) %s 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %d 1000 10 18446744073709551615\n", pid, state, ticks)
}

func proc(t *testing.T, bootID string, lines map[int]string) Proc {
	t.Helper()
	root := t.TempDir()
	put := func(path, content string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(root, "sys/kernel/random/boot_id"), bootID+"\n")
	for pid, line := range lines {
		put(filepath.Join(root, strconv.Itoa(pid), "stat"), line)
	}
	return Proc(root)
}

func TestAliveKnowsAProcessFromTheNextOneWithItsPid(t *testing.T) {
	id := Identity{PID: 7, StartTicks: 500, BootID: boot}
	for name, c := range map[string]struct {
		reason string
		proc   Proc
		want   bool
	}{
		"the same process":     {proc: proc(t, boot, map[int]string{7: statLine(7, "S", 500)}), want: true},
		"gone":                 {proc: proc(t, boot, nil)},
		"a zombie":             {reason: "it runs no more; only its parent hasn't noticed", proc: proc(t, boot, map[int]string{7: statLine(7, "Z", 500)})},
		"the pid used again":   {proc: proc(t, boot, map[int]string{7: statLine(7, "S", 501)})},
		"after another boot":   {reason: "start ticks count from the boot", proc: proc(t, "other", map[int]string{7: statLine(7, "S", 500)})},
		"a stat that is noise": {proc: proc(t, boot, map[int]string{7: "noise"})},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.proc.Alive(id); got != c.want {
				t.Errorf("alive: %t, want %t: %s", got, c.want, c.reason)
			}
		})
	}
}

func TestParseStatRefusesWhatIsNoStat(t *testing.T) {
	for _, line := range []string{"", "1 sh S", "1 (sh) S 1 2", statLine(1, "S", 5)[:60]} {
		if got, err := parseStat(line); err == nil {
			t.Errorf("parseStat(%q) = %+v", line, got)
		}
	}
}

func TestIsOurs(t *testing.T) {
	programs, folders := []string{"containerd-shim-runc-v2", "kubelet"}, []string{"/run/lk/n2"}
	for name, c := range map[string]struct {
		argv []string
		want bool
	}{
		"our shim":            {argv: []string{"/usr/bin/containerd-shim-runc-v2", "-address", "/run/lk/n2/containerd.sock"}, want: true},
		"our kubelet":         {argv: []string{"kubelet", "--config=/run/lk/n2/kubelet.yaml"}, want: true},
		"another node's shim": {argv: []string{"containerd-shim-runc-v2", "-address", "/run/lk/n20/containerd.sock"}},
		"the machine's shim":  {argv: []string{"containerd-shim-runc-v2", "-address", "/run/containerd/containerd.sock"}},
		"an editor":           {argv: []string{"vi", "/run/lk/n2/kubelet.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isOurs(c.argv, programs, folders); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestStartStopAgainstRealProcesses(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "daemons"))
	before := 0
	spec := Spec{Name: "sleeper", Argv: []string{"sleep", "600"}, LogPath: filepath.Join(t.TempDir(), "log"), Before: func(ctx context.Context) error {
		if running, err := dir.Running("sleeper"); err != nil || running != nil {
			t.Errorf("Before ran beside an earlier process: %+v, %v", running, err)
		}
		before++
		return ctx.Err()
	}}
	start := func(want bool) *Record {
		t.Helper()
		if started, err := dir.Start(t.Context(), spec); err != nil || started != want {
			t.Fatalf("started %t, %v, want %t", started, err, want)
		}
		record, err := dir.Running(spec.Name)
		if err != nil || record == nil {
			t.Fatalf("it doesn't run: %v", err)
		}
		return record
	}
	first := start(true)
	t.Cleanup(func() { _ = syscall.Kill(first.PID, syscall.SIGKILL) })
	if again := start(false); again.Identity != first.Identity {
		t.Errorf("a second start made %+v out of %+v", again, first)
	}

	spec.Fingerprint = "another configuration"
	second := start(true)
	if second.PID == first.PID || SystemProc.Alive(first.Identity) {
		t.Errorf("the first process %+v still runs beside %+v", first, second)
	}

	if err := syscall.Kill(second.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !gone(t.Context(), second.Identity, 5*time.Second) {
		t.Fatal("it outlived SIGKILL")
	}
	third := start(true)
	if err := dir.Stop(t.Context(), spec.Name); err != nil {
		t.Fatal(err)
	}
	if SystemProc.Alive(third.Identity) {
		t.Error("it outlived Stop")
	}
	if before != 3 {
		t.Errorf("Before ran %d times for 3 starts", before)
	}
	if names, err := dir.Names(); err != nil || len(names) != 0 {
		t.Errorf("records left: %v, %v", names, err)
	}
	if err := dir.Stop(t.Context(), spec.Name); err != nil {
		t.Errorf("stopping what isn't there: %v", err)
	}
}
