// Package shell runs other programs to their end, always with a deadline, and turns their failure into an error
// that says which program, which arguments and what it printed.
package shell

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// DefaultTimeout bounds a program that was started with a context without a deadline.
const DefaultTimeout = time.Minute

// waitDelay is how long a killed program's pipes may stay open before they are closed under it.
const waitDelay = 2 * time.Second

// Cmd is one program to run.
type Cmd struct {
	Argv  []string
	Dir   string   // working folder; empty: the caller's
	Env   []string // whole environment; nil: the caller's
	Stdin string
}

// Run runs name with args and returns what it printed to its standard output.
func Run(ctx context.Context, name string, args ...string) (string, error) {
	return Cmd{Argv: append([]string{name}, args...)}.Run(ctx)
}

// Run runs the program to its end and returns what it printed to its standard output.
func (c Cmd) Run(ctx context.Context) (string, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, &stdout, &stderr
	cmd.Stdin = strings.NewReader(c.Stdin)
	cmd.WaitDelay = waitDelay
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		return stdout.String(), fmt.Errorf("%s: %w%s", strings.Join(c.Argv, " "), err, detail(stderr.String(), stdout.String()))
	}
	return stdout.String(), nil
}

// detail returns the end of what a failed program said, for its error.
func detail(stderr, stdout string) string {
	said := strings.TrimSpace(stderr)
	if said == "" {
		said = strings.TrimSpace(stdout)
	}
	if said == "" {
		return ""
	}
	const most = 2000 // characters: enough for a Go compiler's or kubectl's last lines
	if len(said) > most {
		said = "..." + said[len(said)-most:]
	}
	return ": " + said
}
