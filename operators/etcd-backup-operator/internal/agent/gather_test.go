package agent

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Many messages are read at once, and none is kept from a reader for longer than gatherTime; what
// does not fit in one read is read on at once.
func TestGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			defer there.Close()
			for range 3 {
				_, _ = there.Write([]byte("abcd"))
			}
		}()
		g := newGathering(here)
		began := time.Now()
		p := make([]byte, 3)
		for _, want := range []struct {
			text  string
			after time.Duration
		}{
			{"abc", 0}, {"d", 0}, {"abc", gatherTime}, {"d", gatherTime}, {"abc", 2 * gatherTime}, {"d", 2 * gatherTime},
		} {
			n, err := g.Read(p)
			if took := time.Since(began); err != nil || string(p[:n]) != want.text || took != want.after {
				t.Fatalf("it reads %q after %s (%v), want %q after %s", p[:n], took, err, want.text, want.after)
			}
		}
		time.AfterFunc(gatherTime/2, func() { _ = g.Close() })
		if _, err := g.Read(p); err == nil || time.Since(began) != 2*gatherTime+gatherTime/2 {
			t.Errorf("a read ends after %s (%v), and not when the connection is closed", time.Since(began), err)
		}
	})
}
