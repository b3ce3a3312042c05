package objectstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A store lists nothing of an unfinished upload but its key, its id and when it was begun.
// So whose it is only whoever began it knows, by its id: no other upload is ever aborted.

// Upload is a multipart upload that was begun.
type Upload struct {
	Key string `json:"key"`
	ID  string `json:"id"`
}

// AbortUpload removes an upload with its parts. One that has ended, or that is gone, is no
// error.
func (s *Store) AbortUpload(ctx context.Context, u Upload) error {
	return s.abort(ctx, u.Key, u.ID)
}

// ReadSmall returns the content of an object of at most limit bytes. It is a cheap first
// request, too: that the store and the bucket are there and the credentials are right shows
// here, soon.
func (s *Store) ReadSmall(ctx context.Context, key string, limit int64) (_ []byte, err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.settings.Bucket, Key: &key}, s.quick)
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	if size := aws.ToInt64(out.ContentLength); size > limit {
		return nil, s.fail("read", key, &withReason{TooLarge, fmt.Errorf("it has %d bytes", size)})
	}
	content, err := io.ReadAll(io.LimitReader(out.Body, limit))
	return content, s.fail("read", key, err)
}

// WriteSmall stores a small object, or replaces it, by one request.
func (s *Store) WriteSmall(ctx context.Context, key string, content []byte) error {
	p := &put{Store: s, key: key, token: rand.Text()}
	return p.single(ctx, content)
}
