package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// bucketLease holds every lease of a cluster, its id of 8 bytes being the key
// (server/storage/schema/lease.go).
const bucketLease = "lease"

const (
	// maxLeases is how many leases a snapshot can have, of 8 bytes each in memory. etcd
	// itself would need gigabytes for so many.
	maxLeases = 4 << 20
	// maxFound is how many keys are remembered at a time, in some 20 MiB.
	maxFound = 1 << 18
	// maxChanged is when a transaction has enough, in bytes that bbolt writes: whole leaves,
	// of which the last can go beyond it. bbolt keeps them in memory. The file grows by about
	// one transaction, as the next one uses the pages that this one frees.
	maxChanged = 4 << 20
	// maxBeside is how many other keys a leaf can have that is larger than a page: bbolt
	// splits it if it has more than four keys.
	maxBeside = 3
)

// leaseSearch looks for keys that have a lease which does not exist. They are remembered by
// a hash of 64 bits, in as many passes as it takes to remember no more than limit at once.
type leaseSearch struct {
	revision     int64
	limit        int
	leases       []uint64 // in order
	seed         maphash.Seed
	pass, passes uint64
	// found has the record that is the newest of such a key.
	found map[uint64][revisionSize]byte
}

func newLeaseSearch(revision int64) *leaseSearch {
	return &leaseSearch{revision: revision, limit: maxFound, seed: maphash.MakeSeed(), passes: 1, found: map[uint64][revisionSize]byte{}}
}

// readLeases reads which leases exist, of a bucket's value; nil: none.
func (s *leaseSearch) readLeases(ctx context.Context, d *database, bucket []byte) error {
	if bucket == nil {
		return nil
	}
	return d.newWalk().bucket(ctx, bucket, func(e element) error {
		if len(e.key) != 8 {
			return damaged("%q is not a lease", e.key)
		}
		if len(s.leases) == maxLeases {
			return damaged("it has more than %d leases", maxLeases)
		}
		s.leases = append(s.leases, bigEndian(e.key))
		return nil
	})
}

