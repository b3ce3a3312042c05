package archive

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seg is a segment of a history whose lineage at a revision is that number, plus of.
func seg(first, last int64, of ...Lineage) Segment {
	s := Segment{ClusterID: cluster, Timeline: timeline, First: first, Last: last, Follows: Lineage(first), Ends: Lineage(last + 1)}
	for _, l := range of {
		s.Follows, s.Ends = s.Follows+l, s.Ends+l
	}
	return s
}

func TestChain(t *testing.T) {
	other, later := seg(41, 50), seg(41, 50)
	other.ClusterID = 7
	later.Timeline++
	all := []Segment{
		seg(31, 40), seg(11, 20), seg(21, 30), seg(21, 20), seg(26, 28),
		seg(15, 25), seg(36, 45, 1000), // of which the second follows on nothing
		seg(51, 60), other, later, {ClusterID: cluster, Timeline: timeline, First: 41, Last: 20, Follows: 1, Ends: 1},
	}
	for name, c := range map[string]struct {
		from, to int64
		want     []Segment
		gap      *GapError
		end      int64
	}{
		"nothing":               {from: 12, to: 12, end: 40},
		"one":                   {from: 10, to: 20, want: []Segment{seg(11, 20)}, end: 40},
		"some":                  {from: 12, to: 35, want: []Segment{seg(11, 20), seg(21, 30), seg(31, 40)}, end: 40},
		"from a segment's end":  {from: 20, to: 22, want: []Segment{seg(15, 25)}, end: 40},
		"with its own revision": {from: 30, to: 33, want: []Segment{seg(21, 30), seg(31, 40)}, end: 40},
		"over a gap":            {from: 31, to: 55, gap: &GapError{From: 41, To: 50}, end: 40},
		"beyond the end":        {from: 51, to: 61, gap: &GapError{From: 61}, end: 60},
		"before the first":      {from: 5, to: 20, gap: &GapError{From: 6, To: 10}, end: 5},
		"after all":             {from: 70, to: 71, gap: &GapError{From: 71}, end: 70},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Chain(all, cluster, timeline, c.from, c.to)
			var gap *GapError
			if errors.As(err, &gap); !cmp.Equal(gap, c.gap) || (err != nil) != (c.gap != nil) {
				t.Errorf("got %v, want %v", err, c.gap)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if end := End(all, cluster, timeline, c.from); c.from < 20 && end != c.end {
				t.Errorf("it ends at %d, want %d", end, c.end)
			}
		})
	}
}

// Two histories of the same revisions, such as those of volumes that were rolled back, are not
// taken for one.
func TestForks(t *testing.T) {
	a, b := seg(51, 60), seg(51, 60)
	b.Ends = 1000
	var fork *ForkError
	if _, err := Chain([]Segment{seg(41, 50), a, b}, cluster, timeline, 45, 58); !errors.As(err, &fork) || fork.Error() == "" {
		t.Errorf("got %v", err)
	}
	further := Segment{ClusterID: cluster, Timeline: timeline, First: 61, Last: 70, Follows: b.Ends, Ends: 1001}
	chain, err := Chain([]Segment{seg(41, 50), a, further}, cluster, timeline, 45, 65)
	var gap *GapError
	if !errors.As(err, &gap) {
		t.Errorf("got %v, %v", chain, err)
	}
	if got := End([]Segment{seg(41, 50), a, further}, cluster, timeline, 45); got != 60 {
		t.Errorf("it ends at %d", got)
	}
}

