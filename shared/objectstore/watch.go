package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// stalledError is that of a request that was cut. The SDK takes it for a broken
// connection, and tries the request again.
type stalledError struct{ after time.Duration }

func (e *stalledError) Error() string         { return fmt.Sprintf("no progress for %s", e.after) }
func (e *stalledError) ConnectionError() bool { return true }

// stallKey is a context's, for a request that may be silent for longer.
type stallKey struct{}

func withStall(ctx context.Context, stall time.Duration) context.Context {
	return context.WithValue(ctx, stallKey{}, stall)
}

// watched cuts requests that make no progress: no byte of the body is taken or given
// for the time stall, or no answer comes for as long. The SDK calls Do once for every
// try, so that only the try is lost.
type watched struct {
	client aws.HTTPClient
	stall  time.Duration
}

// Do implements aws.HTTPClient.
func (w *watched) Do(req *http.Request) (*http.Response, error) {
	stall := w.stall
	if longer, ok := req.Context().Value(stallKey{}).(time.Duration); ok {
		stall = max(stall, longer)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	dog := &watchdog{stall: stall, cancel: cancel}
	dog.arm()
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sent{ReadCloser: req.Body, dog: dog}
	}
	resp, err := w.client.Do(req)
	dog.disarm()
	if err != nil {
		err = reasonFor(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &received{ReadCloser: resp.Body, ctx: ctx, dog: dog}
	return resp, nil
}

// reasonFor is err, or that the watchdog has cut the request.
func reasonFor(ctx context.Context, err error) error {
	var stalled *stalledError
	if errors.As(context.Cause(ctx), &stalled) {
		return stalled
	}
	return err
}

// watchdog cuts a request unless it is disarmed or armed anew in time.
type watchdog struct {
	stall  time.Duration
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	timer  *time.Timer
}

func (d *watchdog) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil {
		d.timer = time.AfterFunc(d.stall, func() { d.cancel(&stalledError{d.stall}) })
		return
	}
	d.timer.Reset(d.stall)
}

func (d *watchdog) disarm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}

// sent is a request's body: whenever more of it is taken, there is progress.
type sent struct {
	io.ReadCloser
	dog *watchdog
}

func (s *sent) Read(p []byte) (int, error) {
	s.dog.arm()
	return s.ReadCloser.Read(p)
}

// received is an answer's body. It is watched only while it is read: a reader that
// takes its time is no stall.
type received struct {
	io.ReadCloser
	ctx context.Context
	dog *watchdog
}

func (r *received) Read(p []byte) (int, error) {
	r.dog.arm()
	n, err := r.ReadCloser.Read(p)
	r.dog.disarm()
	if err != nil && !errors.Is(err, io.EOF) {
		err = reasonFor(r.ctx, err)
	}
	return n, err
}

func (r *received) Close() error {
	r.dog.disarm()
	err := r.ReadCloser.Close()
	r.dog.cancel(nil)
	return err
}
