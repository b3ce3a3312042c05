package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// StalledError is that of a request that was cut. SDKs take it for a broken connection, and
// try the request again.
type StalledError struct{ after time.Duration }

// Error implements error.
func (e *StalledError) Error() string { return fmt.Sprintf("no progress for %s", e.after) }

// ConnectionError tells AWS' SDK what it is.
func (e *StalledError) ConnectionError() bool { return true }

// DefaultStall is long enough for what the kernel has buffered to pass a slow network, and
// short beside a backup.
const DefaultStall = time.Minute

// stallKey is a context's, for a request that may be silent for longer.
type stallKey struct{}

// WithStall lets a request be silent for longer.
func WithStall(ctx context.Context, stall time.Duration) context.Context {
	return context.WithValue(ctx, stallKey{}, stall)
}

// Watched cuts requests that make no progress: no byte of the body is taken or given
// for the time Stall, or no answer comes for as long. SDKs call it once for every try, so
// that only the try is lost.
type Watched struct {
	// Send sends a request.
	Send func(*http.Request) (*http.Response, error)
	// Stall is DefaultStall if it is 0.
	Stall time.Duration
}

// RoundTrip implements http.RoundTripper.
func (w *Watched) RoundTrip(req *http.Request) (*http.Response, error) { return w.Do(req) }

// Do implements aws.HTTPClient.
func (w *Watched) Do(req *http.Request) (*http.Response, error) {
	stall := cmp.Or(w.Stall, DefaultStall)
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
	resp, err := w.Send(req)
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
	var stalled *StalledError
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
		d.timer = time.AfterFunc(d.stall, func() { d.cancel(&StalledError{d.stall}) })
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

// received is an answer's body. It is Watched only while it is read: a reader that
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
