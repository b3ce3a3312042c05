package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const cluster = 0xc0ffee

// change is a record with its value.
type change struct{ record, value string }

// changesOf are n revisions from a first one on, of which some change several keys.
func changesOf(first int64, n int) (all []change) {
	for main := first; main < first+int64(n); main++ {
		for sub := range 1 + main%3 {
			kind := mvccpb.Event_PUT
			if main%4 == 0 {
				kind = mvccpb.Event_DELETE
			}
			kv := &mvccpb.KeyValue{Key: []byte(fmt.Sprint("key-", main, sub)), Value: bytes.Repeat([]byte("v"), int(main%50)), CreateRevision: main, ModRevision: main, Version: 1}
			record, value := recordOf(&clientv3.Event{Type: kind, Kv: kv}, sub)
			all = append(all, change{string(record), string(value)})
		}
	}
	return all
}

var aMark = Mark{Revision: 9, Asked: time.Unix(5, 6).UTC(), Answered: time.Unix(7, 8).UTC()}

// segmentOf is a segment of these changes.
func segmentOf(t testing.TB, first int64, all []change) (Segment, []byte) {
	t.Helper()
	var content bytes.Buffer
	w, err := NewWriter(&content, cluster, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if err := w.Change([]byte(c.record), []byte(c.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Mark(aMark), w.Hash(Hash{Revision: 9, Compacted: 3, Hash: 77})); err != nil {
		t.Fatal(err)
	}
	s, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return s, content.Bytes()
}

// readAll reads a segment to its end.
func readAll(content []byte, want Segment) (all []change, r *Reader, err error) {
	r, err = NewReader(bytes.NewReader(content), want)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		record, value, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r, nil
		}
		if err != nil {
			return all, r, err
		}
		all = append(all, change{string(record), string(value)})
	}
}

func TestSegment(t *testing.T) {
	for name, want := range map[string][]change{"changes": changesOf(5, 100), "none": nil} {
		t.Run(name, func(t *testing.T) {
			s, content := segmentOf(t, 5, want)
			if known, ok := ParseName(s.Name()); !ok || known != s || s.First != 5 || s.Last != 4+int64(len(slices.CompactFunc(slices.Clone(want), sameRevision))) {
				t.Errorf("%+v is called %s", s, s.Name())
			}
			got, r, err := readAll(content, s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
				t.Error(diff)
			}
			if len(r.Marks()) != 1 || r.Marks()[0] != aMark || len(r.Hashes()) != 1 || r.Hashes()[0] != (Hash{Revision: 9, Compacted: 3, Hash: 77}) {
				t.Errorf("got %v, %v", r.Marks(), r.Hashes())
			}
		})
	}
}

func sameRevision(a, b change) bool { return a.record[:8] == b.record[:8] }

// A segment that was cut or changed anywhere is refused, or holds just what it held.
func TestDamagedSegments(t *testing.T) {
	want := changesOf(1, 60)
	s, content := segmentOf(t, 1, want)
	for end := range content {
		if _, _, err := readAll(content[:end], s); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut after %d of %d bytes: %v", end, len(content), err)
		}
	}
	if _, _, err := readAll(append(slices.Clone(content), content...), s); !errors.Is(err, ErrDamaged) {
		t.Errorf("with more behind its end: %v", err)
	}
	r := rand.New(rand.NewSource(1))
	for i := range content {
		other := slices.Clone(content)
		other[i] ^= byte(1 + r.Intn(255))
		got, _, err := readAll(other, s)
		if err == nil && !slices.Equal(got, want) {
			t.Fatalf("byte %d was changed, and nothing is said", i)
		}
		var foreign *ForeignError
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.As(err, &foreign) {
			t.Fatalf("byte %d was changed: %v", i, err)
		}
	}
}

