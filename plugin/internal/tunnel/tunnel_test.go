package tunnel

import (
	"context"
	"errors"
	"testing"
	"time"
)

// opening is a call for a port-forward.
type opening struct {
	local int
	port  *Port
	lost  chan struct{}
	stop  chan struct{}
}

// TestLostPortForwards: a port-forward that is lost, as client-go ends one when a single connection
// through it fails, is opened again at the same local port, until the tunnel is closed.
func TestLostPortForwards(t *testing.T) {
	calls := make(chan opening, 10)
	fails := 0
	forward := func(_ context.Context, _ string, local, _ int) (*Port, error) {
		if fails > 0 {
			fails--
			return nil, errors.New("the Pod does not answer")
		}
		o := opening{local: local, lost: make(chan struct{}), stop: make(chan struct{})}
		o.port = &Port{Local: 4242, Lost: o.lost, Stop: func() { close(o.stop) }}
		calls <- o
		return o.port, nil
	}
	next := func() opening {
		select {
		case o := <-calls:
			return o
		case <-time.After(10 * time.Second):
			t.Fatal("it is not opened")
			return opening{}
		}
	}
	local, stop, err := keep(t.Context(), forward, "pod", 2379)
	if err != nil || local != 4242 {
		t.Fatal(local, err)
	}
	first := next()
	fails = 2
	close(first.lost)
	second := next()
	if first.local != 0 || second.local != 4242 {
		t.Errorf("it is opened at the port %d, and then at %d", first.local, second.local)
	}
	stop()
	select {
	case <-second.stop:
	default:
		t.Error("the port-forward is not stopped")
	}
	if len(calls) > 0 {
		t.Error("it is opened once more")
	}
	fails = 1
	if _, _, err := keep(t.Context(), forward, "pod", 2379); err == nil {
		t.Error("a first port-forward that fails is no error")
	}
}
