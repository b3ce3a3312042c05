package archive

import (
	"errors"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
)

var errUnreadable = errors.New("unreadable")

// parsed returns an error for a value that could not be parsed.
func parsed[T any](v T, ok bool) (T, error) {
	if !ok {
		return v, errUnreadable
	}
	return v, nil
}

// set replaces zero times: the recorder never has one.
func set(times ...*time.Time) {
	for _, t := range times {
		if t.IsZero() {
			*t = time.Unix(1, 0).UTC()
		}
	}
}

func TestRoundTrips(t *testing.T) {
	roundtriptest.Check(t, func(s Segment) (Segment, error) { return parsed(ParseName(s.Name())) }, func(s *Segment) {
		s.First = max(s.First, 1)
		s.Last = max(s.Last, s.First-1)
		s.Follows, s.Ends = max(s.Follows, 1), max(s.Ends, 1)
		if s.Last < s.First {
			s.Ends = s.Follows
		}
	})
	roundtriptest.Check(t, func(s Segment) (Segment, error) { return parsed(parseHeader(appendHeader(nil, s))) }, func(s *Segment) {
		s.Last, s.Ends = 0, 0 // the footer contains them
	})
	roundtriptest.Check(t, func(p Position) (Position, error) {
		p, _, ok := parseFooter(append(appendFooter(nil, p), make([]byte, 32)...))
		return parsed(p, ok)
	})
	roundtriptest.Check(t, func(h Hash) (Hash, error) { return parsed(parseHash(appendHash(nil, h))) })
	roundtriptest.Check(t, func(m Mark) (Mark, error) { return parsed(parseMark(appendMark(nil, m))) }, func(m *Mark) { set(&m.Asked, &m.Answered) })
	roundtriptest.Check(t, func(all Times) (Times, error) { return parsed(parseTimes(appendTimes(nil, all))) }, func(all *Times) {
		for i := range *all {
			set(&(*all)[i].Begin, &(*all)[i].End)
		}
	})
}
