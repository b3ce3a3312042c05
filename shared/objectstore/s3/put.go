package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Sizes of an upload. S3 takes at most 10,000 parts of an object, none but the last
// smaller than 5 MiB, and some stores want them all of one size. So parts are small
// at first, for a small process, and of one size up to 24 GiB, beyond any database
// that etcd recommends; from then on they are larger, so that 10,000 hold 102 GiB.
// Of the buffers, one is filled while the other is sent, and then both are: 10 MiB
// together, and 32 MiB beyond 24 GiB.
const (
	maxParts   = 10_000
	smallParts = 5_000
	smallPart  = 5 << 20
	largePart  = 16 << 20
	buffers    = 2
	// MaxSize is that of the largest object that can be stored.
	MaxSize = smallParts*smallPart + (maxParts-smallParts)*largePart
)

// partSize is how large the part of that number is, from 1 on, if it is not the last.
func partSize(number int) int {
	if number <= smallParts {
		return smallPart
	}
	return largePart
}

// put is one Put under way.
type put struct {
	*Store
	key     string
	options objectstore.PutOptions
	// token is in the metadata, so that an object whose completion was not answered
	// can be told from what was there before.
	token string
	// blind says that these credentials can't see whether there is an object.
	blind bool
}

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, options objectstore.PutOptions) (int64, error) {
	p := &put{Store: s, key: key, options: options, token: rand.Text()}
	if options.IfAbsent {
		if err := p.checkAbsent(ctx); err != nil {
			return 0, err
		}
	}
	return objectstore.PutStream(r, partSize(1),
		func(content []byte) error { return p.single(ctx, content) },
		func(first []byte) (int64, error) { return p.multipart(ctx, r, first) })
}

// single stores a small object by one request.
func (p *put) single(ctx context.Context, content []byte) error {
	in := &s3.PutObjectInput{
		Bucket: &p.settings.Bucket, Key: &p.key,
		Body:                 bytes.NewReader(content),
		Metadata:             p.metadata(),
		StorageClass:         types.StorageClass(p.settings.StorageClass),
		ServerSideEncryption: types.ServerSideEncryption(p.settings.ServerSideEncryption),
		SSEKMSKeyId:          optional(p.settings.KMSKeyID),
		Tagging:              p.tagging(),
		IfNoneMatch:          p.ifNoneMatch(),
		ContentMD5:           p.digest(content),
	}
	_, err := p.client.PutObject(ctx, in)
	if p.needsDigest(err) {
		in.ContentMD5, in.Body = p.digest(content), bytes.NewReader(content)
		_, err = p.client.PutObject(ctx, in)
	}
	if p.unconditionally(err) {
		in.IfNoneMatch, in.Body = nil, bytes.NewReader(content)
		_, err = p.client.PutObject(ctx, in)
	}
	if err != nil && p.stored(ctx, err, int64(len(content))) {
		err = nil
	}
	if err != nil {
		return p.refused("store", err)
	}
	p.options.Tell(len(content))
	return nil
}

// checkAbsent refuses if it can see an object of the key.
func (p *put) checkAbsent(ctx context.Context) error {
	_, err := p.Stat(ctx, p.key)
	switch {
	case err == nil:
		return p.fail("look for an earlier object", p.key, objectstore.Because(objectstore.AlreadyExists, errThere))
	case errors.Is(err, objectstore.NotFound):
		return nil
	case errors.Is(err, objectstore.AccessDenied):
		// So S3 answers for an object that isn't there to those who may read it
		// but not list the bucket. The conditional write will tell, and OSS has none.
		if p.settings.OSS {
			return err
		}
		p.blind = true
		return nil
	}
	return err
}

var errThere = errors.New("it is there")

// ifNoneMatch is the header that makes a store refuse to replace an object.
func (p *put) ifNoneMatch() *string {
	if p.options.IfAbsent {
		return aws.String("*")
	}
	return nil
}

// unconditionally tells whether a write is to be tried without its condition, as the
// store doesn't know of any, and it was seen that there is no object.
func (p *put) unconditionally(err error) bool {
	return p.options.IfAbsent && !p.blind && hasCode(err, "NotImplemented")
}

// stored tells, after a write that ended in err, whether it was done all the same: the
// answer to it may have been lost, and a second try refused for the first one's sake.
func (p *put) stored(ctx context.Context, err error, size int64) bool {
	switch p.reason(err) {
	case objectstore.AlreadyExists, objectstore.Unavailable, objectstore.Stalled:
	default:
		return false
	}
	there, err := p.Stat(ctx, p.key)
	return err == nil && there.Size == size && there.Metadata[objectstore.TokenKey] == p.token
}

func (p *put) reason(err error) objectstore.Reason {
	if reason := reasonOf(err); reason != objectstore.NotFound { // an upload that is gone
		return reason
	}
	return objectstore.Unavailable
}

// refused makes the error of a write.
func (p *put) refused(op string, err error) error {
	if p.blind && hasCode(err, "NotImplemented") {
		return p.fail(op, p.key, objectstore.Because(objectstore.AccessDenied,
			fmt.Errorf("this store cannot refuse to replace objects, and these credentials cannot see whether there is one: grant s3:ListBucket: %w", err)))
	}
	return p.fail(op, p.key, err)
}

func (p *put) metadata() map[string]string {
	m := maps.Clone(p.options.Metadata)
	if m == nil {
		m = map[string]string{}
	}
	m[objectstore.TokenKey] = p.token
	return m
}

// tagging are the tags of the settings, as a header has them.
func (s *Store) tagging() *string {
	values := url.Values{}
	for k, v := range s.settings.Tags {
		values.Set(k, v)
	}
	return optional(values.Encode())
}

// Tag gives an object tags, beside those of the settings. Not every store has them.
func (s *Store) Tag(ctx context.Context, key string, tags map[string]string) error {
	if s.settings.OSS { // it has none in this protocol
		return nil
	}
	all := maps.Clone(s.settings.Tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	var set []types.Tag
	for k, v := range all {
		set = append(set, types.Tag{Key: &k, Value: &v})
	}
	_, err := s.client.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{
		Bucket: &s.settings.Bucket, Key: &key, Tagging: &types.Tagging{TagSet: set},
	}, s.quick)
	return s.fail("tag", key, err)
}

// Stat implements objectstore.Store.
func (s *Store) Stat(ctx context.Context, key string) (objectstore.Object, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.settings.Bucket, Key: &key}, s.quick)
	if err != nil {
		return objectstore.Object{}, s.fail("look at", key, err)
	}
	return objectstore.Object{
		Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		Modified: aws.ToTime(out.LastModified), Metadata: out.Metadata,
	}, nil
}

// optional is nil for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
