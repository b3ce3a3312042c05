package abs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Sizes of an upload. Azure takes at most 50,000 blocks of a blob. Of the buffers, one is
// filled while the others are sent: 12 MiB together.
const (
	maxBlocks = 50_000
	blockSize = 4 << 20
	buffers   = 3
	// MaxSize is that of the largest blob that can be stored: 195 GiB.
	MaxSize = maxBlocks * blockSize
)

const (
	// drain is how long blocks that are under way may go on when an upload has failed or
	// is cancelled: one that is cut may still arrive after the others were discarded.
	drain = 5 * time.Second
	// discardTimeout is how long it may take to discard blocks, of the 30 s that
	// Kubernetes leaves a Pod that is to end.
	discardTimeout = 15 * time.Second
)

// put is one Put under way.
type put struct {
	*Store
	key     string
	client  *blockblob.Client
	options objectstore.PutOptions
	// token is in the metadata, so that a blob whose completion was not answered can be
	// told from what was there before, and in the ids of its blocks.
	token string
}

func (s *Store) newPut(key string, options objectstore.PutOptions) *put {
	return &put{Store: s, key: key, client: s.client.NewBlockBlobClient(key), options: options, token: rand.Text()}
}

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, options objectstore.PutOptions) (int64, error) {
	p := s.newPut(key, options)
	if options.IfAbsent {
		if err := objectstore.CheckAbsent(ctx, s, key, s.fail); err != nil {
			return 0, err
		}
	}
	return objectstore.PutStream(r, blockSize,
		func(content []byte) error { return p.single(ctx, content) },
		func(first []byte) (int64, error) { return p.blocks(ctx, r, first) })
}

// WriteSmall implements objectstore.Store.
func (s *Store) WriteSmall(ctx context.Context, key string, content []byte) error {
	return s.newPut(key, objectstore.PutOptions{}).single(ctx, content)
}

// Tag implements objectstore.Store: to describe a blob further changes its ETag.
func (s *Store) Tag(context.Context, string, map[string]string) error { return nil }

// AbortUpload implements objectstore.Store: blocks that nobody commits vanish by themselves.
func (s *Store) AbortUpload(context.Context, objectstore.Upload) error { return nil }

// single stores a small blob by one request.
func (p *put) single(ctx context.Context, content []byte) error {
	_, err := p.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{
		Metadata: p.metadata(), AccessConditions: p.conditions(),
	})
	if err != nil && !p.stored(ctx, err, int64(len(content))) {
		return p.fail("store", p.key, err)
	}
	p.options.Tell(len(content))
	return nil
}

// blocks stores what the full first buffer and r hold. The blocks are discarded unless all
// of it is stored.
//
// The SDK's own UploadStream tells nothing of its progress nor of its blocks' ids, and takes a
// completion whose answer was lost for a failure.
func (p *put) blocks(ctx context.Context, r io.Reader, first []byte) (size int64, err error) {
	defer func() {
		if err == nil {
			return
		}
		if discarding := p.discard(context.WithoutCancel(ctx)); discarding != nil {
			err = fmt.Errorf("%w; and the blocks that were stored could not be removed: %w", err, discarding)
		}
	}()
	ids, size, err := p.stage(ctx, r, first)
	if err != nil {
		return 0, err
	}
	return size, p.commit(ctx, ids, size)
}

// stage sends all blocks and returns their ids with the sum of their sizes. When it returns,
// none is under way.
func (p *put) stage(ctx context.Context, r io.Reader, first []byte) (ids []string, size int64, err error) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	group, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { time.AfterFunc(drain, cut) })
	free := make(chan []byte, buffers)
	for range buffers - 1 {
		free <- nil // made when it is needed
	}
	send := func(buffer []byte, n int) {
		id := p.blockID(len(ids))
		ids = append(ids, id)
		size += int64(n)
		group.Go(func() error {
			_, err := p.client.StageBlock(sending, id, streaming.NopCloser(bytes.NewReader(buffer[:n])), nil)
			free <- buffer
			if err != nil {
				return p.fail("store a block", p.key, err)
			}
			p.options.Tell(n)
			return nil
		})
	}
	send(first, len(first))
	group.Go(func() error {
		for {
			var buffer []byte
			select {
			case buffer = <-free:
			case <-ctx.Done():
				return ctx.Err() // the group has the reason
			}
			if buffer == nil {
				buffer = make([]byte, blockSize)
			}
			n, last, err := objectstore.Fill(r, buffer)
			if err != nil {
				return err
			}
			if n > 0 && len(ids) == maxBlocks {
				return p.fail("store", p.key, objectstore.Because(objectstore.TooLarge, fmt.Errorf("it has more than %d bytes", int64(MaxSize))))
			}
			if n > 0 {
				send(buffer, n)
			}
			if last {
				return nil
			}
		}
	})
	err = group.Wait()
	return ids, size, err
}

