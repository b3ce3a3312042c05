package tunnel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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
	gone := false
	next := func() opening {
		select {
		case o := <-calls:
			return o
		case <-time.After(10 * time.Second):
			t.Fatal("it is not opened")
			return opening{}
		}
	}
	local, stop, err := keep(t.Context(), forward, "pod", 2379, func() { gone = true })
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
	if gone {
		t.Error("a Pod that does not answer is reported as gone")
	}
	fails = 1
	if _, _, err := keep(t.Context(), forward, "pod", 2379, func() { gone = true }); err == nil {
		t.Error("a first port-forward that fails is no error")
	}
}

// TestPodIsGone: a port-forward to a Pod that is gone is not retried. What waits for the members ends with an
// error when no member is left.
func TestPodIsGone(t *testing.T) {
	lost := make(chan struct{})
	close(lost)
	var calls atomic.Int32
	forward := func(context.Context, string, int, int) (*Port, error) {
		if calls.Add(1) > 2 {
			return nil, fmt.Errorf("forward a port: %w", ErrGone)
		}
		return &Port{Local: 4242, Lost: lost, Stop: func() {}}, nil
	}
	pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "example-a"}}}
	tunnel, err := Open(t.Context(), nil, &v1beta2.EtcdCluster{}, pods, forward)
	if err != nil {
		t.Fatal(err)
	}
	deadline, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	ctx, cancel := tunnel.While(deadline)
	defer cancel()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrGone) {
		t.Errorf("it ends with %v, want ErrGone", err)
	}
	tunnel.Close()
	if got := calls.Load(); got > 4 {
		t.Errorf("got %d port-forwards, want 2 and a last attempt of each", got)
	}
}
