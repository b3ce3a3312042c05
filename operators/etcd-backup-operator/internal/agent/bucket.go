package agent

import (
	"context"
	"io"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/retention"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// abandoned is how old an unfinished upload of one of our names must be to be aborted
// whoever began it: none takes a week.
const abandoned = 7 * 24 * time.Hour

// bucket stores into S3.
type bucket struct {
	*job
	store *objectstore.Store
	// opened is when this process began.
	opened time.Time
}

func openBucket(ctx context.Context, j *job) (*bucket, error) {
	store, err := runner.OpenStore(ctx, j.task.S3, j.limits.stall, j.limits.storeBackoff)
	if err != nil {
		return nil, err
	}
	return &bucket{job: j, store: store, opened: time.Now()}, nil
}

func (b *bucket) path() string                { return b.task.S3.Key }
func (b *bucket) location(name string) string { return b.store.URL(name) }

// prepare aborts the uploads of attempts that were killed. Bucket and credentials are
// checked by it.
func (b *bucket) prepare(ctx context.Context) error {
	n, err := b.store.AbortUploads(ctx, b.path(), b.ours)
	if n > 0 {
		b.log.Info("aborted unfinished uploads of earlier attempts", "count", n)
	}
	return err
}

// ours tells whether an unfinished upload is of an attempt that was killed. S3 lists
// nothing of it but its key and its time. That it has exactly the name of this backup
// and was begun after the backup was due says enough: one Pod of a Job runs at a time,
// and this one has no upload yet. Of another time, it may be of a Job that still runs.
func (b *bucket) ours(u objectstore.Upload) bool {
	old := b.opened.Sub(u.Begun) > abandoned
	if !b.task.Repeated {
		return u.Key == b.path() && (old || !u.Begun.Before(b.task.Time.Truncate(time.Second)))
	}
	s, ok := retention.Parse(b.path(), u.Key)
	return ok && (old || s.Time.Equal(b.task.Time.UTC().Truncate(time.Second)))
}

func (b *bucket) put(ctx context.Context, name string, r io.Reader, metadata map[string]string) error {
	_, err := b.store.Put(ctx, name, r, objectstore.PutOptions{
		Metadata: metadata,
		IfAbsent: !b.task.Overwrite && !b.task.Repeated, // a repeated one's name is its own
	})
	return err
}

func (b *bucket) describe(ctx context.Context, name string, tags map[string]string) {
	if err := b.store.Tag(ctx, name, tags); err != nil {
		b.log.Info("the store takes no tags; the result has what they would say", "error", err)
	}
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