// run makes a pass through the records up to the revision, oldest first. Of a key the last
// one counts.
func (s *leaseSearch) run(ctx context.Context, d *database, bucket []byte) error {
	w := d.newWalk()
	w.exact = true
	err := w.bucket(ctx, bucket, func(e element) error {
		ev, err := parseEvent(e)
		if err != nil {
			return err
		}
		if ev.revision > s.revision {
			return errEnough
		}
		s.see(ev, e.key)
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (s *leaseSearch) see(ev event, record []byte) {
	lost := false
	if ev.lease != 0 && !ev.deleted {
		_, exists := slices.BinarySearch(s.leases, ev.lease)
		lost = !exists
	}
	if !lost && len(s.found) == 0 {
		return
	}
	hash := maphash.Bytes(s.seed, ev.key)
	if hash%s.passes != s.pass {
		return
	}
	if !lost {
		delete(s.found, hash)
		return
	}
	s.found[hash] = [revisionSize]byte(record)
	// Only in the first pass: what the others have of it is as much at most, by chance a
	// little more.
	for s.pass == 0 && len(s.found) > s.limit {
		s.passes *= 2
		maps.DeleteFunc(s.found, func(hash uint64, _ [revisionSize]byte) bool { return hash%s.passes != 0 })
	}
}

// next goes on to the next pass, if there is one.
func (s *leaseSearch) next() bool {
	s.pass++
	clear(s.found)
	return s.pass < s.passes
}

// begin reads the leases of a database, and makes the first pass through its records.
func (s *leaseSearch) begin(ctx context.Context, f *os.File) error {
	return s.look(ctx, f, func(d *database, buckets map[string][]byte) error {
		if err := s.readLeases(ctx, d, buckets[bucketLease]); err != nil {
			return err
		}
		return s.run(ctx, d, buckets[bucketKey])
	})
}

// again makes another pass.
func (s *leaseSearch) again(ctx context.Context, f *os.File) error {
	return s.look(ctx, f, func(d *database, buckets map[string][]byte) error { return s.run(ctx, d, buckets[bucketKey]) })
}

func (s *leaseSearch) look(ctx context.Context, f *os.File, into func(*database, map[string][]byte) error) (err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return err
	}
	defer d.close()
	buckets, err := d.buckets(ctx, d.newWalk())
	if err != nil {
		return err
	}
	return into(d, buckets)
}

// settle changes what the first pass has found, and what all others find.
func (s *leaseSearch) settle(ctx context.Context, f *os.File, leased LeasedKeys) (done Cut, err error) {
	for {
		done.LeasedKeysWithoutLease += int64(len(s.found))
		if err := s.change(ctx, f, leased); err != nil {
			return done, fmt.Errorf("change the keys of leases that are gone: %w", err)
		}
		if !s.next() {
			return done, nil
		}
		if err := s.again(ctx, f); err != nil {
			return done, err
		}
	}
}

// change does with the keys that were found what is to become of them.
func (s *leaseSearch) change(ctx context.Context, f *os.File, leased LeasedKeys) (err error) {
	if len(s.found) == 0 || leased == LeasedKeysAsRecorded {
		return nil
	}
	defer faults(&err)()
	db, err := openUnsynced(f.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	records := slices.SortedFunc(maps.Values(s.found), func(a, b [revisionSize]byte) int { return bytes.Compare(a[:], b[:]) })
	for len(records) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := db.Update(func(tx *bbolt.Tx) (err error) {
			records, err = changeSome(tx.Bucket([]byte(bucketKey)), records, leased)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeSome changes records until that is enough for a transaction, and returns the rest.
func changeSome(b *bbolt.Bucket, records [][revisionSize]byte, leased LeasedKeys) ([][revisionSize]byte, error) {
	b.FillPercent = 0 // or a leaf that becomes small is merged with a sibling, which can be large
	pageSize, cursor := b.Tx().DB().Info().PageSize, b.Cursor()
	var counted []byte
	for size := 0; len(records) > 0 && size < maxChanged; records = records[1:] {
		record := records[0][:]
		beside, last := valuesBeside(cursor, record, counted)
		size, counted = size+pageSize+beside, last
		value := b.Get(record)
		if value == nil {
			return nil, damaged("it has no record %x", record)
		}
		if leased == KeepLeasedKeys {
			if err := b.Put(record, fieldsOf(value, func(n protowire.Number) bool { return n != fieldLease })); err != nil {
				return nil, err
			}
			continue
		}
		tombstone := fieldsOf(value, func(n protowire.Number) bool { return n == fieldKey })
		if err := b.Delete(record); err != nil {
			return nil, err
		}
		if err := b.Put(append(slices.Clone(record), 't'), tombstone); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// valuesBeside is the size of all values that can be in the same large leaf as a record, its
// own included, without those of keys up to counted. It also returns the last key counted.
func valuesBeside(c *bbolt.Cursor, record, counted []byte) (size int, last []byte) {
	c.Seek(record)
	for range maxBeside {
		key, value := c.Prev()
		if bytes.Compare(key, counted) <= 0 {
			break
		}
		size += len(value)
	}
	key, value := c.Seek(record)
	for i := 0; i <= maxBeside && key != nil; i++ {
		if bytes.Compare(key, counted) > 0 {
			size, counted = size+len(value), key
		}
		key, value = c.Next()
	}
	return size, counted
}

// fieldsOf is a KeyValue, which was read before, with some of its fields only.
func fieldsOf(value []byte, wanted func(protowire.Number) bool) (some []byte) {
	for len(value) > 0 {
		number, _, n := protowire.ConsumeField(value)
		if n < 0 {
			return some
		}
		if wanted(number) {
			some = append(some, value[:n]...)
		}
		value = value[n:]
	}
	return some
}
