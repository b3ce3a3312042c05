package rebuild

import (
	"context"
	"hash/maphash"
)

// maxSet is how many keys are remembered at a time, in some 20 MiB.
const maxSet = 1 << 20

// countKeys counts the keys that are there at a revision, under the prefixes and elsewhere:
// those whose newest event up to it is no deletion. entries is how many such events there are at most. Events are seen newest
// first, and of a key only the first one counts; so keys are remembered, by a hash of
// 64 bits, in as many passes as it takes to remember no more than maxSet of them at once.
func (d *database) countKeys(ctx context.Context, bucket []byte, entries, revision int64, prefixes []string) (under, elsewhere int64, err error) {
	passes := uint64(entries/maxSet + 1)
	seed := maphash.MakeSeed()
	seen := make(map[uint64]struct{}, min(entries, maxSet))
	for pass := range passes {
		clear(seen)
		w := d.newWalk()
		w.backwards = true
		err := w.bucket(ctx, bucket, func(e element) error {
			ev, err := parseEvent(e)
			if err != nil || len(ev.key) == 0 || ev.revision > revision {
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
			switch {
			case ev.deleted:
			case isUnder(ev.key, prefixes):
				under++
			default:
				elsewhere++
			}
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return under, elsewhere, nil
}
