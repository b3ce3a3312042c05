package rebuild

import (
	"go.etcd.io/bbolt"
)

const (
	// maxBatch is when a transaction of a writer has enough, in bytes of keys and values.
	maxBatch = 4 << 20
	// fillPercent is how full etcd makes the pages of keys (server/storage/backend/batch_tx.go):
	// they come in order.
	fillPercent = 0.9
)

// writer puts many elements into a database, each bucket's in their order, in transactions of
// a bounded size.
type writer struct {
	db *bbolt.DB
	tx *bbolt.Tx
	// name and into are the bucket of the last element; of no use without a transaction.
	name string
	into *bbolt.Bucket
	size int
}

func (w *writer) put(bucket string, key, value []byte) error {
	b, err := w.bucket(bucket)
	if err != nil {
		return err
	}
	if err := b.Put(key, value); err != nil {
		return err
	}
	if w.size += len(key) + len(value); w.size < maxBatch {
		return nil
	}
	return w.commit()
}

// bucket makes a bucket, if there is none of that name.
func (w *writer) bucket(name string) (b *bbolt.Bucket, err error) {
	if w.tx != nil && w.name == name {
		return w.into, nil
	}
	if w.tx == nil {
		if w.tx, err = w.db.Begin(true); err != nil {
			return nil, err
		}
	}
	if b, err = w.tx.CreateBucketIfNotExists([]byte(name)); err == nil {
		b.FillPercent = fillPercent
		w.name, w.into = name, b
	}
	return b, err
}

func (w *writer) commit() error {
	if w.tx == nil {
		return nil
	}
	err := w.tx.Commit() // it might be the first to read a value, and fault: then rollback ends it
	w.tx, w.size = nil, 0
	return err
}

// rollback ends what was not committed. Closing the database would wait for it for ever.
func (w *writer) rollback() {
	if w.tx != nil {
		_ = w.tx.Rollback() // it only gives up what is of no use
	}
}
