package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

// Append brings a database to what its cluster was at a later revision. The file was inspected
// before, and is opened for reading and writing. next returns the changes after Info.Revision: each
// as a record of etcd's history and its value, in order and without a gap, and then io.EOF. It is
// one pass, in bounded memory.
//
// Nothing but the keys is brought on: users, roles and leases stay those of the snapshot. So
// [SettleLeasedKeys] comes before Restore goes on with the file.
//
// It returns the size that the database has then, in bytes. After an error the file is of no use
// any more.
func Append(ctx context.Context, f *os.File, revision int64, next func() (record, value []byte, err error)) (size int64, err error) {
	if err := checkName(f); err != nil {
		return 0, err
	}
	size, newest, err := sizeAndRevision(ctx, f)
	if err != nil {
		return 0, err
	}
	if revision < newest {
		return 0, fmt.Errorf("the snapshot has revision %d already, and is to be cut at %d", newest, revision)
	}
	if err := f.Truncate(size); err != nil { // without the digest
		return 0, err
	}
	last, err := appendAll(ctx, f, newest, next)
	if err != nil {
		return 0, err
	}
	if last != revision {
		return 0, fmt.Errorf("the changes end at revision %d, and not at %d", last, revision)
	}
	return databaseSize(f)
}

// SettleLeasedKeys does what [LeasedKeys] says with the keys whose lease does not exist at a
// database's newest revision: after Append, those whose lease was granted after the snapshot was
// taken, too, of which no change tells whether it was there at the revision.
func SettleLeasedKeys(ctx context.Context, f *os.File, revision int64, leased LeasedKeys) (done Cut, err error) {
	search := newLeaseSearch(revision)
	if err := search.begin(ctx, f); err != nil {
		return done, err
	}
	return search.settle(ctx, f, leased)
}

// sizeAndRevision is the size in bytes, without the digest, and Info.Revision.
func sizeAndRevision(ctx context.Context, f *os.File) (size, revision int64, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return 0, 0, err
	}
	defer d.close()
	w := d.newWalk()
	buckets, err := d.buckets(ctx, w)
	if err != nil {
		return 0, 0, err
	}
	compacted, last, err := d.extent(ctx, w, buckets)
	return d.size(), max(compacted, last, firstRevision), err
}

// appendAll returns the last revision that there is then.
func appendAll(ctx context.Context, f *os.File, last int64, next func() (record, value []byte, err error)) (_ int64, err error) {
	defer faults(&err)()
	db, err := openUnsynced(f.Name())
	if err != nil {
		return 0, err
	}
	w := &writer{db: db}
	defer func() {
		w.rollback()
		err = errors.Join(err, db.Close())
	}()
	// Many small objects are under way, which a collector that is eager, as that of an agent, would
	// go through again and again.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var before []byte
	for e, err := range ahead(ctx, next) {
		if err != nil {
			return 0, err
		}
		ev, err := parseEvent(e)
		if err != nil {
			return 0, err
		}
		if len(ev.key) == 0 || ev.revision > last+1 || ev.revision < last || bytes.Compare(e.key, before) <= 0 || before == nil && ev.revision == last {
			return 0, fmt.Errorf("revision %d cannot come after %d", ev.revision, last)
		}
		last, before = ev.revision, e.key
		if err := w.put(bucketKey, e.key, e.value); err != nil {
			return 0, err
		}
	}
	return last, w.commit()
}