// What is not the segment of that name is refused.
func TestForeignSegments(t *testing.T) {
	s, content := segmentOf(t, 5, changesOf(5, 10))
	for name, want := range map[string]Segment{
		"another cluster's": {ClusterID: 1, First: 5, Last: 14},
		"another first":     {ClusterID: cluster, First: 4, Last: 14},
		"a later last":      {ClusterID: cluster, First: 5, Last: 15},
	} {
		var foreign *ForeignError
		if _, _, err := readAll(content, want); !errors.As(err, &foreign) || foreign.Want != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := readAll(content, Segment{ClusterID: cluster, First: 5, Last: 13}); !errors.Is(err, ErrDamaged) {
		t.Errorf("an earlier last: %v", err)
	}
	for _, name := range []string{"", "etcd.backup", strings.Replace(s.Name(), "_", "-", 1), s.Name() + ".tmp", "0000000000c0ffee_0000000000000000009_0000000000000000007.seg", "0000000000c0ffee_0000000000000000000_0000000000000000007.seg"} {
		if got, ok := ParseName(name); ok {
			t.Errorf("%s is %+v", name, got)
		}
	}
}

// A change that is missing is noticed when it is written.
func TestWriterRefusesGaps(t *testing.T) {
	for name, next := range map[string][2]int64{"a revision is missing": {7, 0}, "a change is missing": {6, 1}, "one is missing of two": {5, 2}, "again": {5, 0}, "an earlier one": {4, 0}} {
		w, err := NewWriter(io.Discard, cluster, 5)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Change(revisionKey(5, 0, false), nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Change(revisionKey(next[0], next[1], false), nil); err == nil {
			t.Errorf("%s: %v was taken", name, next)
		}
	}
	if _, err := NewWriter(io.Discard, cluster, 0); err == nil {
		t.Error("a segment begins at revision 0")
	}
	w, err := NewWriter(io.Discard, cluster, 5)
	if err != nil {
		t.Fatal(err)
	}
	if w.Change(revisionKey(4, 1, false), nil) == nil {
		t.Error("a segment begins with an earlier revision")
	}
}

func TestChain(t *testing.T) {
	seg := func(first, last int64) Segment { return Segment{ClusterID: cluster, First: first, Last: last} }
	all := []Segment{
		seg(31, 40), seg(11, 20), seg(21, 30), seg(15, 25), seg(21, 20), seg(26, 28), // overlapping
		seg(51, 60),
		{ClusterID: 7, First: 41, Last: 50}, {ClusterID: cluster, First: 41, Last: 20},
	}
	for name, c := range map[string]struct {
		from, to int64
		want     []Segment
		gap      *GapError
		end      int64
	}{
		"nothing":             {from: 12, to: 12, end: 40},
		"one":                 {from: 10, to: 20, want: []Segment{seg(11, 20)}, end: 40},
		"some":                {from: 12, to: 35, want: []Segment{seg(11, 20), seg(21, 30), seg(31, 40)}, end: 40},
		"from the middle":     {from: 24, to: 26, want: []Segment{seg(21, 30)}, end: 40},
		"from an overlap":     {from: 14, to: 24, want: []Segment{seg(15, 25)}, end: 40},
		"over a gap":          {from: 30, to: 55, gap: &GapError{From: 41, To: 50}, end: 40},
		"beyond the end":      {from: 50, to: 61, gap: &GapError{From: 61}, end: 60},
		"before the first":    {from: 5, to: 20, gap: &GapError{From: 6, To: 10}, end: 5},
		"after all":           {from: 70, to: 71, gap: &GapError{From: 71}, end: 70},
		"up to the gap alone": {from: 30, to: 40, want: []Segment{seg(31, 40)}, end: 40},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Chain(all, cluster, c.from, c.to)
			var gap *GapError
			if errors.As(err, &gap); !cmp.Equal(gap, c.gap) || (err != nil) != (c.gap != nil) {
				t.Errorf("got %v, want %v", err, c.gap)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if end := End(all, cluster, c.from); end != c.end {
				t.Errorf("it ends at %d, want %d", end, c.end)
			}
		})
	}
}

// Whatever part of overlapping segments is read, each change comes once, in order.
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
	for at := int64(0); at < 300; at += int64(r.Intn(30)) {
		first, last := max(1, at-int64(r.Intn(20))), min(300, at+30)
		s, content := segmentOf(t, first, part(first-1, last))
		store[s], known = content, append(known, s)
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
		from := r.Int63n(300)
		to := from + r.Int63n(301-from)
		chain, err := Chain(known, cluster, from, to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(NewChanges(chain, from, to, open))
		if diff := cmp.Diff(part(from, to), got, cmp.AllowUnexported(change{})); diff != "" && from < to || err != nil {
			t.Errorf("%d to %d: %v\n%s", from, to, err, diff)
		}
		if len(chain) < 2 {
			continue
		}
		var gap *GapError
		if _, err := read(NewChanges(chain[:len(chain)-1], from, to, open)); !errors.As(err, &gap) || gap.To != 0 {
			t.Errorf("without the last: %v", err)
		}
		hole := slices.Delete(slices.Clone(chain), 0, 1)
		if _, err := read(NewChanges(hole, from, to, open)); hole[0].First > from+1 && (!errors.As(err, &gap) || *gap != GapError{From: from + 1, To: hole[0].First - 1}) {
			t.Errorf("without the first: %v", err)
		}
	}
	broken := func(Segment) (io.ReadCloser, error) { return nil, errors.New("no such object") }
	if _, err := read(NewChanges(known[:1], 0, 5, broken)); err == nil || !strings.Contains(err.Error(), "no such object") {
		t.Error(err)
	}
}

func FuzzReader(f *testing.F) {
	s, content := segmentOf(f, 1, changesOf(1, 20))
	f.Add(content)
	f.Fuzz(func(_ *testing.T, content []byte) { _, _, _ = readAll(content, s) })
}
