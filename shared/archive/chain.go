package archive

import (
	"cmp"
	"fmt"
	"slices"
)

// ForkError says that two histories were recorded on one timeline, and that which of them is
// meant is not known.
type ForkError struct{ One, Other Segment }

// Error implements error.
func (e *ForkError) Error() string {
	return fmt.Sprintf("the archive holds two histories: %s and %s", e.One.Name(), e.Other.Name())
}

// Chain picks those segments of a cluster's timeline that lead from a snapshot's revision to
// another, in their order: each begins just where the one before has ended, with its lineage.
// The first one also holds the snapshot's own revision, or begins the timeline behind it, so that
// [Changes] can compare the two. All other segments are passed over.
func Chain(all []Segment, clusterID uint64, timeline uint32, from, to int64) (chain []Segment, err error) {
	if from >= to {
		return nil, nil
	}
	own := timelineOf(all, clusterID, timeline)
	arriving, ending := make(map[link]Segment), make(map[int64]Segment)
	last := Segment{Last: from}
	for _, s := range own { // in the order of First, so what leads to a segment was seen before
		_, continued := arriving[s.begin()]
		if !s.startsAt(from) && !continued || s.First > to {
			continue
		}
		if other, known := ending[s.Last]; known && other.Ends != s.Ends {
			return nil, &ForkError{One: other, Other: s}
		}
		ending[s.Last] = s
		if _, known := arriving[s.end()]; !known {
			arriving[s.end()] = s
		}
		if last.Last < to && s.Last > last.Last {
			last = s
		}
	}
	if last.Last < to {
		return nil, gapBehind(own, last.Last)
	}
	for s, ok := last, true; ok; s, ok = arriving[s.begin()] {
		chain = append(chain, s)
		if s.First <= from {
			break
		}
	}
	slices.Reverse(chain)
	return chain, nil
}

// startsAt tells whether a segment can be the first that is read after a revision.
func (s Segment) startsAt(revision int64) bool {
	return s.First <= revision+1 && revision <= s.Last
}

func gapBehind(own []Segment, revision int64) *GapError {
	gap := &GapError{From: revision + 1}
	for _, s := range own {
		if s.First > gap.From && (gap.To == 0 || s.First-1 < gap.To) {
			gap.To = s.First - 1
		}
	}
	return gap
}

// link is where segments follow on each other.
type link struct {
	revision int64
	lineage  Lineage
}

func (s Segment) begin() link { return link{s.First - 1, s.Follows} }
func (s Segment) end() link   { return link{s.Last, s.Ends} }

// ofTimeline are the segments of a timeline in the order in which they were recorded.
func ofTimeline(all []Segment, clusterID uint64, timeline uint32) []Segment {
	own := slices.DeleteFunc(slices.Clone(all), func(s Segment) bool {
		return s.ClusterID != clusterID || s.Timeline != timeline || !s.isValid()
	})
	slices.SortFunc(own, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Ends, b.Ends))
	})
	return own
}

// timelineOf are the segments of a timeline that hold changes, in their order: of those that begin
// alike, the longest first.
func timelineOf(all []Segment, clusterID uint64, timeline uint32) []Segment {
	own := slices.DeleteFunc(ofTimeline(all, clusterID, timeline), func(s Segment) bool { return s.Last < s.First })
	slices.SortFunc(own, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Last, a.Last), cmp.Compare(a.Ends, b.Ends))
	})
	return own
}

// Timelines are those of the segments of a cluster, the newest first.
func Timelines(all []Segment, clusterID uint64) (timelines []uint32) {
	for _, s := range all {
		if s.ClusterID == clusterID && s.isValid() && !slices.Contains(timelines, s.Timeline) {
			timelines = append(timelines, s.Timeline)
		}
	}
	slices.SortFunc(timelines, func(a, b uint32) int { return cmp.Compare(b, a) })
	return timelines
}

// End is the newest revision that a chain leads to from a revision that a snapshot has.
func End(all []Segment, clusterID uint64, timeline uint32, from int64) int64 {
	own := timelineOf(all, clusterID, timeline)
	ends := make(map[link]bool)
	end := from
	for _, s := range own { // in the order of First, so what leads to a segment was seen before
		if s.startsAt(from) || ends[s.begin()] {
			ends[s.end()] = true
			end = max(end, s.Last)
		}
	}
	return end
}

// Newest is the segment that a recording goes on from: the one of the newest timeline that has
// the newest revision. ok is false if there is none of the cluster.
func Newest(all []Segment, clusterID uint64) (newest Segment, ok bool) {
	for _, s := range all {
		if s.ClusterID != clusterID || !s.isValid() {
			continue
		}
		if !ok || cmp.Or(cmp.Compare(s.Timeline, newest.Timeline), cmp.Compare(s.Last, newest.Last), cmp.Compare(s.First, newest.First), cmp.Compare(s.Ends, newest.Ends)) > 0 {
			newest, ok = s, true
		}
	}
	return newest, ok
}
