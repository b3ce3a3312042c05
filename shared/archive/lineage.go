package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// Lineage tells one history of revisions from another that has the same cluster id, such as
// that of volumes which were rolled back or cloned. It is a digest of all changes since the
// recording began, revision by revision: where two differ, so did the changes before. It is 0
// where nothing is known yet.
type Lineage uint64

// String is how it is written in names.
func (l Lineage) String() string { return fmt.Sprintf("%016x", uint64(l)) }

// Position is a place in a cluster's history: behind all changes of a revision.
type Position struct {
	Revision int64
	// Before and At are the lineage without and with the changes of Revision; 0 for a recording
	// that begins after a snapshot of Revision.
	Before, At Lineage
}

// begins tells whether a recording is to begin here.
func (p Position) begins() bool { return p.At == 0 }

// Begin finds the lineage of a recording that begins after a snapshot: all changes of the
// snapshot's newest revision are added to it in order.
type Begin struct{ lineage lineage }

// Add adds a change: a record of etcd's history, and its value.
func (b *Begin) Add(record, value []byte) { b.lineage.add(record, value) }

// Lineage is that of the changes that were added.
func (b *Begin) Lineage() Lineage { return b.lineage.after(0) }

// lineage digests the changes of one revision.
type lineage struct{ hash hash.Hash }

func (l *lineage) add(record, value []byte) {
	if l.hash == nil {
		l.hash = sha256.New()
	}
	for _, b := range [][]byte{record, value} {
		l.hash.Write(binary.AppendUvarint(nil, uint64(len(b))))
		l.hash.Write(b)
	}
}

// after is the lineage with these changes behind another one, and forgets them.
func (l *lineage) after(before Lineage) Lineage {
	b := order.AppendUint64(nil, uint64(before))
	if l.hash != nil {
		b = l.hash.Sum(b)
		l.hash.Reset()
	}
	sum := sha256.Sum256(b)
	return max(1, Lineage(order.Uint64(sum[:]))) // 0 says that nothing is known
}

// tracker follows the position behind changes that come in order.
type tracker struct {
	lineage
	position Position
	// main is the revision of the changes that were added since position; 0: none were.
	main int64
}

// change notes a change, of which the one before was the last of its revision if it has
// another one.
func (t *tracker) change(main int64, record, value []byte) {
	if main != t.main {
		t.seal()
	}
	t.main = main
	t.add(record, value)
}

// seal notes that all changes of the last revision have come.
func (t *tracker) seal() Position {
	if t.main != 0 {
		t.position = Position{Revision: t.main, Before: t.position.At, At: t.after(t.position.At)}
		t.main = 0
	}
	return t.position
}

// DivergedError says that the history that a member has is not the one that was recorded,
// though it has the same cluster id.
type DivergedError struct {
	// Revision is where they were compared; Newest is the cluster's newest revision if that
	// is older, else 0.
	Revision, Newest int64
}

// Error implements error.
func (e *DivergedError) Error() string {
	if e.Newest > 0 {
		return fmt.Sprintf("the cluster is at revision %d, and revision %d was archived: its data was rolled back", e.Newest, e.Revision)
	}
	return fmt.Sprintf("revision %d holds other changes than those that were archived: the cluster's data was rolled back or replaced", e.Revision)
}
