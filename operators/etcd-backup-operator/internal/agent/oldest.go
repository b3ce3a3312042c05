package agent

import (
	"context"
	"errors"
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// oldestRevision is the oldest revision at which a member can still read every key: that of its
// last compaction, or 1; 0 if it does not say.
//
// Of etcd's requests only HashKV tells it, which reads the whole database. A read at a revision
// that is compacted is refused at once, so some thirty reads of a key that nobody has find it.
func (j *job) oldestRevision(ctx context.Context, from member) int64 {
	ctx, cancel := context.WithTimeout(ctx, j.limits.ask)
	defer cancel()
	var failed error
	oldest := 1 + sort.Search(int(max(from.revision-1, 0)), func(i int) bool {
		compacted, err := isCompacted(ctx, from, int64(i+1))
		failed = errors.Join(failed, err)
		return failed != nil || !compacted
	})
	if failed != nil {
		j.log.Info("cannot tell the oldest revision that the snapshot holds", "error", failed)
		return 0
	}
	return int64(oldest)
}

// confirmOldest is the oldest revision again if no compaction came between, once the snapshot is
// fixed; else 0, since the snapshot may hold it or not.
func (j *job) confirmOldest(ctx context.Context, from member, oldest int64) int64 {
	if oldest == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, j.limits.ask)
	defer cancel()
	compacted, err := isCompacted(ctx, from, oldest)
	if compacted || err != nil {
		j.log.Info("not recording the oldest revision that the snapshot holds: etcd was compacted meanwhile, or does not tell", "oldest", oldest, "error", err)
		return 0
	}
	return oldest
}

// isCompacted asks a member for a key that nobody has, at a revision.
func isCompacted(ctx context.Context, m member, revision int64) (bool, error) {
	err := m.as.Try(ctx, m.conn, func() error {
		_, err := pb.NewKVClient(m.conn).Range(ctx, &pb.RangeRequest{Key: []byte(readKey), Revision: revision, Serializable: true, Limit: 1, KeysOnly: true})
		return err
	})
	if errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		return true, nil
	}
	return false, err
}
