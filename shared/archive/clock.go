package archive

import (
	"fmt"
	"slices"
	"time"
)

// Stretch is a time in which the clock of a timeline's recorders went forward, without a pause:
// it begins with a mark at a revision. Where a clock was put back, two stretches tell of the same
// time; which one is meant is not known.
type Stretch struct {
	Begin, End time.Time
	// First and Last are the revisions of its first and last mark.
	First, Last int64
}

// Times are the stretches of a timeline, in the order in which they were recorded. The last one
// goes on.
type Times []Stretch

const (
	// maxPause is how far two marks of a stretch are apart at most. A clock that was set ahead by
	// more, and back again, leaves a stretch of its own, and the time that it has skipped is not told
	// of twice.
	maxPause = time.Minute
	// maxStretches bounds what each segment repeats.
	maxStretches = 64
)

// breaks tells whether a mark begins another stretch.
func (t Times) breaks(m Mark) bool {
	if len(t) == 0 {
		return true
	}
	passed := wall(m.Answered).Sub(t[len(t)-1].End)
	return passed < 0 || passed > maxPause
}

// add notes a mark.
func (t Times) add(m Mark) Times {
	at := wall(m.Answered)
	if !t.breaks(m) {
		last := &t[len(t)-1]
		last.End, last.Last = at, m.Revision
		return t
	}
	t = append(t, Stretch{Begin: at, End: at, First: m.Revision, Last: m.Revision})
	if len(t) <= maxStretches {
		return t
	}
	// Two become one whose marks are still in the order of their times; else the oldest is lost.
	for i := range t[1:] {
		if !t[i+1].Begin.Before(t[i].End) {
			t[i].End, t[i].Last = t[i+1].End, t[i+1].Last
			return slices.Delete(t, i+1, i+2)
		}
	}
	return t[1:]
}

// wall is a time without the monotonic clock, which is not put back.
func wall(t time.Time) time.Time { return t.Round(0).UTC() }

func (t Times) isLast(i int) bool { return i == len(t)-1 }

// covering are the stretches that tell of a time.
func (t Times) covering(at time.Time) (all []int) {
	for i, s := range t {
		if !s.Begin.After(at) && (t.isLast(i) || !s.End.Before(at)) {
			all = append(all, i)
		}
	}
	return all
}

// around are the stretches between which a time lies that none tells of; -1: there is none.
func (t Times) around(at time.Time) (before, after int) {
	before, after = -1, -1
	for i, s := range t {
		switch {
		case s.Begin.After(at):
			if after < 0 || s.Begin.Before(t[after].Begin) {
				after = i
			}
		case before < 0 || s.End.After(t[before].End):
			before = i
		}
	}
	return before, after
}

// holds tells whether a mark is of a stretch. One of the next, of the same revision, says no less.
func (t Times) holds(i int, m Mark) bool {
	s := t[i]
	return !m.Answered.Before(s.Begin) && m.Revision >= s.First && (t.isLast(i) || !m.Answered.After(s.End) && m.Revision <= s.Last)
}

// ClockError says that the clock of a recorder was put back, and that a time came more than once.
type ClockError struct {
	// Marks are the last ones before that time, in the order in which they were recorded.
	Marks []Mark
}

// Error implements error.
func (e *ClockError) Error() string {
	first, last := e.Marks[0], e.Marks[len(e.Marks)-1]
	return fmt.Sprintf("the clock of the archiver was put back, so this time came %d times: first at revision %d, and last at revision %d", len(e.Marks), first.Revision, last.Revision)
}
