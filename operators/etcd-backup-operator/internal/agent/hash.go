package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// maxHashed is the largest database that a member is asked to hash without spec.recordHash:
// Always, in bytes in use. While it reads all of it, it holds the lock of its reads: it answers
// none and applies no writes. That takes up to a second for as much in memory.
const maxHashed = 512 << 20

// maxHashes is how often one Pod asks for a hash: a backup that is tried again, from another
// member too, has one all the same, and a store that is away for long costs no more.
const maxHashes = 3

// stableHash is the first etcd that hashes the same data to the same value, whether it was
// compacted by an older one or not.
var stableHash = etcdversion.Version{Major: 3, Minor: 5, Patch: 16}

// hash asks a member for its HashKV at a revision that the snapshot holds, once the snapshot is
// fixed; nil if it does not tell one that can be compared. No backup fails for it. oldest is
// the oldest revision of the snapshot; 0: not known.
func (j *job) hash(ctx context.Context, from member, oldest int64) *snapshot.Hash {
	switch {
	case j.task.RecordHash == v1beta2.RecordHashNever:
		j.log.Info("not recording a hash of the source, as spec.recordHash says")
		return nil
	case from.size > maxHashed && j.task.RecordHash != v1beta2.RecordHashAlways, !etcdversion.Parse(from.version).AtLeast(stableHash):
		j.log.Info("not recording a hash of the source, whose database is too large or whose etcd is too old", "databaseSizeInUse", from.size, "most", maxHashed, "version", from.version)
		return nil
	case j.hashes >= maxHashes:
		j.log.Info("not asking for a hash again, since members were asked often enough")
		return nil
	}
	j.hashes++
	ctx, cancel := context.WithTimeout(ctx, j.hashTimeout())
	defer cancel()
	begun := time.Now()
	h, err := hashKV(ctx, from, from.revision)
	if err == nil && h.CompactedRevision < oldest && oldest > 1 {
		// Of the moment of a compaction etcd has kept a hash of records that the snapshot has
		// no more. That of its newest revision it computes.
		h, err = hashKV(ctx, from, 0)
	}
	compacted := false
	if err == nil { // of a revision that is compacted since, etcd 3.5 might tell the hash of another
		compacted, err = isCompacted(ctx, from, from.revision)
	}
	if err != nil {
		if ctx.Err() != nil {
			j.hashes = maxHashes // what took too long once is not tried again
		}
		j.log.Info("not recording a hash of the source, which did not tell one", "error", err)
		return nil
	}
	if compacted || h.Revision != from.revision || h.CompactedRevision > h.Revision || h.CompactedRevision < oldest && oldest > 1 {
		j.log.Info("not recording a hash of the source, which was written to or compacted meanwhile", "told", *h, "revision", from.revision, "oldest", oldest)
		return nil
	}
	j.log.Info("hashed the source", "hash", h.Value, "revision", h.Revision, "compactedRevision", h.CompactedRevision, "seconds", time.Since(begun).Seconds())
	return h
}

// hashTimeout is how long to wait for a hash: a small part of the time that the backup may take.
func (j *job) hashTimeout() time.Duration {
	most := j.limits.hash
	if j.task.RecordHash == v1beta2.RecordHashAlways {
		most = j.limits.longHash
	}
	if j.task.Timeout > 0 {
		most = min(most, j.task.Timeout/10)
	}
	return most
}

// hashKV asks for the hash at a revision; 0: at the newest.
func hashKV(ctx context.Context, m member, revision int64) (*snapshot.Hash, error) {
	var got *pb.HashKVResponse
	err := m.as.Try(ctx, m.conn, func() (err error) {
		got, err = pb.NewMaintenanceClient(m.conn).HashKV(ctx, &pb.HashKVRequest{Revision: revision})
		return err
	})
	if err != nil {
		return nil, err
	}
	if id := got.GetHeader().GetMemberId(); id != m.id { // behind a Service another one might answer
		return nil, fmt.Errorf("member %s answered in place of %s", hex(id), hex(m.id))
	}
	// Before 3.6 it does not say of which revision it is.
	revision = cmp.Or(got.GetHashRevision(), revision, got.GetHeader().GetRevision())
	return &snapshot.Hash{Value: got.GetHash(), Revision: revision, CompactedRevision: max(got.GetCompactRevision(), 0)}, nil
}
