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

const timeline = 3

// positionAt is behind a revision of a history of changesOf.
func positionAt(revision int64) Position {
	tr := tracker{position: Position{At: 7}}
	for _, c := range changesOf(1, int(revision)) {
		main, _, _ := parseRevision([]byte(c.record))
		tr.change(main, []byte(c.record), []byte(c.value))
	}
	return tr.seal()
}

// segmentOf is a segment of these changes.
func segmentOf(t testing.TB, first int64, all []change) (Segment, []byte) {
	t.Helper()
	var content bytes.Buffer
	w, err := NewWriter(&content, cluster, timeline, positionAt(first-1))
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

// What a later release adds is passed over, if it says that this can be done.
func TestRecordsOfLaterReleases(t *testing.T) {
	for k, known := range map[kind]bool{'x': true, 'X': false} {
		var content bytes.Buffer
		w, err := NewWriter(&content, cluster, timeline, positionAt(4))
		if err != nil {
			t.Fatal(err)
		}
		want := changesOf(5, 10)
		for i, c := range want {
			if i == 5 {
				if err := w.record(k, []byte("what nobody knows yet")); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Change([]byte(c.record), []byte(c.value)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := readAll(content.Bytes(), s)
		if known && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%c: %v", k, err)
		}
		if !known && !errors.Is(err, ErrDamaged) {
			t.Errorf("%c is taken for known: %v", k, err)
		}
	}
}

// What is not the segment of that name is refused.
func TestForeignSegments(t *testing.T) {
	s, content := segmentOf(t, 5, changesOf(5, 10))
	for name, change := range map[string]func(*Segment){
		"another cluster's":  func(s *Segment) { s.ClusterID = 1 },
		"another timeline's": func(s *Segment) { s.Timeline++ },
		"another first":      func(s *Segment) { s.First-- },
		"a later last":       func(s *Segment) { s.Last++ },
		"another history's":  func(s *Segment) { s.Follows++ },
	} {
		want := s
		change(&want)
		var foreign *ForeignError
		if _, _, err := readAll(content, want); !errors.As(err, &foreign) || foreign.Want != want || foreign.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	earlier, other := s, s
	earlier.Last--
	other.Ends++
	for name, want := range map[string]Segment{"an earlier last": earlier, "another end": other} {
		if _, _, err := readAll(content, want); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "etcd.backup", strings.Replace(s.Name(), "_", "-", 1), s.Name() + ".tmp", "0000000000c0ffee_00000001_0000000000000000009_0000000000000000007_0000000000000001_0000000000000001.seg", "0000000000c0ffee_00000001_0000000000000000000_0000000000000000007_0000000000000001_0000000000000001.seg", "0000000000c0ffee_00000001_0000000000000000008_0000000000000000007_0000000000000001_0000000000000002.seg", "0000000000c0ffee_00000001_0000000000000000008_0000000000000000009_0000000000000000_0000000000000002.seg"} {
		if got, ok := ParseName(name); ok {
			t.Errorf("%s is %+v", name, got)
		}
	}
}

// A change that is missing is noticed when it is written.
func TestWriterRefusesGaps(t *testing.T) {
	for name, next := range map[string][2]int64{"a revision is missing": {7, 0}, "a change is missing": {6, 1}, "one is missing of two": {5, 2}, "again": {5, 0}, "an earlier one": {4, 0}} {
		w, err := NewWriter(io.Discard, cluster, timeline, positionAt(4))
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
	for _, from := range []Position{{Revision: -1, At: 1}, {Revision: 4}} {
		if _, err := NewWriter(io.Discard, cluster, timeline, from); err == nil {
			t.Errorf("a segment begins behind %+v", from)
		}
	}
	w, err := NewWriter(io.Discard, cluster, timeline, positionAt(4))
	if err != nil {
		t.Fatal(err)
	}
	if w.Change(revisionKey(4, 1, false), nil) == nil {
		t.Error("a segment begins with an earlier revision")
	}
}

func FuzzReader(f *testing.F) {
	s, content := segmentOf(f, 1, changesOf(1, 20))
	f.Add(content)
	f.Fuzz(func(_ *testing.T, content []byte) { _, _, _ = readAll(content, s) })
}
