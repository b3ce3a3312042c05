package rebuild

import (
	"context"
	"errors"
	"hash/crc32"
	"hash/maphash"
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
// inspected before, and is only read. compacted is the revision of the newest compaction in
// the file. Records beyond the hash's revision do not count, so it can be compared before
// [CutAt], and after [Restore].
func CompareHash(ctx context.Context, f *os.File, compacted int64, want snapshot.Hash) (c Comparison, err error) {
	// At revision 1 nothing was written yet.
	if max(compacted, firstRevision) > max(want.CompactedRevision, firstRevision) || want.CompactedRevision > want.Revision {
		return HashNotComparable, nil
	}
	last, err := LastRevision(ctx, f)
	if err != nil {
		return HashNotComparable, err
	}
	if max(last, compacted, firstRevision) < want.Revision {
		return HashNotComparable, nil
	}
	// What differs is computed again with another seed: keys are told apart by 64 bits.
	for range 2 {
		value, known, err := hashKV(ctx, f, want.Revision, want.CompactedRevision)
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

// hashKV is etcd's HashKV of a revision, as it is after a compaction (server/storage/mvcc:
// hash.go, and keep in key_index.go). known is false if there is no key at the revision: then
// etcd hashes what its compaction has not removed yet.
func hashKV(ctx context.Context, f *os.File, revision, compacted int64) (value uint32, known bool, err error) {
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
	kept, known, err := d.keptAt(ctx, buckets[bucketKey], revision, compacted)
	if err != nil || !known {
		return 0, false, err
	}
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	hash.Write([]byte(bucketKey))
	i := -1
	err = d.newWalk().bucket(ctx, buckets[bucketKey], func(e element) error {
		i++
		main, _, err := parseRevision(e.key)
		switch {
		case err != nil:
			return err
		case main > revision:
			return errEnough
		case main <= compacted && !kept.has(i):
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

// places is a set of records, by their places in their order.
type places []byte

func (p places) has(i int) bool { return p[i/8]&(1<<(i%8)) != 0 }
func (p places) add(i int)      { p[i/8] |= 1 << (i % 8) }

// keptAt are the records up to a compaction that are the newest of keys which exist at a
// revision. any tells whether a key exists then; without a compaction, nobody looks. Keys are
// remembered as countKeys does.
func (d *database) keptAt(ctx context.Context, bucket []byte, revision, compacted int64) (kept places, any bool, err error) {
	if compacted <= 0 {
		return nil, true, nil
	}
	records := 0
	if err := d.newWalk().bucket(ctx, bucket, func(element) error { records++; return nil }); err != nil {
		return nil, false, err
	}
	kept = make(places, records/8+1)
	passes := uint64(records/maxSet + 1)
	seed := maphash.MakeSeed()
	seen := make(map[uint64]struct{}, min(records, maxSet))
	for pass := range passes {
		clear(seen)
		w := d.newWalk()
		w.backwards = true
		i := records
		err := w.bucket(ctx, bucket, func(e element) error {
			i--
			ev, err := parseEvent(e)
			if err != nil || ev.revision > revision {
				return err
			}
			hash := maphash.Bytes(seed, ev.key)
			if hash%passes != pass {
				return nil
			}
			if _, known := seen[hash]; known {
				return nil
			}
			seen[hash] = struct{}{}
			if ev.deleted {
				return nil
			}
			any = true
			if ev.revision <= compacted {
				kept.add(i)
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return kept, any, nil
}
