package etcdtest

import (
	"context"
	"testing"
	"time"
)

// promptly is how long a test waits for one call or one value. It leaves time for a busy machine.
const promptly = time.Minute

// Context returns a context for the calls of a test. Its deadline makes a call that hangs fail with a message,
// before go test's own timeout ends all tests.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), promptly)
	t.Cleanup(cancel)
	return ctx
}

// Receive returns the next value of a channel, or the zero value if the channel is closed. It fails the test if no
// value arrives within a minute.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(promptly):
		t.Fatalf("waited %s for %s", promptly, what)
		panic("unreachable")
	}
}
