package rebuild

import (
	"context"
	"errors"
	"os"
	"slices"
)

// NewestChanges visits the changes of a snapshot's newest revision, in order: each as a record
// of etcd's history and its value, valid until visit returns. There is none where a restore has
// raised the revision, or nothing was written. The file is only read.
func NewestChanges(ctx context.Context, f *os.File, visit func(record, value []byte)) (err error) {
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
	compacted, newest, err := d.extent(ctx, d.newWalk(), buckets)
	if err != nil || compacted > newest {
		return err
	}
	var changes []element // parts of the mapped file, the newest first
	w := d.newWalk()
	w.backwards = true
	err = w.bucket(ctx, buckets[bucketKey], func(e element) error {
		ev, err := parseEvent(e)
		switch {
		case err != nil:
			return err
		case ev.revision < newest:
			return errEnough
		case len(ev.key) > 0:
			changes = append(changes, e)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, e := range slices.Backward(changes) {
		visit(e.key, e.value)
	}
	return nil
}