func TestNewest(t *testing.T) {
	idle, begun := seg(41, 40), seg(21, 30)
	begun.Timeline++
	foreign := seg(91, 95)
	foreign.ClusterID++
	for name, c := range map[string]struct {
		all  []Segment
		want Segment
	}{
		"none":             {all: []Segment{foreign}},
		"the newest":       {all: []Segment{seg(31, 40), seg(21, 30), foreign}, want: seg(31, 40)},
		"without a change": {all: []Segment{idle, seg(31, 40)}, want: idle},
		"a newer timeline": {all: []Segment{idle, begun, seg(31, 40)}, want: begun},
	} {
		if got, ok := Newest(c.all, cluster); got != c.want || ok != (c.want != Segment{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// lineageOf is what Begin tells of a snapshot at a revision.
func lineageOf(all []change, revision int64) Lineage {
	var b Begin
	for _, c := range all {
		if main, _, _ := parseRevision([]byte(c.record)); main == revision {
			b.Add([]byte(c.record), []byte(c.value))
		}
	}
	return b.Lineage()
}

// Whatever part is read, each change comes once, in order, to the snapshot that it belongs to.
func TestChanges(t *testing.T) {
	all := changesOf(1, 300)
	store := map[Segment][]byte{}
	var known []Segment
	r := rand.New(rand.NewSource(1))
	part := func(from, to int64) []change {
		return slices.DeleteFunc(slices.Clone(all), func(c change) bool {
			main, _, _ := parseRevision([]byte(c.record))
			return main <= from || main > to
		})
	}
	for range 2 { // two recorders
		for first := int64(1); first <= 300; {
			last := min(300, first+int64(r.Intn(30)))
			s, content := segmentOf(t, first, part(first-1, last))
			store[s], known, first = content, append(known, s), last+1
		}
	}
	open := func(s Segment) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(store[s])), nil }
	read := func(c *Changes) (got []change, err error) {
		defer c.Close()
		for {
			record, value, err := c.Next()
			if errors.Is(err, io.EOF) {
				return got, nil
			}
			if err != nil {
				return got, err
			}
			got = append(got, change{string(record), string(value)})
		}
	}
	for range 100 {
		from := 1 + r.Int63n(299)
		to := from + r.Int63n(301-from)
		chain, err := Chain(known, cluster, timeline, from, to)
		if err != nil {
			t.Fatal(err)
		}
		own := lineageOf(all, from)
		got, err := read(NewChanges(chain, from, to, own, open))
		if diff := cmp.Diff(part(from, to), got, cmp.AllowUnexported(change{})); diff != "" && from < to || err != nil {
			t.Errorf("%d to %d: %v\n%s", from, to, err, diff)
		}
		changes := NewChanges(chain, from, to, own, open)
		_, err = read(changes)
		if h := changes.Hash(); err != nil || (h != nil) != (from < 9 && 9 <= to) || h != nil && *h != (Hash{Revision: 9, Compacted: 3, Hash: 77}) {
			t.Errorf("%d to %d: %v, hash %+v", from, to, err, h)
		}
		var diverged *DivergedError
		if got, err := read(NewChanges(chain, from, to, own+1, open)); from < to && (!errors.As(err, &diverged) || len(got) > 0) {
			t.Errorf("after a snapshot of another history: %d changes, %v", len(got), err)
		}
		if len(chain) < 2 {
			continue
		}
		var gap *GapError
		if _, err := read(NewChanges(chain[:len(chain)-1], from, to, own, open)); !errors.As(err, &gap) || gap.To != 0 {
			t.Errorf("without the last: %v", err)
		}
		hole := slices.Delete(slices.Clone(chain), 0, 1)
		if _, err := read(NewChanges(hole, from, to, own, open)); hole[0].First > from+1 && (!errors.As(err, &gap) || *gap != GapError{From: from + 1, To: hole[0].First - 1}) {
			t.Errorf("without the first: %v", err)
		}
	}
	broken := func(Segment) (io.ReadCloser, error) { return nil, errors.New("no such object") }
	if _, err := read(NewChanges(known[:1], 1, 5, lineageOf(all, 1), broken)); err == nil || !strings.Contains(err.Error(), "no such object") {
		t.Error(err)
	}
}

// marked is a segment of a timeline's history with marks, in seconds, and no hash.
func marked(t *testing.T, first, last int64, times Times, marks ...Mark) (Segment, []byte) {
	t.Helper()
	var content bytes.Buffer
	w, err := NewWriter(&content, cluster, timeline, positionAt(first-1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changesOf(first, int(last-first+1)) {
		err = errors.Join(err, w.Change([]byte(c.record), []byte(c.value)))
	}
	for _, m := range marks {
		err = errors.Join(err, w.Mark(m))
	}
	if times != nil {
		err = errors.Join(err, w.Times(times))
	}
	s, closed := w.Close()
	if err = errors.Join(err, closed); err != nil {
		t.Fatal(err)
	}
	return s, content.Bytes()
}

// at is a mark that was asked for at a second, and answered in the next.
func at(second, revision int64) Mark {
	return Mark{Revision: revision, Asked: time.Unix(second, 0).UTC(), Answered: time.Unix(second+1, 0).UTC()}
}

// A time is found between two marks, also where segments have none, nothing was written, or
// two recorders wrote the same.
func TestAt(t *testing.T) {
	store := map[Segment][]byte{}
	var known []Segment
	for _, s := range []struct {
		first, last int64
		marks       []Mark
	}{
		{1, 10, []Mark{at(10, 4), at(12, 10), at(14, 10)}},
		{11, 20, nil},
		{21, 30, []Mark{at(20, 30)}},
		{31, 30, []Mark{at(100, 30), at(400, 30)}}, // idle
		{31, 40, []Mark{at(500, 33), at(502, 40)}},
		{31, 35, []Mark{at(500, 33)}},
		{41, 50, nil},
	} {
		segment, content := marked(t, s.first, s.last, nil, s.marks...)
		store[segment], known = content, append(known, segment)
	}
	foreign := seg(1, 10)
	foreign.Timeline++
	known = append(known, foreign)
	for name, c := range map[string]struct {
		second        int64
		before, after *Mark
	}{
		"before all":         {second: 10, after: new(at(10, 4))},
		"at the first":       {second: 11, before: new(at(10, 4)), after: new(at(12, 10))},
		"in a segment":       {second: 14, before: new(at(12, 10)), after: new(at(14, 10))},
		"over one without":   {second: 18, before: new(at(14, 10)), after: new(at(20, 30))},
		"while idle":         {second: 50, before: new(at(20, 30)), after: new(at(100, 30))},
		"in an idle segment": {second: 300, before: new(at(100, 30)), after: new(at(400, 30))},
		"after idleness":     {second: 499, before: new(at(400, 30)), after: new(at(500, 33))},
		"the end":            {second: 503, before: new(at(502, 40))},
		"after all":          {second: 9000, before: new(at(502, 40))},
	} {
		opened := 0
		before, after, err := At(known, cluster, timeline, time.Unix(c.second, 0), func(s Segment) (io.ReadCloser, error) {
			opened++
			return io.NopCloser(bytes.NewReader(store[s])), nil
		})
		if diff := cmp.Diff([]*Mark{c.before, c.after}, []*Mark{before, after}); diff != "" || err != nil || opened > 6 {
			t.Errorf("%s: %v, %d segments read\n%s", name, err, opened, diff)
		}
	}
	if before, after, err := At(known, cluster+1, timeline, time.Unix(10, 0), nil); before != nil || after != nil || err != nil {
		t.Errorf("of no segment: %v, %v, %v", before, after, err)
	}
	if _, _, err := At(known, cluster, timeline, time.Unix(10, 0), func(Segment) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("nothing")), nil
	}); !errors.Is(err, ErrDamaged) {
		t.Errorf("of a damaged one: %v", err)
	}
}

func TestTimelines(t *testing.T) {
	later, foreign := seg(1, 2), seg(1, 2)
	later.Timeline, foreign.ClusterID = timeline+2, 7
	if got := Timelines([]Segment{seg(1, 2), later, foreign, seg(3, 4)}, cluster); !cmp.Equal(got, []uint32{timeline + 2, timeline}) {
		t.Error(got)
	}
}
