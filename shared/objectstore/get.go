package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

const (
	// resumes is how often a read is taken up again without a byte in between.
	resumes = 5
	// resumePause is how long a reader waits before it does, times the number of
	// failures so far.
	resumePause = 500 * time.Millisecond
	// deleters is how many objects are deleted at a time.
	deleters = 4
)

// Reader reads one object. It is the same object to the end: one that is replaced
// meanwhile ends in Changed.
type Reader struct {
	Object
	store    *Store
	ctx      context.Context
	body     io.ReadCloser
	offset   int64
	failures int
}

// Get opens the object of that key; with an etag, only the one that has it. Its
// transfers end with ctx. The caller closes the Reader.
func (s *Store) Get(ctx context.Context, key, etag string) (*Reader, error) {
	r := &Reader{Object: Object{Key: key, ETag: etag}, store: s, ctx: ctx}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// open asks for the object from the offset on.
func (r *Reader) open() error {
	in := &s3.GetObjectInput{Bucket: &r.store.settings.Bucket, Key: &r.Key, IfMatch: optional(r.ETag)}
	if r.offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", r.offset))
	}
	out, err := r.store.client.GetObject(r.ctx, in)
	if err != nil {
		if reasonOf(err) == AlreadyExists { // a precondition, but not that of a write
			err = &withReason{Changed, err}
		}
		return r.store.fail("read", r.Key, err)
	}
	if r.offset > 0 && out.ContentRange == nil {
		return errors.Join(out.Body.Close(), r.store.fail("read", r.Key, errors.New("the store does not read from the middle")))
	}
	if r.offset == 0 {
		r.Size, r.ETag = aws.ToInt64(out.ContentLength), aws.ToString(out.ETag)
		r.Modified, r.Metadata = aws.ToTime(out.LastModified), out.Metadata
	}
	r.body = out.Body
	return nil
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
		return r.store.fail("read", r.Key, fmt.Errorf("it broke %d times at byte %d of %d: %w", r.failures, r.offset, r.Size, why))
	}
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-time.After(time.Duration(r.failures-1) * resumePause):
	}
	return r.open()
}

// Close ends the transfer.
func (r *Reader) Close() error { return r.body.Close() }

// List returns the objects whose keys begin with prefix, in the order of their keys,
// however many there are. After an error it ends.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.settings.Bucket, Prefix: optional(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(Object{}, s.fail("list objects", "", err))
				return
			}
			for _, o := range page.Contents {
				object := Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag), Modified: aws.ToTime(o.LastModified)}
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

// Delete deletes objects, some at a time, and returns how many. One that isn't there
// counts as deleted. It goes on after an error, and returns the first.
func (s *Store) Delete(ctx context.Context, keys ...string) (deleted int, err error) {
	var group errgroup.Group
	group.SetLimit(deleters)
	var mu sync.Mutex
	for _, key := range keys {
		group.Go(func() error {
			_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.settings.Bucket, Key: &key})
			if err != nil && reasonOf(err) != NotFound {
				return s.fail("delete", key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			deleted++
			return nil
		})
	}
	return deleted, group.Wait()
}
