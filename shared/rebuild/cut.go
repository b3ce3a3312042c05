package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// LeasedKeys says what becomes of the keys that had a lease at the revision of a cut which
// the snapshot does not have: it was revoked, or expired, between the two.
type LeasedKeys int

const (
	// DropLeasedKeys leaves them out.
	DropLeasedKeys LeasedKeys = iota
	// KeepLeasedKeys keeps them without a lease: they never expire.
	KeepLeasedKeys
	// LeasedKeysAsRecorded changes nothing, so that HashKV is the original cluster's. It is
	// for comparing hashes, and for nothing that clients write to.
	LeasedKeysAsRecorded
)

// Cut is what CutAt has made of a database.
type Cut struct {
	// Revision is the newest of the database now. Restore must go on from beyond the
	// newest revision that the database had before.
	Revision int64
	// LeasedKeysWithoutLease counts the keys that LeasedKeys is about.
	LeasedKeysWithoutLease int64
}

// RevisionError is the failure of a revision that a snapshot does not hold.
type RevisionError struct {
	// Revision is what was asked for, Compacted and Newest are the first and the last that
	// the snapshot holds.
	Revision, Compacted, Newest int64
}

// Error implements error.
func (e *RevisionError) Error() string {
	return fmt.Sprintf("the snapshot does not hold revision %d: it holds revisions %d to %d", e.Revision, e.Compacted, e.Newest)
}

// CutAt brings a database file that was inspected before, and that is open for reading and
// writing, to exactly what it was at a revision. The error of a revision that it does not
// hold is a [RevisionError].
func CutAt(ctx context.Context, f *os.File, revision int64, leased LeasedKeys) (Cut, error) {
	return Cut{}, errors.New("not implemented yet")
}
