package archive

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// At finds where a cluster was at a time, by the marks of a timeline: before is the last mark that
// was answered by then, and after the one that follows it. Either is nil if there is none. Of the
// segments it reads as many as a search by halves takes, each of them whole.
func At(all []Segment, clusterID uint64, timeline uint32, at time.Time, open func(Segment) (io.ReadCloser, error)) (before, after *Mark, err error) {
	s := &markSearch{own: ofTimeline(all, clusterID, timeline), known: make(map[int][]Mark), open: open}
	low, high := 0, len(s.own) // the first mark from high on is later, and that from low-1 on is not
	for low < high {
		middle := (low + high) / 2
		first, err := s.first(middle)
		switch {
		case err != nil:
			return nil, nil, err
		case first == nil || first.Answered.After(at):
			high = middle
		default:
			low = middle + 1
		}
	}
	if low > 0 {
		marks, err := s.marks(low - 1)
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
	after, err = s.first(low)
	return before, after, err
}

// markSearch remembers the marks of segments that were read.
type markSearch struct {
	own   []Segment
	known map[int][]Mark
	open  func(Segment) (io.ReadCloser, error)
}

// first is the first mark of a segment, or else of those behind it; nil if there is none.
func (s *markSearch) first(from int) (*Mark, error) {
	for i := from; i < len(s.own); i++ {
		marks, err := s.marks(i)
		if err != nil {
			return nil, err
		}
		if len(marks) > 0 {
			return &marks[0], nil
		}
	}
	return nil, nil
}

func (s *markSearch) marks(i int) (marks []Mark, err error) {
	if known, ok := s.known[i]; ok {
		return known, nil
	}
	file, err := s.open(s.own[i])
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	r, err := NewReader(file, s.own[i])
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", s.own[i].Name(), err)
	}
	defer r.Close()
	for err == nil {
		_, _, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("segment %s: %w", s.own[i].Name(), err)
	}
	s.known[i] = r.Marks()
	return s.known[i], nil
}
