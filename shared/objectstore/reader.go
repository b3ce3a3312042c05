package objectstore

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	// resumes is how often a read is taken up again without a byte in between.
	resumes = 5
	// resumePause is how long a reader waits before it does, times the number of
	// failures so far.
	resumePause = 500 * time.Millisecond
)

// Source reads one object for a Reader.
type Source interface {
	// Open opens the object from an offset on. With the ETag set it is that version or
	// none; without, Open fills in o.
	Open(ctx context.Context, o *Object, offset int64) (io.ReadCloser, error)
	// Fail makes an *Error of what went wrong.
	Fail(op, key string, err error) error
}

// Reader reads one object. It is the same object to the end: one that is replaced
// meanwhile ends in Changed.
type Reader struct {
	Object
	source   Source
	ctx      context.Context
	body     io.ReadCloser
	offset   int64
	failures int
}

// NewReader opens an object. Its transfers end with ctx.
func NewReader(ctx context.Context, source Source, key, etag string) (*Reader, error) {
	r := &Reader{Object: Object{Key: key, ETag: etag}, source: source, ctx: ctx}
	body, err := source.Open(ctx, &r.Object, 0)
	if err != nil {
		return nil, err
	}
	r.body = body
	return r, nil
}

// Read implements io.Reader. It returns io.EOF only at the end of the object.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		if r.offset == r.Size {
			return 0, io.EOF
		}
		n, err := r.body.Read(p)
		r.offset += int64(n)
		if n > 0 {
			r.failures = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if err := r.resume(err); err != nil {
			return 0, err
		}
	}
}

// resume takes the transfer up again after it broke for that reason.
func (r *Reader) resume(why error) error {
	_ = r.body.Close() // broken as it is
	r.failures++
	if r.failures > resumes {
		return r.source.Fail("read", r.Key, fmt.Errorf("it broke %d times at byte %d of %d: %w", r.failures, r.offset, r.Size, why))
	}
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-time.After(time.Duration(r.failures-1) * resumePause):
	}
	body, err := r.source.Open(r.ctx, &r.Object, r.offset)
	if err == nil {
		r.body = body
	}
	return err
}

// Close ends the transfer.
func (r *Reader) Close() error { return r.body.Close() }
