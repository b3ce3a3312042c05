package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// At finds where a cluster was at a time, by the marks of a timeline: before is the last mark that
// was answered by then, and after the one that follows it. Either is nil if there is none. If that
// time came more than once, the error is a [ClockError]. Of the segments it reads as many as a search
// by halves takes, each of them whole.
func At(all []Segment, clusterID uint64, timeline uint32, at time.Time, open func(Segment) (io.ReadCloser, error)) (before, after *Mark, err error) {
	s := &markSearch{own: ofTimeline(all, clusterID, timeline), known: make(map[int]*Told), open: open}
	if len(s.own) == 0 {
		return nil, nil, nil
	}
	newest, err := s.read(len(s.own) - 1)
	if err != nil {
		return nil, nil, err
	}
	if s.times = newest.Times; len(s.times) == 0 { // nobody has looked at the clock
		s.times = Times{{}}
	}
	covering := s.times.covering(at)
	if len(covering) == 1 {
		return s.in(covering[0], at)
	}
	var told ClockError
	for _, i := range covering {
		before, after, err := s.in(i, at)
		switch {
		case err != nil:
			return nil, nil, err
		case before != nil:
			told.Marks = append(told.Marks, *before)
		case after != nil:
			told.Marks = append(told.Marks, *after)
		}
	}
	if len(told.Marks) > 0 {
		return nil, nil, &told
	}
	i, j := s.times.around(at)
	if i >= 0 {
		before, after, err = s.in(i, at)
	}
	if err == nil && j >= 0 {
		_, after, err = s.in(j, at)
	}
	return before, after, err
}

// markSearch remembers the segments that were read.
type markSearch struct {
	own   []Segment
	times Times
	known map[int]*Told
	open  func(Segment) (io.ReadCloser, error)
}

// in finds the marks around a time in a stretch; after can be of a later one.
func (s *markSearch) in(stretch int, at time.Time) (before, after *Mark, err error) {
	low := slices.IndexFunc(s.own, func(o Segment) bool { return o.Last >= s.times[stretch].First })
	if low < 0 {
		return nil, nil, nil
	}
	begin, high := low, len(s.own) // the first mark from high on is later, and that from low-1 on is not
	for low < high {
		middle := (low + high) / 2
		first, err := s.first(stretch, middle)
		switch {
		case err != nil:
			return nil, nil, err
		case first == nil || first.Answered.After(at):
			high = middle
		default:
			low = middle + 1
		}
	}
	if low > begin {
		marks, err := s.marks(stretch, low-1)
		if err != nil {
			return nil, nil, err
		}
		for i := range marks {
			if marks[i].Answered.After(at) {
				return before, &marks[i], nil
			}
			before = &marks[i]
		}
	}
	after, err = s.first(stretch, low)
	for i := stretch + 1; i < len(s.times) && err == nil && after == nil && s.times[i].Begin.After(at); i++ {
		after, err = s.first(i, max(low-1, begin))
	}
	return before, after, err
}

// first is the first mark of a stretch in a segment, or else in those behind it; nil if there is none.
func (s *markSearch) first(stretch, from int) (*Mark, error) {
	for i := from; i < len(s.own); i++ {
		if !s.times.isLast(stretch) && s.own[i].First > s.times[stretch].Last+1 {
			break // those behind it are of later stretches
		}
		marks, err := s.marks(stretch, i)
		if err != nil {
			return nil, err
		}
		if len(marks) > 0 {
			return &marks[0], nil
		}
	}
	return nil, nil
}

// marks are those of a stretch in a segment.
func (s *markSearch) marks(stretch, segment int) ([]Mark, error) {
	told, err := s.read(segment)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(told.Marks), func(m Mark) bool { return !s.times.holds(stretch, m) }), nil
}

// read reads a segment.
func (s *markSearch) read(i int) (*Told, error) {
	if known, ok := s.known[i]; ok {
		return known, nil
	}
	file, err := s.open(s.own[i])
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	told, err := ReadSegment(file, s.own[i])
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", s.own[i].Name(), err)
	}
	s.known[i] = told
	return told, nil
}

// Told is what a segment tells besides its changes: its marks, the times of its timeline up to its
// end (empty if it does not tell), and the position behind it.
type Told struct {
	Marks []Mark
	Times Times
	End   Position
}

// ReadSegment reads all of a segment that is to be this one.
func ReadSegment(from io.Reader, want Segment) (*Told, error) {
	r, err := NewReader(from, want)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for err == nil {
		_, _, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &Told{Marks: r.Marks(), Times: r.times, End: r.End()}, nil
}
