package rebuild

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/etcd-operators/etcd-operators/shared/datadir"
)

// openTime bounds the wait for a database's lock, which nobody else holds.
const openTime = 10 * time.Second

// memberBuckets hold the members of a cluster: a snapshot's are another cluster's.
var memberBuckets = []string{"members", "members_removed"}

// openBolt opens a database, or makes one, as etcd does: without a list of free pages.
func openBolt(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, datadir.FileMode, &bbolt.Options{Timeout: openTime, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
}

// openUnsynced opens a database like openBolt, and leaves it to Restore to sync the file, which is of
// no use before.
func openUnsynced(path string) (*bbolt.DB, error) {
	db, err := openBolt(path)
	if err == nil {
		db.NoSync, db.NoGrowSync = true, true
	}
	return db, err
}

// makeStandIn makes a small database at a revision, for etcdutl to make a member's of.
func makeStandIn(path string, last int64) error {
	db, err := openBolt(path)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range slices.Concat(memberBuckets, []string{bucketMeta, bucketCluster, bucketKey}) {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		if last == 0 {
			return nil // nothing was ever written
		}
		return tx.Bucket([]byte(bucketKey)).Put(revisionOf(last), nil)
	})
	return errors.Join(err, db.Close())
}

// revisionOf is a revision as a key of etcd's history.
func revisionOf(main int64) []byte {
	key := make([]byte, revisionSize)
	for i := range 8 {
		key[i] = byte(main >> (56 - 8*i))
	}
	key[8] = '_'
	return key
}

// pair is a key with its value in a bucket.
type pair struct {
	bucket     string
	key, value []byte
}

// readWritten is what makes a database a member's: the members, where its log begins, the
// revision that it goes on from, which is beyond the last, and that what is older is
// compacted.
func readWritten(path string, last int64) (all []pair, err error) {
	db, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it was only read
	err = db.View(func(tx *bbolt.Tx) error {
		for _, name := range slices.Concat(memberBuckets, []string{bucketMeta, bucketKey}) {
			b := tx.Bucket([]byte(name))
			if b == nil {
				return fmt.Errorf("bucket %q is missing", name)
			}
			err := b.ForEach(func(k, v []byte) error {
				if name != bucketKey || bytes.Compare(k, revisionOf(last)) > 0 {
					all = append(all, pair{name, bytes.Clone(k), bytes.Clone(v)})
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// carryOver makes a database a member's, in one transaction: it forgets the members and
// the alarms of the cluster that it is from, and gets what etcdutl has written.
func carryOver(path string, written []pair, done *Rebuilt) error {
	db, err := openBolt(path)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range memberBuckets {
			if err := empty(tx, name, nil); err != nil {
				return err
			}
		}
		if err := empty(tx, bucketAlarm, done.forget); err != nil {
			return err
		}
		for _, p := range written {
			b, err := tx.CreateBucketIfNotExists([]byte(p.bucket))
			if err != nil {
				return err
			}
			if err := b.Put(p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

// empty makes a bucket that holds nothing. Every key that it held is told.
func empty(tx *bbolt.Tx, name string, tell func(key []byte) error) error {
	if b := tx.Bucket([]byte(name)); b != nil {
		if tell != nil {
			if err := b.ForEach(func(k, _ []byte) error { return tell(k) }); err != nil {
				return err
			}
		}
		if err := tx.DeleteBucket([]byte(name)); err != nil {
			return err
		}
	}
	_, err := tx.CreateBucket([]byte(name))
	return err
}

// forget notes an alarm.
func (r *Rebuilt) forget(key []byte) error {
	kind, err := alarmOf(key)
	if err == nil && !slices.Contains(r.ClearedAlarms, kind) {
		r.ClearedAlarms = append(r.ClearedAlarms, kind)
	}
	return err
}
