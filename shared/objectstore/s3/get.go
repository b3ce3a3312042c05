package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key, etag string) (*objectstore.Reader, error) {
	return objectstore.NewReader(ctx, source{s}, key, etag)
}

// source reads one object.
type source struct{ *Store }

// Open implements objectstore.Source.
func (s source) Open(ctx context.Context, o *objectstore.Object, offset int64) (io.ReadCloser, error) {
	in := &s3.GetObjectInput{Bucket: &s.settings.Bucket, Key: &o.Key, IfMatch: optional(o.ETag)}
	if offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	out, err := s.client.GetObject(ctx, in)
	if err != nil {
		if reasonOf(err) == objectstore.AlreadyExists { // a precondition, but not that of a write
			err = objectstore.Because(objectstore.Changed, err)
		}
		return nil, s.fail("read", o.Key, err)
	}
	if offset > 0 && out.ContentRange == nil {
		return nil, errors.Join(out.Body.Close(), s.fail("read", o.Key, errors.New("the store does not read from the middle")))
	}
	if offset == 0 {
		o.Size, o.ETag = aws.ToInt64(out.ContentLength), aws.ToString(out.ETag)
		o.Modified, o.Metadata = aws.ToTime(out.LastModified), out.Metadata
	}
	return out.Body, nil
}

// Fail implements objectstore.Source.
func (s source) Fail(op, key string, err error) error { return s.fail(op, key, err) }

// List implements objectstore.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.settings.Bucket, Prefix: optional(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objectstore.Object{}, s.fail("list objects", "", err))
				return
			}
			for _, o := range page.Contents {
				object := objectstore.Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag), Modified: aws.ToTime(o.LastModified)}
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, keys ...string) (deleted int, err error) {
	return objectstore.DeleteEach(keys, func(key string) error {
		_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.settings.Bucket, Key: &key})
		if err != nil && reasonOf(err) != objectstore.NotFound {
			return s.fail("delete", key, err)
		}
		return nil
	})
}
