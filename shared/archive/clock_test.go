package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A stretch ends where the clock was put back, and where it has leapt.
func TestTimes(t *testing.T) {
	var times Times
	for _, m := range []Mark{at(100, 5), at(101, 5), at(160, 7), at(3000, 9), at(3010, 12), at(170, 13), at(3005, 20), at(3004, 21)} {
		times = times.add(m)
	}
	span := func(begin, end, first, last int64) Stretch {
		return Stretch{Begin: at(begin, 0).Answered, End: at(end, 0).Answered, First: first, Last: last}
	}
	want := Times{span(100, 160, 5, 7), span(3000, 3010, 9, 12), span(170, 170, 13, 13), span(3005, 3005, 20, 20), span(3004, 3004, 21, 21)}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Fatal(diff)
	}
	read, ok := parseTimes(appendTimes(nil, times))
	if diff := cmp.Diff(want, read); diff != "" || !ok {
		t.Error(ok, diff)
	}
	for i := range int64(2 * maxStretches) { // each leaps
		times = times.add(at(10_000+100*i, 30+i))
	}
	if n := len(times); n != maxStretches || times[0].First != 5 || !slices.IsSortedFunc(times, func(a, b Stretch) int { return int(a.First - b.First) }) {
		t.Errorf("%d stretches: %v", n, times)
	}
	for i := range int64(2 * maxStretches) { // each goes back
		times = times.add(at(9000-i, 300+i))
	}
	if n := len(times); n != maxStretches || times[n-1].First != 300+2*maxStretches-1 {
		t.Errorf("%d stretches, the last at revision %d", n, times[n-1].First)
	}
}

// A time that came twice is refused, with both revisions; before, between and after it all is as ever.
func TestAtAfterTheClockWasPutBack(t *testing.T) {
	store, known, times := map[Segment][]byte{}, []Segment(nil), Times(nil)
	for _, s := range []struct {
		first, last int64
		marks       []Mark
	}{
		{1, 10, []Mark{at(10, 4), at(20, 10)}},
		{11, 20, []Mark{at(1000, 12), at(1010, 20)}}, // ahead
		{21, 30, []Mark{at(1020, 21), at(30, 30)}},   // put right within a segment
		{31, 30, []Mark{at(60, 30), at(90, 30)}},     // idle
		{31, 40, []Mark{at(140, 35), at(200, 40)}},
		{41, 50, []Mark{at(260, 45), at(320, 50)}},
		{51, 60, []Mark{at(100, 55), at(150, 60)}}, // put back by mistake
		{61, 70, []Mark{at(400, 65), at(450, 70)}}, // and put right
	} {
		for _, m := range s.marks {
			times = times.add(m)
		}
		segment, content := marked(t, s.first, s.last, times, s.marks...)
		store[segment], known = content, append(known, segment)
	}
	for name, c := range map[string]struct {
		second        int64
		before, after *Mark
		twice         []Mark
	}{
		"before all":                  {second: 5, after: new(at(10, 4))},
		"before it was ahead":         {second: 15, before: new(at(10, 4)), after: new(at(20, 10))},
		"between the two":             {second: 25, before: new(at(20, 10)), after: new(at(30, 30))},
		"put right":                   {second: 80, before: new(at(60, 30)), after: new(at(90, 30))},
		"before it came twice":        {second: 95, before: new(at(90, 30)), after: new(at(140, 35))},
		"twice":                       {second: 145, twice: []Mark{at(140, 35), at(100, 55)}},
		"twice, at an end":            {second: 101, twice: []Mark{at(90, 30), at(100, 55)}},
		"after it came twice":         {second: 190, before: new(at(140, 35)), after: new(at(200, 40))},
		"in a pause":                  {second: 370, before: new(at(320, 50)), after: new(at(400, 65))},
		"the end":                     {second: 460, before: new(at(450, 70))},
		"twice, since it has come on": {second: 1005, twice: []Mark{at(1000, 12), at(450, 70)}},
	} {
		before, after, err := At(known, cluster, timeline, time.Unix(c.second, 0), func(s Segment) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(store[s])), nil
		})
		var twice *ClockError
		if errors.As(err, &twice) && cmp.Equal(twice.Marks, c.twice) {
			continue
		}
		if diff := cmp.Diff([]*Mark{c.before, c.after}, []*Mark{before, after}); diff != "" || err != nil || c.twice != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// A recorder whose clock is put back tells so, and so does the next one.
func TestClockPutBack(t *testing.T) {
	c, r, stored := setup(t, etcdtest.Versions()[0])
	var ahead atomic.Int64
	r.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	write := func(value string) int64 {
		got, err := c.Put(t.Context(), "key", value)
		if err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, r, stored, got.Header.Revision)
		return got.Header.Revision
	}
	find := func(second time.Time) error {
		before, _, err := At(stored.segments(), r.ClusterID, 1, second, func(s Segment) (io.ReadCloser, error) {
			stored.Lock()
			defer stored.Unlock()
			return io.NopCloser(bytes.NewReader(stored.content[s])), nil
		})
		if err == nil && before == nil {
			return errors.New("there is no mark")
		}
		return err
	}
	ahead.Store(int64(time.Hour))
	stop := r.start(t, atOne)
	first := write("ahead")
	then := r.Now() // which comes once more
	write("still ahead")
	ahead.Store(int64(time.Hour - 10*time.Second))
	write("put back")
	ahead.Store(int64(time.Hour - 5*time.Second))
	write("on its way")
	_, _ = stop() // which is why it has ended
	newest, _ := Newest(stored.segments(), r.ClusterID)
	told, err := ReadSegment(bytes.NewReader(stored.content[newest]), newest)
	if err != nil || len(told.Times) != 2 {
		t.Fatalf("%v: %v", err, told)
	}
	// The next recorder has a clock that is right.
	r.Times = told.Times
	ahead.Store(int64(time.Hour) + int64(time.Second))
	stop = r.start(t, told.End)
	defer func() { _, _ = stop() }()
	write("the next one")
	etcdtest.Eventually(t, "the time that comes twice", func() error {
		var twice *ClockError
		if err := find(then); !errors.As(err, &twice) || len(twice.Marks) != 2 || twice.Marks[0].Revision < first {
			return fmt.Errorf("it is found: %w", err)
		}
		return nil
	})
}
