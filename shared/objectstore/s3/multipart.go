package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

const (
	// abortTimeout is how long it may take to abort an upload, of the 30 s that
	// Kubernetes leaves a Pod that is to end.
	abortTimeout = 15 * time.Second
	// drain is how long parts that are under way may go on when an upload has failed
	// or is cancelled: one that is cut may still arrive after the abort.
	drain = 5 * time.Second
	// abortTries is how often it is aborted: a part that was under way may arrive
	// after the first time, and S3 asks to abort once more then.
	abortTries = 3
)

// multipart stores what the full first buffer and r hold. The upload is aborted
// unless all of it is stored.
//
// The SDK's own feature/s3/transfermanager (v0.5.3) is as fast (0.9 to 1.1 times), with 3
// times the memory by default and as much with the same parts. But its parts are of one size,
// which bounds a stream of unknown length to 49 GiB with parts of 5 MiB. It takes a completion
// whose answer was lost for a failure, does not try again without a condition that the store
// lacks, aborts once, and gives the id of an upload only at its end. The table and the
// benchmark are in docs/design/backup-stream.md.
func (p *put) multipart(ctx context.Context, r io.Reader, first []byte) (size int64, err error) {
	id, err := p.create(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err == nil {
			return
		}
		if aborting := p.abort(context.WithoutCancel(ctx), p.key, id); aborting != nil {
			err = fmt.Errorf("%w; and the parts that were stored could not be removed: %w", err, aborting)
		}
	}()
	parts, size, err := p.parts(ctx, id, r, first)
	if err != nil {
		return 0, err
	}
	return size, p.complete(ctx, id, parts, size)
}

// create begins an upload. If it took several tries, one whose answer was lost may have
// begun another, which nobody can tell from that of another run at the same key. It stays:
// it has no parts, and costs its owner nothing.
func (p *put) create(ctx context.Context) (id string, err error) {
	out, err := p.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &p.settings.Bucket, Key: &p.key,
		Metadata:             p.metadata(),
		StorageClass:         types.StorageClass(p.settings.StorageClass),
		ServerSideEncryption: types.ServerSideEncryption(p.settings.ServerSideEncryption),
		SSEKMSKeyId:          optional(p.settings.KMSKeyID),
		Tagging:              p.tagging(),
		ChecksumAlgorithm:    p.algorithm(),
	})
	if err != nil {
		return "", p.fail("begin an upload", p.key, err)
	}
	id = *out.UploadId
	if p.options.Begun != nil {
		p.options.Begun(ctx, objectstore.Upload{Key: p.key, ID: id})
	}
	return id, nil
}

// parts sends all parts and returns them with their sum. When it returns, none is
// under way.
func (p *put) parts(ctx context.Context, id string, r io.Reader, first []byte) ([]*types.CompletedPart, int64, error) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	group, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { time.AfterFunc(drain, cut) })
	free := make(chan []byte, buffers)
	for range buffers - 1 {
		free <- nil // made when it is needed
	}
	var parts []*types.CompletedPart
	var size int64
	send := func(buffer []byte, n int) {
		number := int32(len(parts) + 1)
		part := &types.CompletedPart{PartNumber: &number}
		parts = append(parts, part)
		size += int64(n)
		group.Go(func() error {
			err := p.part(sending, id, part, buffer[:n])
			free <- buffer
			return err
		})
	}
	send(first, len(first))
	reading := func() error {
		for {
			var buffer []byte
			select {
			case buffer = <-free:
			case <-ctx.Done():
				return ctx.Err() // the group has the reason
			}
			if len(parts) == maxParts {
				return p.ended(r)
			}
			if want := partSize(len(parts) + 1); len(buffer) < want {
				buffer = make([]byte, want)
			}
			n, last, err := objectstore.Fill(r, buffer)
			if err != nil {
				return err
			}
			if n > 0 {
				send(buffer, n)
			}
			if last {
				return nil
			}
		}
	}
	group.Go(reading)
	err := group.Wait()
	return parts, size, err
}

// ended refuses if there is more to store than parts can hold.
func (p *put) ended(r io.Reader) error {
	switch n, _, err := objectstore.Fill(r, make([]byte, 1)); {
	case err != nil:
		return err
	case n > 0:
		return p.fail("store", p.key, objectstore.Because(objectstore.TooLarge, fmt.Errorf("it has more than %d bytes", int64(MaxSize))))
	}
	return nil
}

// part sends one part; the SDK tries again what breaks.
func (p *put) part(ctx context.Context, id string, part *types.CompletedPart, content []byte) error {
	in := &s3.UploadPartInput{
		Bucket: &p.settings.Bucket, Key: &p.key, UploadId: &id, PartNumber: part.PartNumber,
		Body: bytes.NewReader(content), ContentMD5: p.digest(content),
	}
	out, err := p.client.UploadPart(ctx, in)
	if p.needsDigest(err) {
		in.Body, in.ContentMD5 = bytes.NewReader(content), p.digest(content)
		out, err = p.client.UploadPart(ctx, in)
	}
	if err != nil {
		return p.fail(fmt.Sprintf("store part %d", *part.PartNumber), p.key, p.gone(err))
	}
	// What the store has computed of a part, if anything, it compares at the end.
	part.ETag, part.ChecksumCRC32 = out.ETag, out.ChecksumCRC32
	p.options.Tell(len(content))
	return nil
}

// complete makes the object of the parts.
func (p *put) complete(ctx context.Context, id string, parts []*types.CompletedPart, size int64) error {
	list := make([]types.CompletedPart, len(parts))
	for i, part := range parts {
		list[i] = *part
	}
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &p.settings.Bucket, Key: &p.key, UploadId: &id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: list},
		IfNoneMatch:     p.ifNoneMatch(),
	}
	ctx = objectstore.WithStall(ctx, completeStall)
	_, err := p.client.CompleteMultipartUpload(ctx, in)
	if p.unconditionally(err) {
		in.IfNoneMatch = nil
		_, err = p.client.CompleteMultipartUpload(ctx, in)
	}
	if err == nil || p.stored(ctx, err, size) {
		return nil
	}
	return p.refused("put the parts together", p.gone(err))
}

// gone makes a bare "not found" of an upload what it is: somebody aborted it.
func (p *put) gone(err error) error {
	if reasonOf(err) == objectstore.NotFound {
		return objectstore.Because(objectstore.Unavailable, err)
	}
	return err
}

// abort removes an upload with its parts; ctx needs no deadline.
func (s *Store) abort(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	for range abortTries {
		_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.settings.Bucket, Key: &key, UploadId: &id})
		if err != nil && !noUpload(err) {
			return s.fail("abort the upload", key, err)
		}
		one := int32(1)
		left, err := s.client.ListParts(ctx, &s3.ListPartsInput{Bucket: &s.settings.Bucket, Key: &key, UploadId: &id, MaxParts: &one}, s.quick)
		if err != nil || len(left.Parts) == 0 {
			return nil // gone; or it can't be seen, and was aborted
		}
	}
	return s.fail("abort the upload", key, errors.New("parts keep arriving"))
}

func noUpload(err error) bool {
	return hasCode(err, "NoSuchUpload") || reasonOf(err) == objectstore.NotFound
}
