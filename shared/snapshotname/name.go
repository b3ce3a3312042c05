// Package snapshotname names the snapshots of repeated backups, and reads the names:
// <path>_v<revision>_<2006-01-02-15:04:05>, in UTC, as the predecessor chose. The time is
// that at which the backup was due. Backups write such names, and restores look for the
// newest of them.
package snapshotname

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// layout is that of the time in a name.
const layout = "2006-01-02-15:04:05"

// separator is between the path and the revision.
const separator = "_v"

// What stands at the end of the path of a snapshot whose source was not as it should be.
// Nothing chooses such a snapshot by itself: a person names it.
const (
	// MarkNoQuorum: no quorum confirmed that the source was up to date.
	MarkNoQuorum = "noquorum"
	// MarkUnhealthy: the source reported errors, or a CORRUPT alarm named it.
	MarkUnhealthy = "unhealthy"
)

// marks are all of them.
var marks = []string{MarkNoQuorum, MarkUnhealthy}

// Name is what a repeated backup's snapshot is called. Fractions of a second are
// dropped.
func Name(path string, revision int64, due time.Time) string {
	return path + separator + strconv.FormatInt(revision, 10) + "_" + due.UTC().Format(layout)
}

// MarkedName is what the snapshot of such a source is called, whether the backup is
// repeated or not. [Parse] reads no such name, except for a path that ends in the mark.
func MarkedName(path, mark string, revision int64, due time.Time) string {
	return Name(path+"_"+mark, revision, due)
}

// Snapshot is one that was found in a store.
type Snapshot struct {
	// Name is the whole name, with the path.
	Name string
	// Revision and Time are those in it.
	Revision int64
	Time     time.Time
}

// Parse reads a name that [Name] made for this path, and no other.
func Parse(path, name string) (s Snapshot, ok bool) {
	rest, ok := strings.CutPrefix(name, path+separator)
	if !ok {
		return Snapshot{}, false
	}
	revision, due, ok := strings.Cut(rest, "_")
	if !ok {
		return Snapshot{}, false
	}
	s.Name = name
	var err error
	if s.Revision, err = strconv.ParseInt(revision, 10, 64); err != nil || s.Revision < 0 {
		return Snapshot{}, false
	}
	if s.Time, err = time.Parse(layout, due); err != nil {
		return Snapshot{}, false
	}
	// Numbers and times that parse are still not all written as Name writes them:
	// +7, 007, a fraction of a second.
	return s, Name(path, s.Revision, s.Time) == name
}

// ParseAny reads a name that [Name] made for whatever path, and returns that path.
func ParseAny(name string) (path string, s Snapshot, ok bool) {
	i := strings.LastIndex(name, separator) // neither a number nor a time has one
	if i < 0 {
		return "", Snapshot{}, false
	}
	s, ok = Parse(name[:i], name)
	return name[:i], s, ok
}

// Marked tells whether a path is that of snapshots whose source was not as it should be.
func Marked(path string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasSuffix(path, "_"+mark) })
}
