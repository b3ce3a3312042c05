package agent

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// bucket stores into an object store.
type bucket struct {
	*job
	store objectstore.Store
	journal
}

func openBucket(ctx context.Context, j *job) (*bucket, error) {
	store, err := runner.OpenStore(ctx, j.task.Store, j.limits.stall, j.limits.storeBackoff)
	if err != nil {
		return nil, err
	}
	return &bucket{job: j, store: store, journal: journal{job: j, store: store}}, nil
}

func (b *bucket) path() string                { return b.task.Store.Key }
func (b *bucket) location(name string) string { return b.store.URL(name) }

// prepare aborts the upload of an attempt at this very backup that was killed. Bucket and
// credentials are checked by it.
func (b *bucket) prepare(ctx context.Context) error { return b.recover(ctx) }

func (b *bucket) look(ctx context.Context, name string) (found, error) {
	there, err := b.store.Stat(ctx, name)
	switch {
	case errors.Is(err, objectstore.NotFound):
		return found{}, nil
	case errors.Is(err, objectstore.AccessDenied):
		// So S3 answers those who are not allowed to list the bucket for what isn't
		// there, and those who are not allowed to read it for what is.
		return found{hidden: true}, nil
	case err != nil:
		return found{}, err
	}
	return found{there: true, metadata: there.Metadata}, nil
}

func (b *bucket) clock(ctx context.Context, name string) (time.Time, error) {
	there, err := b.store.Stat(ctx, name)
	if errors.Is(err, objectstore.AccessDenied) {
		return time.Time{}, nil
	}
	return there.Modified, err
}

func (b *bucket) put(ctx context.Context, name string, r io.Reader, metadata map[string]string, replace bool) error {
	_, err := b.store.Put(ctx, name, r, objectstore.PutOptions{
		Metadata: metadata,
		IfAbsent: !replace,
		Begun:    b.noteBegun,
	})
	b.ended(ctx, err == nil)
	if errors.Is(err, objectstore.AlreadyExists) && (b.task.Overwrite || b.task.Repeated) {
		return errHidden(b.location(name))
	}
	return err
}

func (b *bucket) describe(ctx context.Context, name string, tags map[string]string) {
	if err := b.store.Tag(ctx, name, tags); err != nil {
		b.log.Info("cannot tag the object; the result has the same information", "error", err)
	}
}

func (b *bucket) read(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.store.Get(ctx, name, "")
}

func (b *bucket) list(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	for o, err := range b.store.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, o.Key)
	}
	return names, nil
}

func (b *bucket) close() {}

func (b *bucket) remove(ctx context.Context, names []string) (int, error) {
	return b.store.Delete(ctx, names...)
}
