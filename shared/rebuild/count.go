package rebuild

import (
	"context"
	"hash/maphash"
)

// maxSet is how many keys are remembered at a time, in some 20 MiB.
const maxSet = 1 << 20

// countKeys counts the keys that are there at a revision, under the prefixes and elsewhere:
// those whose newest event up to it is no deletion. entries is how many events there are at
// most.
func (d *database) countKeys(ctx context.Context, bucket []byte, entries, revision int64, prefixes []string) (under, elsewhere int64, err error) {
	err = d.newestAt(ctx, bucket, entries, revision, func(_ int64, ev event) {
		switch {
		case len(ev.key) == 0 || ev.deleted:
		case isUnder(ev.key, prefixes):
			under++
		default:
			elsewhere++
		}
	})
	return under, elsewhere, err
}

// newestAt visits the newest event of each key up to a revision, with the number of events
// behind it. entries is how many there are at most. Events are seen newest first, and of a key
// only the first one counts; so keys are remembered, by a hash of 64 bits, in as many passes as
// it takes to remember no more than maxSet of them at once.
func (d *database) newestAt(ctx context.Context, bucket []byte, entries, revision int64, visit func(behind int64, ev event)) error {
	passes := uint64(entries/maxSet + 1)
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{} // of its final size it would be slower where keys are few
	for pass := range passes {
		clear(seen)
		w := d.newWalk()
		w.backwards = true
		behind := int64(-1)
		err := w.bucket(ctx, bucket, func(e element) error {
			behind++
			ev, err := parseEvent(e)
			if err != nil || ev.revision > revision {
				return err
			}
			hash := maphash.Bytes(seed, ev.key)
			if hash%passes != pass {
				return nil
			}
			if _, known := seen[hash]; !known {
				seen[hash] = struct{}{}
				visit(behind, ev)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
