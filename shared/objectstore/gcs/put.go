package gcs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"time"

	"cloud.google.com/go/storage"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

const (
	// chunkSize is how much of a large object one request sends: the SDK has a buffer of that
	// size, and each request costs a round trip.
	chunkSize = 8 << 20
	// bufferSize is that of the buffer which is filled while the SDK sends its own. A second
	// chunk would leave little of the memory that a backup may take.
	bufferSize = 4 << 20
	// chunkDeadline bounds the tries of one chunk by time; it is enough for all retries to
	// stall.
	chunkDeadline = 20 * time.Minute
	// discardTimeout is how long it may take to cancel an upload, or to delete an object that is
	// not what was sent, of the 30 s that Kubernetes leaves a Pod that is to end.
	discardTimeout = 15 * time.Second
	// statusCancelled is Google's answer to who cancels an upload
	// (https://docs.cloud.google.com/storage/docs/performing-resumable-uploads#cancel-upload).
	statusCancelled = 499
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put is one Put under way.
type put struct {
	*Store
	key     string
	options objectstore.PutOptions
	// token is in the metadata, so that an object whose completion was not answered can be
	// told from what was there before.
	token string
}

func (s *Store) newPut(key string, options objectstore.PutOptions) *put {
	return &put{Store: s, key: key, options: options, token: rand.Text()}
}

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, options objectstore.PutOptions) (int64, error) {
	p := s.newPut(key, options)
	if options.IfAbsent {
		if err := objectstore.CheckAbsent(ctx, s, key, s.fail); err != nil {
			return 0, err
		}
	}
	return objectstore.PutStream(r, bufferSize,
		func(content []byte) error { return p.single(ctx, content) },
		func(first []byte) (int64, error) { return p.chunks(ctx, r, first) })
}

// WriteSmall implements objectstore.Store.
func (s *Store) WriteSmall(ctx context.Context, key string, content []byte) error {
	return s.newPut(key, objectstore.PutOptions{}).single(ctx, content)
}

// Tag implements objectstore.Store: an object has metadata alone, and to change it needs the
// right to update objects.
func (s *Store) Tag(context.Context, string, map[string]string) error { return nil }

// AbortUpload implements objectstore.Store: uploads that nobody ends vanish by themselves, and
// cost nothing.
func (s *Store) AbortUpload(context.Context, objectstore.Upload) error { return nil }

// single stores a small object by one request.
func (p *put) single(ctx context.Context, content []byte) error {
	w := p.writer(ctx, len(content)+1) // larger than the content: it is one chunk
	w.SendCRC32C, w.CRC32C = true, crc32.Checksum(content, castagnoli)
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil && !p.stored(ctx, err, int64(len(content)), w.CRC32C) {
		return p.fail("store", p.key, err)
	}
	p.options.Tell(len(content))
	return nil
}

// chunks stores what the full first buffer and r hold, by a resumable upload. It is cancelled
// unless all of it is stored.
func (p *put) chunks(ctx context.Context, r io.Reader, first []byte) (size int64, err error) {
	n := &notes{}
	defer func() {
		if err == nil {
			return
		}
		if discarding := p.discard(context.WithoutCancel(ctx), n.session); discarding != nil {
			err = fmt.Errorf("%w; and the upload that was begun could not be cancelled: %w", err, discarding)
		}
	}()
	size, sum, told, err := p.send(context.WithValue(ctx, notesKey{}, n), r, first)
	if err != nil && !p.stored(ctx, err, size, sum) {
		return 0, p.fail("store", p.key, err)
	}
	p.options.Tell(int(size - told)) // all of what is less than a chunk, of which the SDK tells nothing
	return size, nil
}

// send sends all chunks, and returns the size and the CRC32C of what was sent, and how much of it was
// told. When it returns, no request is under way.
func (p *put) send(ctx context.Context, r io.Reader, buffer []byte) (size int64, sum uint32, told int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := p.writer(ctx, chunkSize)
	progress := w.ProgressFunc
	w.ProgressFunc = func(sent int64) {
		progress(sent)
		p.options.Tell(int(sent - told))
		told = sent
	}
	for n, last := len(buffer), false; ; {
		size += int64(n)
		sum = crc32.Update(sum, castagnoli, buffer[:n])
		if _, err = w.Write(buffer[:n]); err != nil || last {
			break
		}
		if n, last, err = objectstore.Fill(r, buffer); err != nil {
			break
		}
	}
	if err != nil {
		cancel() // before Close, which else would complete the object
		_ = w.Close()
		return size, sum, told, err
	}
	if err := w.Close(); err != nil {
		return size, sum, told, err
	}
	if stored := w.Attrs(); stored.CRC32C != sum || stored.Size != size {
		return size, sum, told, p.revoke(ctx, stored)
	}
	return size, sum, told, nil
}

// revoke deletes an object that is not what was sent.
func (p *put) revoke(ctx context.Context, stored *storage.ObjectAttrs) error {
	err := fmt.Errorf("the store has %d bytes with CRC32C %08x, which is not what was sent", stored.Size, stored.CRC32C)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if deleting := p.object(p.key).Generation(stored.Generation).Delete(ctx); deleting != nil {
		return fmt.Errorf("%w; and they could not be deleted: %w", err, deleting)
	}
	return err
}

// writer is the SDK's, which tries each request again, but not without an end.
func (p *put) writer(ctx context.Context, chunk int) *storage.Writer {
	failures := 0 // of the SDK's one goroutine
	object := p.object(p.key).Retryer(storage.WithErrorFunc(func(err error) bool {
		if err == nil || !isPassing(err) {
			return false
		}
		failures++
		return failures <= retries
	}))
	if p.options.IfAbsent {
		object = object.If(storage.Conditions{DoesNotExist: true})
	}
	w := object.NewWriter(ctx)
	w.ChunkSize, w.ChunkRetryDeadline = chunk, chunkDeadline
	w.ContentType = "application/octet-stream" // else it is guessed
	w.Metadata = maps.Clone(p.options.Metadata)
	if w.Metadata == nil {
		w.Metadata = map[string]string{}
	}
	w.Metadata[objectstore.TokenKey] = p.token
	w.ProgressFunc = func(int64) { failures = 0 }
	return w
}

// stored tells, after a write that ended in err, whether it was done all the same: the
// answer to it may have been lost, and a second try refused for the first one's sake.
func (p *put) stored(ctx context.Context, err error, size int64, sum uint32) bool {
	var read *objectstore.ReadError
	if errors.As(err, &read) {
		return false
	}
	switch reasonOf(err) {
	case objectstore.AlreadyExists, objectstore.Unavailable, objectstore.Stalled:
	default:
		return false
	}
	there, err := p.quick(p.key).Attrs(ctx)
	return err == nil && there.Size == size && there.CRC32C == sum && there.Metadata[objectstore.TokenKey] == p.token
}

// discard cancels an upload that has failed.
func (p *put) discard(ctx context.Context, session string) error {
	if session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, session, http.NoBody)
	if err != nil {
		return p.fail("cancel the upload", p.key, err)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return p.fail("cancel the upload", p.key, err)
	}
	_ = answer.Body.Close() // its status has told
	switch answer.StatusCode {
	case statusCancelled, http.StatusNoContent, http.StatusOK, http.StatusNotFound, http.StatusGone:
		return nil
	}
	return p.fail("cancel the upload", p.key, errors.New(answer.Status))
}
