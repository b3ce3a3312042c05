package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
)

// nodeMonitorGracePeriod is how long a node may be silent until it is NotReady:
// less than Kubernetes' 50 s, for tests that wait for it.
const nodeMonitorGracePeriod = "16s"

// Localkube is the Kubernetes of this repository, on this machine: see
// e2e/localkube. Its nodes can die, and their processes are the machine's own.
type Localkube struct {
	program string
	out     io.Writer
	// found: it was running before us.
	found bool
	// locked is open while we use it: there is one localkube on a machine, and each
	// run takes nodes away and clears up behind itself.
	locked *os.File
}

// lockFile is in a folder that every checkout of the repository shares.
var lockFile = filepath.Join(os.TempDir(), "etcd-operators-e2e.lock")

// lock waits until no other run of the suite, the demo or the benchmark uses
// localkube. The kernel gives it up with the process.
func (l *Localkube) lock(ctx context.Context) error {
	f, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock localkube: %w", err)
	}
	l.locked = f
	told := false // so that it is said once
	return Poll(ctx, "localkube, which another run is using", func(context.Context) (string, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if !told {
				fmt.Fprintln(l.out, "another run of the tests, the demo or the benchmark is using localkube: waiting for its end")
				told = true
			}
			return lockFile + " is locked", nil
		}
		return "", err
	})
}

func newLocalkube(ctx context.Context, root string, out io.Writer) (*Localkube, error) {
	l := &Localkube{program: filepath.Join(root, "bin", "localkube"), out: out}
	return l, gobuild.Build{
		What: "building localkube", Dir: filepath.Join(root, "e2e"), Env: append(os.Environ(), "GOWORK=off"),
		Packages: []string{"./localkube"}, Output: l.program, Out: out,
	}.Run(ctx)
}

func (l *Localkube) kubeconfig(ctx context.Context) (string, error) {
	out, err := run(ctx, "", nil, l.program, "kubeconfig")
	return strings.TrimSpace(out), err
}

// build builds what is not built yet: Kubernetes, and the extras that are named, all if none is.
func (l *Localkube) build(ctx context.Context, only []string) error {
	return l.loud(ctx, append([]string{"build"}, onlyArgs(only)...)...)
}

func onlyArgs(only []string) []string {
	var args []string
	for _, name := range only {
		args = append(args, "--only", name)
	}
	return args
}

func (l *Localkube) up(ctx context.Context, o Options, tars []string) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	_, err := run(ctx, "", nil, l.program, "status")
	l.found = err == nil
	args := append([]string{"up", "--nodes", strconv.Itoa(o.Nodes), "--node-monitor-grace-period", nodeMonitorGracePeriod}, onlyArgs(o.Only)...)
	for _, tar := range tars {
		args = append(args, "--image", tar)
	}
	return l.loud(ctx, args...)
}

func (l *Localkube) down(ctx context.Context) error { return l.loud(ctx, "down") }

func (l *Localkube) load(ctx context.Context, tars []string) error {
	return l.loud(ctx, append([]string{"load"}, tars...)...)
}

// registry lets the nodes find a registry at a URL, or without one where its name says.
func (l *Localkube) registry(ctx context.Context, name string, at ...string) error {
	return l.loud(ctx, append([]string{"registry", name}, at...)...)
}

// StopNode lets the machine of node n (2 or 3) lose its power.
func (l *Localkube) StopNode(ctx context.Context, n int) error { return l.node(ctx, "stop", n) }

// StartNode switches it on again.
func (l *Localkube) StartNode(ctx context.Context, n int) error { return l.node(ctx, "start", n) }

// PartitionNode cuts node n off from the others; what runs on it goes on.
func (l *Localkube) PartitionNode(ctx context.Context, n int) error {
	return l.node(ctx, "partition", n)
}

// HealNode undoes PartitionNode.
func (l *Localkube) HealNode(ctx context.Context, n int) error { return l.node(ctx, "heal", n) }

func (l *Localkube) node(ctx context.Context, action string, n int) error {
	_, err := run(ctx, "", nil, l.program, "node", action, strconv.Itoa(n))
	return err
}

// NodeName is the Kubernetes name of node n. Node 1 is the one that can't be
// stopped.
func (l *Localkube) NodeName(n int) string { return fmt.Sprintf("localkube-%d", n) }

// AuditLog is the file with a line for each request of a Pod to the API server.
func (l *Localkube) AuditLog(ctx context.Context) (string, error) {
	out, err := run(ctx, "", nil, l.program, "status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if path, ok := strings.CutPrefix(line, "audit log"); ok {
			return strings.TrimSpace(path), nil
		}
	}
	return "", fmt.Errorf("localkube status names no audit log")
}

// programs is the folder that localkube names in a variable of the environment for tests.
func (l *Localkube) programs(ctx context.Context, variable string) (string, error) {
	out, err := run(ctx, "", nil, l.program, "env")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if path, ok := strings.CutPrefix(line, "export "+variable+"="); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", fmt.Errorf("localkube env has no %s: %s", variable, out)
}

// loud runs localkube with its progress on the terminal.
func (l *Localkube) loud(ctx context.Context, args ...string) error {
	cmd := command(ctx, "", nil, append([]string{l.program}, args...)...)
	cmd.Stdout, cmd.Stderr = l.out, l.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("localkube %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// killDelay is how long a program may take to end after it was asked to.
const killDelay = 20 * time.Second

func command(ctx context.Context, dir string, env []string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	return cmd
}

// run runs a program and returns what it prints; its errors hold all of that.
func run(ctx context.Context, dir string, env []string, argv ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := command(ctx, dir, env, argv...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(stdout.String()+stderr.String()))
	}
	return stdout.String(), nil
}
