package runner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// gcPercent keeps the heap close to what is in use, most of which is buffers that cost
// no time to collect.
const gcPercent = 10

// Prepare sets the process up for little memory, and returns its log.
func Prepare() *slog.Logger {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, nil))
}

// Run carries out a task, and returns why it failed in the words of explain, or nil. A
// panic is a failure like any other.
func Run(ctx context.Context, carryOut func(context.Context) error, explain func(context.Context, error) *agent.Failure) *agent.Failure {
	if err := guarded(func() error { return carryOut(ctx) }); err != nil {
		return explain(ctx, err)
	}
	return nil
}

// guarded makes an error of a panic, so that it is reported as one.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
