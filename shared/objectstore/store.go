package objectstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Store is one bucket, or what a store calls it.
type Store interface {
	// URL is how people write where an object lies.
	URL(key string) string
	// Put stores what r holds under key, and returns its size. The object appears, or
	// replaces the one that was there, only after r has ended in io.EOF and all of it is
	// stored. After an error, and when ctx ends, nothing is left; only a store that can't
	// be reached any more may keep parts, which never become an object. An error of r
	// comes back as a *ReadError, all others as an *Error.
	Put(ctx context.Context, key string, r io.Reader, options PutOptions) (int64, error)
	// Get opens the object of that key; with an etag, only the one that has it. Its
	// transfers end with ctx. The caller closes the Reader.
	Get(ctx context.Context, key, etag string) (*Reader, error)
	// ReadSmall returns the content of an object of at most limit bytes. It is a cheap
	// first request, too: that the store and the bucket are there and the credentials are
	// right shows here, soon.
	ReadSmall(ctx context.Context, key string, limit int64) ([]byte, error)
	// WriteSmall stores a small object, or replaces it, by one request.
	WriteSmall(ctx context.Context, key string, content []byte) error
	// Stat says what is stored under key.
	Stat(ctx context.Context, key string) (Object, error)
	// Tag describes an object further, where the store can do so without writing it anew.
	Tag(ctx context.Context, key string, tags map[string]string) error
	// List returns the objects whose keys begin with prefix, in the order of their keys,
	// however many there are. After an error it ends.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete deletes objects, some at a time, and returns how many. One that isn't there
	// counts as deleted. It goes on after an error, and returns the first.
	Delete(ctx context.Context, keys ...string) (deleted int, err error)
	// AbortUpload removes an upload with its parts. One that has ended, or that is gone,
	// is no error. A store whose unfinished uploads vanish by themselves does nothing.
	AbortUpload(ctx context.Context, u Upload) error
}

// Object is one that is stored.
type Object struct {
	Key  string
	Size int64
	// ETag changes whenever the object is replaced.
	ETag     string
	Modified time.Time
	// Metadata is only known to Stat and Get.
	Metadata map[string]string
}

// Upload is an upload in parts that was begun, in a store that keeps the parts, and lets
// them be paid for, until somebody aborts it. Such a store lists nothing of it but its key,
// its id and when it was begun. So whose it is only whoever began it knows, by its id: no
// other upload is ever aborted.
type Upload struct {
	Key string `json:"key"`
	ID  string `json:"id"`
}

// PutOptions say how an object is stored.
type PutOptions struct {
	// Metadata is the object's user metadata: lower-case names, ASCII values.
	Metadata map[string]string
	// IfAbsent refuses with AlreadyExists where there is an object of that key. In
	// stores without conditional writes, one that comes up meanwhile is replaced.
	IfAbsent bool
	// Begun, if not nil, is told of an [Upload] before its first part is stored.
	Begun func(ctx context.Context, u Upload)
	// Progress, if not nil, is called with the number of bytes stored since its last
	// call, from several goroutines.
	Progress func(bytes int)
}

// Tell tells of bytes that were stored.
func (o *PutOptions) Tell(bytes int) {
	if o.Progress != nil {
		o.Progress(bytes)
	}
}

// TokenKey is the user metadata that tells the object of one Put from that of another, when
// the answer to the request that completed it was lost.
const TokenKey = "upload"

// Fill reads until the buffer is full or r ends; last says that it has. An error of r comes
// back as a *ReadError.
func Fill(r io.Reader, buffer []byte) (n int, last bool, err error) {
	for n < len(buffer) {
		more, err := r.Read(buffer[n:])
		n += more
		if err == io.EOF { // itself: an error that wraps it is no end
			return n, true, nil
		}
		if err != nil {
			return n, false, &ReadError{err}
		}
	}
	return n, false, nil
}

// PutStream stores what r holds: by single if a buffer of that size holds all of it, and else by
// large, which gets the full buffer and stores it with the rest of r.
func PutStream(r io.Reader, size int, single func(content []byte) error, large func(first []byte) (int64, error)) (int64, error) {
	buffer := make([]byte, size)
	n, last, err := Fill(r, buffer)
	if err != nil {
		return 0, err
	}
	if last {
		return int64(n), single(buffer[:n])
	}
	return large(buffer)
}

// CheckAbsent refuses with AlreadyExists if it can see an object of the key. Where it cannot, a
// conditional write is to tell. fail makes an error of the store's.
func CheckAbsent(ctx context.Context, s Store, key string, fail func(op, key string, err error) error) error {
	_, err := s.Stat(ctx, key)
	switch {
	case err == nil:
		return fail("look for an earlier object", key, Because(AlreadyExists, errors.New("it is there")))
	case errors.Is(err, NotFound), errors.Is(err, AccessDenied):
		return nil
	}
	return err
}

// deleters is how many objects are deleted at a time.
const deleters = 4

// DeleteEach is a Store's Delete, by a function that deletes one object.
func DeleteEach(keys []string, one func(key string) error) (deleted int, err error) {
	var group errgroup.Group
	group.SetLimit(deleters)
	var mu sync.Mutex
	for _, key := range keys {
		group.Go(func() error {
			if err := one(key); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			deleted++
			return nil
		})
	}
	err = group.Wait()
	return deleted, err
}
