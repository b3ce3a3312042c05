package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

const (
	// stopTime is how long etcd may take to stop before it is killed.
	stopTime = 10 * time.Second
	// maxTail is how much of etcd's log is kept for a message, in bytes.
	maxTail = 4 << 10
	// maxWords is how much of a line of it a message has, in bytes.
	maxWords = 500
)

// process is an etcd that runs for a trial.
type process struct {
	cancel context.CancelFunc
	log    *tail
	// ended is closed once it has ended, with failed as the reason. It was stopped if it was told
	// to end before.
	ended   chan struct{}
	failed  error
	stopped bool
}

// startEtcd starts a program, which ends with ctx at the latest. Nothing of the agent's own
// environment is passed on but where programs are, and Go's limits.
func startEtcd(ctx context.Context, program string, log io.Writer, flags ...string) (*process, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cancel: cancel, log: &tail{to: log}, ended: make(chan struct{})}
	command := exec.CommandContext(ctx, program, flags...)
	command.Cancel = func() error { // it has returned before Wait does
		err := command.Process.Signal(syscall.SIGTERM)
		p.stopped = err == nil
		return err
	}
	command.WaitDelay = stopTime
	command.Stdout, command.Stderr = p.log, p.log
	for _, name := range []string{"PATH", "GOMEMLIMIT", "GOGC", "GOMAXPROCS"} {
		if value, ok := os.LookupEnv(name); ok {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	if err := command.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		p.failed = command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop stops it, and returns when it has ended.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// explain says why a trial of an etcd of that version failed: how it has ended, if it has by
// itself, or else err, with what it logged last. One that a signal has ended is tried again: it
// may be for want of memory.
func (p *process) explain(ctx context.Context, version string, err error) error {
	if known := new(runner.Error); errors.As(err, &known) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	fail := runner.Passing
	select {
	case <-p.ended:
		if p.stopped {
			break
		}
		if exit := new(exec.ExitError); !errors.As(p.failed, &exit) || exit.Exited() {
			fail = runner.Refuse
		}
		err = fmt.Errorf("it has ended (%w)", p.failed)
	default:
	}
	said := ""
	if words := p.log.last(); words != "" {
		said = ": " + words
	}
	return fail(task.ReasonEtcdNotServing, "etcd %s does not serve the restored snapshot: %w%s; see the log of this Pod, and restore another snapshot", version, err, said)
}

// tail passes a log on, and keeps its end.
type tail struct {
	to io.Writer

	mu  sync.Mutex
	end []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-maxTail):]
	return t.to.Write(p)
}

// last is the last line: of etcd's JSON, what it says and its error.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.end), []byte("\n"))
	line := lines[len(lines)-1]
	var said struct {
		Message string `json:"msg"`
		Error   string `json:"error"`
	}
	words := string(line)
	if json.Unmarshal(line, &said) == nil && said.Message != "" {
		words = strings.TrimSuffix(said.Message+": "+said.Error, ": ")
	}
	return strings.ToValidUTF8(words[:min(len(words), maxWords)], "")
}
