package abs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// pageSize is how many blobs a page of a list has, of at most 5,000: they are in memory at
// once, as XML and as what is made of it.
const pageSize = 1000

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key, etag string) (*objectstore.Reader, error) {
	return objectstore.NewReader(ctx, reader{s}, key, etag)
}

// reader reads one blob.
type reader struct{ *Store }

// Open implements objectstore.Source.
func (s reader) Open(ctx context.Context, o *objectstore.Object, offset int64) (io.ReadCloser, error) {
	options := &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset}, AccessConditions: ifMatch(o.ETag)}
	out, err := s.client.NewBlobClient(o.Key).DownloadStream(ctx, options)
	if err != nil {
		if reasonOf(err) == objectstore.AlreadyExists { // a precondition, but not that of a write
			if _, gone := s.Stat(ctx, o.Key); errors.Is(gone, objectstore.NotFound) {
				return nil, gone
			}
			err = objectstore.Because(objectstore.Changed, err)
		}
		return nil, s.fail("read", o.Key, err)
	}
	if offset > 0 && out.ContentRange == nil {
		return nil, errors.Join(out.Body.Close(), s.fail("read", o.Key, errors.New("the store does not read from the middle")))
	}
	if offset == 0 {
		o.Size, o.ETag = value(out.ContentLength), quoted(out.ETag)
		o.Modified, o.Metadata = value(out.LastModified), metadataOf(out.Metadata)
	}
	return out.Body, nil
}

// Fail implements objectstore.Source.
func (s reader) Fail(op, key string, err error) error { return s.fail(op, key, err) }

// ReadSmall implements objectstore.Store.
func (s *Store) ReadSmall(ctx context.Context, key string, limit int64) ([]byte, error) {
	out, err := s.client.NewBlobClient(key).DownloadStream(s.quick(ctx), nil)
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	if size := value(out.ContentLength); size > limit {
		return nil, s.fail("read", key, objectstore.Because(objectstore.TooLarge, fmt.Errorf("it has %d bytes", size)))
	}
	content, err := io.ReadAll(io.LimitReader(out.Body, limit))
	return content, s.fail("read", key, err)
}

// Stat implements objectstore.Store.
func (s *Store) Stat(ctx context.Context, key string) (objectstore.Object, error) {
	out, err := s.client.NewBlobClient(key).GetProperties(s.quick(ctx), nil)
	if err != nil {
		return objectstore.Object{}, s.fail("look at", key, err)
	}
	return objectstore.Object{
		Key: key, Size: value(out.ContentLength), ETag: quoted(out.ETag),
		Modified: value(out.LastModified), Metadata: metadataOf(out.Metadata),
	}, nil
}

// List implements objectstore.Store. It leaves blobs without content out: they are folders,
// where the storage account has such, or what an upload that failed has left.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		most := int32(pageSize)
		pages := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, MaxResults: &most})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objectstore.Object{}, s.fail("list objects", "", err))
				return
			}
			for _, b := range page.Segment.BlobItems {
				o := objectstore.Object{
					Key: value(b.Name), Size: value(b.Properties.ContentLength),
					ETag: quoted(b.Properties.ETag), Modified: value(b.Properties.LastModified),
				}
				if o.Size > 0 && !yield(o, nil) {
					return
				}
			}
		}
	}
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, keys ...string) (deleted int, err error) {
	include := blob.DeleteSnapshotsOptionTypeInclude // else a blob with snapshots stays
	return objectstore.DeleteEach(keys, func(key string) error {
		_, err := s.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: &include})
		if bloberror.HasCode(err, bloberror.BlobNotFound) {
			return nil
		}
		return s.fail("delete", key, err)
	})
}

// ifMatch is the condition that a blob has an ETag, if any is given.
func ifMatch(etag string) *blob.AccessConditions {
	if etag == "" {
		return nil
	}
	tag := azcore.ETag(etag)
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag}}
}

// quoted is an ETag as headers have it. Lists have it without quotes.
func quoted(etag *azcore.ETag) string {
	if etag == nil || *etag == "" {
		return ""
	}
	return `"` + strings.Trim(string(*etag), `"`) + `"`
}

// Azure's names of metadata are identifiers of C#, in which there are no dashes. The SDK
// returns them as headers are written.
func toMetadata(m map[string]string) map[string]*string {
	out := map[string]*string{}
	for name, value := range m {
		out[strings.ReplaceAll(name, "-", "_")] = &value
	}
	return out
}

func metadataOf(m map[string]*string) map[string]string {
	out := map[string]string{}
	for name, v := range m {
		out[strings.ReplaceAll(strings.ToLower(name), "_", "-")] = value(v)
	}
	return out
}

// value is what a pointer of the SDK's points to, if anything.
func value[T string | int64 | time.Time](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
