package s3

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// AbortUpload implements objectstore.Store.
func (s *Store) AbortUpload(ctx context.Context, u objectstore.Upload) error {
	return s.abort(ctx, u.Key, u.ID)
}

// ReadSmall implements objectstore.Store.
func (s *Store) ReadSmall(ctx context.Context, key string, limit int64) (_ []byte, err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.settings.Bucket, Key: &key}, s.quick)
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	if size := aws.ToInt64(out.ContentLength); size > limit {
		return nil, s.fail("read", key, objectstore.Because(objectstore.TooLarge, fmt.Errorf("it has %d bytes", size)))
	}
	content, err := io.ReadAll(io.LimitReader(out.Body, limit))
	return content, s.fail("read", key, err)
}

// WriteSmall implements objectstore.Store.
func (s *Store) WriteSmall(ctx context.Context, key string, content []byte) error {
	p := &put{Store: s, key: key, token: rand.Text()}
	return p.single(ctx, content)
}
