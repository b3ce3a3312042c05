package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// pageSize is how many objects a page of a list has, which is the most.
const pageSize = 1000

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key, etag string) (*objectstore.Reader, error) {
	return objectstore.NewReader(ctx, reader{s}, key, etag)
}

// reader reads one object.
type reader struct{ *Store }

// Open implements objectstore.Source.
func (s reader) Open(ctx context.Context, o *objectstore.Object, offset int64) (io.ReadCloser, error) {
	object := s.object(o.Key).ReadCompressed(true)
	if o.ETag != "" {
		generation, err := strconv.ParseInt(o.ETag, 10, 64)
		if err != nil {
			return nil, s.fail("read", o.Key, objectstore.Because(objectstore.Changed, fmt.Errorf("%q is no generation", o.ETag)))
		}
		object = object.Generation(generation)
	}
	ctx = context.WithValue(ctx, notesKey{}, &notes{once: true})
	r, err := object.NewRangeReader(ctx, offset, -1)
	if err != nil {
		return nil, s.missing(ctx, o, err)
	}
	if offset == 0 {
		o.Size, o.ETag, o.Modified = r.Attrs.Size, etag(r.Attrs.Generation), r.Attrs.LastModified
		o.Metadata = map[string]string{}
		for name, value := range r.Metadata() { // as headers are written
			o.Metadata[strings.ToLower(name)] = value
		}
	}
	return r, nil
}

// missing is why an object could not be opened. Google does not tell a reader whether the
// bucket, the object or its generation is what is not there.
func (s reader) missing(ctx context.Context, o *objectstore.Object, err error) error {
	if reasonOf(err) != objectstore.NotFound {
		return s.fail("read", o.Key, err)
	}
	there, why := s.Stat(context.WithValue(ctx, notesKey{}, nil), o.Key)
	switch {
	case why != nil:
		return why
	case o.ETag != "" && there.ETag != o.ETag:
		err = objectstore.Because(objectstore.Changed, err)
	}
	return s.fail("read", o.Key, err)
}

// Fail implements objectstore.Source.
func (s reader) Fail(op, key string, err error) error { return s.fail(op, key, err) }

// ReadSmall implements objectstore.Store.
func (s *Store) ReadSmall(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := s.quick(key).ReadCompressed(true).NewReader(ctx)
	if err != nil {
		return nil, reader{s}.missing(ctx, &objectstore.Object{Key: key}, err)
	}
	defer func() { _ = r.Close() }() // it was only read
	if r.Attrs.Size > limit {
		return nil, s.fail("read", key, objectstore.Because(objectstore.TooLarge, fmt.Errorf("it has %d bytes", r.Attrs.Size)))
	}
	content, err := io.ReadAll(io.LimitReader(r, limit))
	return content, s.fail("read", key, err)
}

// Stat implements objectstore.Store.
func (s *Store) Stat(ctx context.Context, key string) (objectstore.Object, error) {
	attrs, err := s.quick(key).Attrs(ctx)
	if err != nil {
		return objectstore.Object{}, s.fail("look at", key, err)
	}
	return objectOf(attrs), nil
}

// List implements objectstore.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		query := &storage.Query{Prefix: prefix, Projection: storage.ProjectionNoACL}
		if err := query.SetAttrSelection([]string{"Name", "Size", "Generation", "Created"}); err != nil {
			yield(objectstore.Object{}, s.fail("list objects", "", err))
			return
		}
		objects := s.bucket.Objects(ctx, query)
		objects.PageInfo().MaxSize = pageSize
		for {
			attrs, err := objects.Next()
			if errors.Is(err, iterator.Done) {
				return
			}
			if err != nil {
				yield(objectstore.Object{}, s.fail("list objects", "", err))
				return
			}
			if !yield(objectOf(attrs), nil) {
				return
			}
		}
	}
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, keys ...string) (deleted int, err error) {
	return objectstore.DeleteEach(keys, func(key string) error {
		err := s.object(key).Delete(ctx)
		if isStatus(err, http.StatusNotFound) && reasonOf(err) == objectstore.NotFound {
			return nil
		}
		return s.fail("delete", key, err)
	})
}

func objectOf(attrs *storage.ObjectAttrs) objectstore.Object {
	return objectstore.Object{Key: attrs.Name, Size: attrs.Size, ETag: etag(attrs.Generation), Modified: attrs.Created, Metadata: attrs.Metadata}
}

func etag(generation int64) string { return strconv.FormatInt(generation, 10) }
