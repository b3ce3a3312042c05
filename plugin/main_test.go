package main

import (
	"syscall"
	"testing"
	"time"
)

// TestSignals: the program removes its temporary files before it ends. A signal without a handler would end
// this test.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := untilSignal(t.Context())
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not end the context", s)
		}
		stop()
	}
}