// blockID is that of a block; all of a blob have the same length.
func (p *put) blockID(number int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%06d", p.token, number))
}

// isOwn tells whether the block of that id is one of this upload.
func (p *put) isOwn(id string) bool {
	decoded, err := base64.StdEncoding.DecodeString(id)
	return err == nil && bytes.HasPrefix(decoded, []byte(p.token))
}

// commit makes the blob of the blocks.
func (p *put) commit(ctx context.Context, ids []string, size int64) error {
	_, err := p.client.CommitBlockList(objectstore.WithStall(ctx, commitStall), ids, &blockblob.CommitBlockListOptions{
		Metadata: p.metadata(), AccessConditions: p.conditions(),
	})
	if err == nil || p.stored(ctx, err, size) {
		return nil
	}
	return p.fail("put the blocks together", p.key, err)
}

// stored tells, after a write that ended in err, whether it was done all the same: the
// answer to it may have been lost, and a second try refused for the first one's sake.
func (p *put) stored(ctx context.Context, err error, size int64) bool {
	switch reasonOf(err) {
	case objectstore.AlreadyExists, objectstore.Unavailable, objectstore.Stalled:
	default:
		return false
	}
	there, err := p.Stat(ctx, p.key)
	return err == nil && there.Size == size && there.Metadata[objectstore.TokenKey] == p.token
}

// discard removes the blocks of an upload that has failed, so that they cost nothing until
// Azure forgets them in a week. Only a write of the blob removes them: an empty one, which is
// deleted at once. So they stay where a blob is to be replaced, where another upload has
// blocks of the same key, and where an immutability policy would keep the empty blob. An empty
// blob that a crash leaves here is one that List does not show.
func (p *put) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	list, err := p.client.GetBlockList(p.quick(ctx), blockblob.BlockListTypeUncommitted, nil)
	switch {
	case err != nil && reasonOf(err) == objectstore.NotFound:
		return nil
	case err != nil:
		return p.fail("discard the blocks", p.key, err)
	case len(list.UncommittedBlocks) == 0:
		return nil
	}
	for _, b := range list.UncommittedBlocks {
		if !p.isOwn(value(b.Name)) {
			return nil
		}
	}
	about, err := p.Store.client.GetProperties(p.quick(ctx), nil)
	if err != nil {
		return p.fail("discard the blocks", p.key, err)
	}
	for _, keeps := range []*bool{about.HasImmutabilityPolicy, about.HasLegalHold, about.IsImmutableStorageWithVersioningEnabled} {
		if keeps != nil && *keeps {
			return nil
		}
	}
	empty, err := p.client.CommitBlockList(ctx, nil, &blockblob.CommitBlockListOptions{Metadata: p.metadata(), AccessConditions: ifNone()})
	switch {
	case err != nil && reasonOf(err) == objectstore.AlreadyExists:
		return nil
	case err != nil:
		return p.fail("discard the blocks", p.key, err)
	}
	_, err = p.client.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(quoted(empty.ETag))})
	return p.fail("discard the blocks", p.key, err)
}

// ifNone is the condition that there is no blob.
func ifNone() *blob.AccessConditions {
	every := azcore.ETagAny
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &every}}
}

// conditions are those of the write.
func (p *put) conditions() *blob.AccessConditions {
	if p.options.IfAbsent {
		return ifNone()
	}
	return nil
}

func (p *put) metadata() map[string]*string {
	m := maps.Clone(p.options.Metadata)
	if m == nil {
		m = map[string]string{}
	}
	m[objectstore.TokenKey] = p.token
	return toMetadata(m)
}
