package retention

import (
	"strconv"
	"strings"
	"time"
)

// layout is that of the time in a name, which the predecessor chose.
const layout = "2006-01-02-15:04:05"

// Name is what a repeated backup's snapshot is called. Fractions of a second are
// dropped.
func Name(path string, revision int64, due time.Time) string {
	return path + "_v" + strconv.FormatInt(revision, 10) + "_" + due.UTC().Format(layout)
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
	rest, ok := strings.CutPrefix(name, path+"_v")
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
