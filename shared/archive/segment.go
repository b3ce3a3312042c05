package archive

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Segment says what a segment holds.
type Segment struct {
	ClusterID uint64
	// Timeline counts how often the recording of a cluster has begun anew after a snapshot.
	Timeline uint32
	// First and Last are revisions. It holds all changes from First to Last; none if Last is
	// one before First, which happens if nothing was written for a while.
	First, Last int64
	// Follows and Ends are the lineage before First and at Last.
	Follows, Ends Lineage
}

// Mark says that a cluster was at a revision at a time: whatever was acknowledged before Asked
// is not newer than the revision, and whatever began after Answered is newer. The clock is
// that of the recorder.
type Mark struct {
	Revision        int64
	Asked, Answered time.Time
}

// Hash is the HashKV of a member at a revision. Another one can be compared only if it is of
// the same compacted revision.
type Hash struct {
	Revision, Compacted int64
	Hash                uint32
}

// Name is what a segment is called in a store. Names of a timeline are in the order of First.
func (s Segment) Name() string {
	return fmt.Sprintf("%016x_%08x_%019d_%019d_%s_%s%s", s.ClusterID, s.Timeline, s.First, s.Last, s.Follows, s.Ends, suffix)
}

// folderSuffix stands behind the path of the snapshots that an archive belongs to.
const folderSuffix = "_archive/"

// Folder is the folder, or the part of a key up to a slash, that has the segments which belong to
// the snapshots of a path, <path>_v<revision>_<time>: beside these, so that one listing finds all.
func Folder(path string) string { return path + folderSuffix }

// suffix ends the name of a segment.
const suffix = ".seg"

var namePattern = regexp.MustCompile(`^([0-9a-f]{16})_([0-9a-f]{8})_([0-9]{19})_([0-9]{19})_([0-9a-f]{16})_([0-9a-f]{16})\.seg$`)

// ParseName reads a name; ok is false if it is no segment's.
func ParseName(name string) (s Segment, ok bool) {
	m := namePattern.FindStringSubmatch(name)
	if m == nil {
		return s, false
	}
	var errs [2]error
	hex := func(digits string) (n uint64) {
		n, _ = strconv.ParseUint(digits, 16, 64) // the pattern has no others
		return n
	}
	s = Segment{ClusterID: hex(m[1]), Timeline: uint32(hex(m[2])), Follows: Lineage(hex(m[5])), Ends: Lineage(hex(m[6]))}
	s.First, errs[0] = strconv.ParseInt(m[3], 10, 64)
	s.Last, errs[1] = strconv.ParseInt(m[4], 10, 64)
	return s, errs == [2]error{} && s.isValid()
}

func (s Segment) isValid() bool {
	return s.First > 0 && s.Last >= s.First-1 && s.Follows != 0 && s.Ends != 0 && (s.Last >= s.First || s.Follows == s.Ends)
}

// GapError says which revisions no segment holds.
type GapError struct {
	From int64
	// To is 0 if no segment is newer.
	To int64
}

// Error implements error.
func (e *GapError) Error() string {
	if e.To == 0 {
		return fmt.Sprintf("the archive ends before revision %d", e.From)
	}
	return fmt.Sprintf("the archive has a gap: it does not hold revisions %d to %d", e.From, e.To)
}
