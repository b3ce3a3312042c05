package archive

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Segment says what a segment holds.
type Segment struct {
	ClusterID uint64
	// First and Last are revisions. It holds all changes from First to Last; none if Last is
	// one before First, which happens if nothing was written for a while.
	First, Last int64
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

// Name is what a segment is called in a store. Names are in the order of First.
func (s Segment) Name() string {
	return fmt.Sprintf("%016x_%019d_%019d.seg", s.ClusterID, s.First, s.Last)
}

var namePattern = regexp.MustCompile(`^([0-9a-f]{16})_([0-9]{19})_([0-9]{19})\.seg$`)

// ParseName reads a name; ok is false if it is no segment's.
func ParseName(name string) (s Segment, ok bool) {
	m := namePattern.FindStringSubmatch(name)
	if m == nil {
		return s, false
	}
	var errs [3]error
	s.ClusterID, errs[0] = strconv.ParseUint(m[1], 16, 64)
	s.First, errs[1] = strconv.ParseInt(m[2], 10, 64)
	s.Last, errs[2] = strconv.ParseInt(m[3], 10, 64)
	return s, errs == [3]error{} && s.isValid()
}

func (s Segment) isValid() bool { return s.First > 0 && s.Last >= s.First-1 }

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

// Chain picks those segments of a cluster that lead from a snapshot's revision to another, in
// their order. Segments of other clusters, and those that repeat others, are passed over.
func Chain(all []Segment, clusterID uint64, from, to int64) (chain []Segment, err error) {
	own := slices.DeleteFunc(slices.Clone(all), func(s Segment) bool { return s.ClusterID != clusterID || !s.isValid() })
	slices.SortFunc(own, func(a, b Segment) int { return cmp.Compare(a.First, b.First) })
	for from < to {
		var best Segment
		for len(own) > 0 && own[0].First <= from+1 {
			if own[0].Last > best.Last {
				best = own[0]
			}
			own = own[1:]
		}
		if best.Last <= from {
			gap := &GapError{From: from + 1}
			if len(own) > 0 {
				gap.To = own[0].First - 1
			}
			return nil, gap
		}
		chain, from = append(chain, best), best.Last
	}
	return chain, nil
}

// End is the newest revision that follows without a gap from a revision that a snapshot has.
func End(all []Segment, clusterID uint64, from int64) int64 {
	for {
		end := from
		for _, s := range all {
			if s.ClusterID == clusterID && s.isValid() && s.First <= end+1 {
				end = max(end, s.Last)
			}
		}
		if end == from {
			return end
		}
		from = end
	}
}
