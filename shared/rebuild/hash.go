package rebuild

import (
	"context"
	"errors"
	"hash/crc32"
	"os"

	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// Comparison is how the records of a database compare with a hash that etcd has told.
type Comparison int

const (
	// HashEqual: they are the same records.
	HashEqual Comparison = iota
	// HashDiffers: they are not.
	HashDiffers
	// HashNotComparable: a compaction has removed records that count in that hash, the
	// database ends before it, or no key existed at its revision.
	HashNotComparable
)

// CompareHash computes what etcd's HashKV was computed of, and compares the two. The file was
// inspected before, and is only read. It was then found to hold the revisions from oldest to
// newest. Records beyond the hash's revision do not count, so it can be compared before
// [CutAt], and after [Restore].
func CompareHash(ctx context.Context, f *os.File, oldest, newest int64, want snapshot.Hash) (Comparison, error) {
	// At revision 1 nothing was written yet.
	if oldest > max(want.CompactedRevision, firstRevision) || want.CompactedRevision > want.Revision || want.Revision > newest {
		return HashNotComparable, nil
	}
	// What differs is computed again with another seed: keys are told apart by 64 bits.
	for range 2 {
		value, known, err := HashKV(ctx, f, want.Revision, want.CompactedRevision)
		switch {
		case err != nil:
			return HashNotComparable, err
		case !known:
			return HashNotComparable, nil
		case value == want.Value:
			return HashEqual, nil
		}
	}
	return HashDiffers, nil
}

// HashKV is etcd's HashKV of a revision, as it is after a compaction (server/storage/mvcc:
// hash.go, and keep in key_index.go), of a file that was inspected before and is only read.
// known is false if there is no key at the revision: then etcd hashes what its compaction has
// not removed yet.
func HashKV(ctx context.Context, f *os.File, revision, compacted int64) (value uint32, known bool, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return 0, false, err
	}
	defer d.close()
	buckets, err := d.buckets(ctx, d.newWalk())
	if err != nil {
		return 0, false, err
	}
	entries := int64(0)
	if err := d.newWalk().bucket(ctx, buckets[bucketKey], func(element) error { entries++; return nil }); err != nil {
		return 0, false, err
	}
	kept, known, err := d.keptAt(ctx, buckets[bucketKey], entries, revision, compacted)
	if err != nil || !known {
		return 0, false, err
	}
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	hash.Write([]byte(bucketKey))
	behind := entries
	err = d.newWalk().bucket(ctx, buckets[bucketKey], func(e element) error {
		behind--
		main, _, err := parseRevision(e.key)
		switch {
		case err != nil:
			return err
		case main > revision:
			return errEnough
		case main <= compacted && !kept.has(behind):
			return nil
		}
		hash.Write(e.key)
		hash.Write(e.value)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, false, err
	}
	return hash.Sum32(), true, nil
}

// places is a set of records, by the number of those behind them. A file that is read where it
// is stored might be written to meanwhile, so that there are suddenly more of them.
type places []byte

func (p places) has(i int64) bool { return i>>3 < int64(len(p)) && i >= 0 && p[i/8]&(1<<(i%8)) != 0 }

func (p places) add(i int64) {
	if i>>3 < int64(len(p)) {
		p[i/8] |= 1 << (i % 8)
	}
}

// keptAt are the records up to a compaction that are the newest of keys which exist at a
// revision. some tells whether a key exists then; without a compaction, nobody looks.
func (d *database) keptAt(ctx context.Context, bucket []byte, entries, revision, compacted int64) (kept places, some bool, err error) {
	if compacted == 0 {
		return nil, true, nil
	}
	kept = make(places, entries/8+1)
	err = d.newestAt(ctx, bucket, entries, revision, func(behind int64, ev event) {
		if ev.deleted {
			return
		}
		some = true
		if ev.revision <= compacted {
			kept.add(behind)
		}
	})
	return kept, some, err
}
