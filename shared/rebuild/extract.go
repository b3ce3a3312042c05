package rebuild

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
)

// Extract makes a database at path, where nothing must be, of the keys of another one that
// begin with one of the prefixes. The other file was inspected before, and is only read.
//
// Each record that stays is as it was. All else is copied: users and roles, alarms, and
// leases, those without a key, too. The newest revision stays the same, so that CutAt and
// Restore can go on with it. It is one pass, and what it holds in memory does not grow with
// the database.
//
// The new file is not synced, which Restore does. After an error it is of no use.
func Extract(ctx context.Context, f *os.File, path string, prefixes []string) (err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return err
	}
	defer d.close()
	walk := d.newWalk()
	buckets, err := d.buckets(ctx, walk)
	if err != nil {
		return err
	}
	db, err := openUnsynced(path)
	if err != nil {
		return err
	}
	w := &writer{db: db}
	defer func() {
		w.rollback()
		err = errors.Join(err, db.Close())
	}()
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		if _, err := w.bucket(name); err != nil {
			return err
		}
		put := func(e element) error { return w.put(name, e.key, e.value) }
		if name == bucketKey {
			err = w.keysUnder(ctx, walk, buckets[name], prefixes)
		} else {
			err = walk.bucket(ctx, buckets[name], put)
		}
		if err != nil {
			return err
		}
	}
	return w.commit()
}

// keysUnder copies the records of keys that begin with one of the prefixes. If the newest
// revision is of another key, a record without a key keeps it, as a restore writes one.
func (w *writer) keysUnder(ctx context.Context, walk *walk, bucket []byte, prefixes []string) error {
	newest, kept := int64(0), int64(0)
	err := walk.bucket(ctx, bucket, func(e element) error {
		ev, err := parseEvent(e)
		if err != nil {
			return err
		}
		if newest = ev.revision; len(ev.key) > 0 && !isUnder(ev.key, prefixes) {
			return nil
		}
		kept = newest
		return w.put(bucketKey, e.key, e.value)
	})
	if err != nil || kept == newest {
		return err
	}
	return w.put(bucketKey, revisionOf(newest), nil)
}

// isUnder tells whether a key begins with one of the prefixes; without any, all do.
func isUnder(key []byte, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(key, []byte(p)) })
}
