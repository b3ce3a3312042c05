package rebuild

import (
	"context"
	"fmt"
	"os"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// LeasedKeys says what becomes of the keys that had a lease at the revision of a cut which
// the snapshot does not have: the lease was revoked, or expired, between the two.
//
// etcd attaches keys to their leases when it starts. For a lease that does not exist it logs
// "failed to attach a lease", and goes on: the key never expires, and still shows the lease.
// A put that keeps the key's lease (IgnoreLease) then panics in every member ("unexpected
// error from lease Attach", server/storage/mvcc/kvstore_txn.go), and again at each start, as
// it is in the log. So no such key is left in a database that clients write to.
type LeasedKeys int

const (
	// DropLeasedKeys leaves these keys out, as if their lease had ended at the very
	// revision of their newest record: that becomes a deletion. So no older value comes
	// back, and no revision is added.
	DropLeasedKeys LeasedKeys = iota
	// KeepLeasedKeys keeps them without a lease, and so without an expiry. All else of
	// them stays.
	KeepLeasedKeys
	// LeasedKeysAsRecorded changes no record, so that HashKV equals that of the original
	// cluster. It is for comparing hashes, and for no database that clients write to.
	LeasedKeysAsRecorded
)

// Cut is what CutAt has made of a database.
type Cut struct {
	// LeasedKeysWithoutLease counts the keys that [LeasedKeys] is about.
	LeasedKeysWithoutLease int64
}

// RevisionError is the failure of a revision that a snapshot does not hold.
type RevisionError struct {
	Revision int64
	// Compacted and Newest are the oldest and the newest revision that it holds. Compacted
	// is that of its last compaction, or 1.
	Compacted, Newest int64
}

// Error implements error.
func (e *RevisionError) Error() string {
	return fmt.Sprintf("the snapshot does not hold revision %d: it holds revisions %d to %d: choose one of these, or another snapshot", e.Revision, e.Compacted, e.Newest)
}

// CutAt brings a database to exactly what it was at a revision, for Restore to go on with.
// The file was inspected before, and is opened for reading and writing. Any revision from
// Info.CompactedRevision to Info.Revision will do, and the newest is no work; the error of
// another one is a [RevisionError]. Restore must go on from beyond what was the newest, or
// clients would see revisions again that meant something else.
//
// All records of later revisions are removed. All else stays as it is in the snapshot: users
// and roles, alarms, and leases; a lease that was granted later has no keys.
//
// The records are in the order of their revisions, so that the later ones are the end of a
// tree. Its right edge is written anew behind the last page, over a digest if there is one,
// and the pages beyond the edge become free. So the work does not grow with what is removed,
// the volume never holds the database twice, and the file grows by the edge alone, and by
// some MiB more where leased keys are changed. What takes time is to look for [LeasedKeys] in
// the records that stay.
//
// Up to the moment at which the edge is written, an error leaves the database as it was.
// After an error that comes later, and there are only those of writing, and of a context
// that ends while leased keys are changed, the file is of no use any more.
func CutAt(ctx context.Context, f *os.File, revision int64, leased LeasedKeys) (done Cut, err error) {
	if err := checkName(f); err != nil {
		return done, err
	}
	search := newLeaseSearch(revision)
	end, err := planCut(ctx, f, revision, search)
	if err != nil || end == nil {
		return done, err
	}
	return end.cut(ctx, f, search, leased)
}

// PlanCut finds out whether CutAt can bring a database to a revision, and how many keys are
// there at it, under the prefixes and elsewhere; without prefixes all keys are under them.
// Those that [DropLeasedKeys] would leave out count. The file was inspected before, and is
// only read.
func PlanCut(ctx context.Context, f *os.File, revision int64, prefixes []string) (under, elsewhere int64, err error) {
	if _, err := planCut(ctx, f, revision, newLeaseSearch(revision)); err != nil {
		return 0, 0, err
	}
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return 0, 0, err
	}
	defer d.close()
	buckets, err := d.buckets(ctx, d.newWalk())
	if err != nil {
		return 0, 0, err
	}
	entries := int64(0)
	err = d.newWalk().bucket(ctx, buckets[bucketKey], func(element) error {
		entries++
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return d.countKeys(ctx, buckets[bucketKey], entries, revision, prefixes)
}

// cut changes the file.
func (e *edge) cut(ctx context.Context, f *os.File, search *leaseSearch, leased LeasedKeys) (done Cut, err error) {
	if err := e.write(f); err != nil {
		return done, err
	}
	return search.settle(ctx, f, leased)
}

// planCut reads all that a cut needs, and changes nothing. It returns nil if there is
// nothing to cut.
func planCut(ctx context.Context, f *os.File, revision int64, search *leaseSearch) (plan *edge, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return nil, err
	}
	defer d.close()
	w := d.newWalk()
	buckets, err := d.buckets(ctx, w)
	if err != nil {
		return nil, err
	}
	compacted, last, err := d.extent(ctx, w, buckets)
	if err != nil {
		return nil, err
	}
	oldest, newest := max(compacted, firstRevision), max(compacted, last, firstRevision)
	if revision < oldest || revision > newest {
		return nil, runner.Refuse(agent.ReasonInvalidTask, "%w", &RevisionError{Revision: revision, Compacted: oldest, Newest: newest})
	}
	if revision >= last {
		return nil, nil
	}
	if err := search.readLeases(ctx, d, buckets[bucketLease]); err != nil {
		return nil, err
	}
	if err := search.run(ctx, d, buckets[bucketKey]); err != nil {
		return nil, err
	}
	return d.edgeBefore(revisionOf(revision + 1))
}

// extent is the revision of the last compaction, and that of the last record.
func (d *database) extent(ctx context.Context, w *walk, buckets map[string][]byte) (compacted, last int64, err error) {
	in := &inspection{settings: map[string][]byte{}}
	if err := w.bucket(ctx, buckets[bucketMeta], in.visitor(bucketMeta)); err != nil {
		return 0, 0, err
	}
	if compacted, err = in.compacted(); err != nil {
		return 0, 0, err
	}
	last, err = d.lastRevision(ctx, buckets[bucketKey])
	return compacted, last, err
}
