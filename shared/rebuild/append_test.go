package rebuild

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// pairs are what a test appends.
type pairs [][2]string

// next returns one after the other, and then an error.
func (p *pairs) next(last error) func() ([]byte, []byte, error) {
	return func() ([]byte, []byte, error) {
		if len(*p) == 0 {
			return nil, nil, last
		}
		c := (*p)[0]
		*p = (*p)[1:]
		return []byte(c[0]), []byte(c[1]), nil
	}
}

// after are the records of a database after a revision.
func after(all map[string]string, revision int64) (later pairs) {
	for record, value := range all {
		if record > string(revisionOf(revision+1)) || record == string(revisionOf(revision+1)) {
			later = append(later, [2]string{record, value})
		}
	}
	slices.SortFunc(later, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return later
}

// What was cut away is appended again, and the database holds what it held.
func TestAppend(t *testing.T) {
	for name, c := range map[string]content{
		"a few keys":               {events: some(2), meta: of36},
		"small pages":              {pageSize: 512, events: some(2000), valueSize: 20, meta: of36},
		"values larger than pages": {events: some(300), valueSize: 40_000, meta: of36},
		"more than a transaction":  {events: some(3000), valueSize: 9000, meta: of36},
		"compacted":                {pageSize: 512, events: some(500), meta: merged(of36, keyFinishedCompact, string(revisionKey(300, false)))},
	} {
		t.Run(name, func(t *testing.T) {
			original := append(read(t, build(t, c.leases(7))), make([]byte, 32)...) // a digest
			whole := copyOf(t, original)
			info, err := Inspect(t.Context(), whole)
			if err != nil {
				t.Fatal(err)
			}
			want, oldest := bucketsOf(t, whole.Name()), max(info.CompactedRevision, firstRevision)
			for _, revision := range []int64{oldest, (oldest + info.Revision) / 2, info.Revision} {
				f, later := copyOf(t, original), after(want[bucketKey], revision)
				if _, err := CutAt(t.Context(), f, revision, DropLeasedKeys); err != nil {
					t.Fatal(err)
				}
				if _, err := Append(t.Context(), f, info.Revision, later.next(io.EOF)); err != nil {
					t.Fatalf("from %d: %v", revision, err)
				}
				if done, err := SettleLeasedKeys(t.Context(), f, info.Revision, DropLeasedKeys); err != nil || done != (Cut{}) {
					t.Fatalf("from %d: %+v, %v", revision, done, err)
				}
				if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
					t.Errorf("from %d: (-want +got)\n%s", revision, diff)
				}
				got, err := Inspect(t.Context(), f)
				if err != nil || got.Revision != info.Revision || got.TotalKeys != info.TotalKeys || got.CompactedRevision != info.CompactedRevision {
					t.Errorf("from %d: %+v, %v, of %+v", revision, got, err, info)
				}
				checkBolt(t, f.Name(), rand.New(rand.NewSource(1)))
			}
		})
	}
}

// Keys of a lease that the snapshot does not have are left out, or lose it.
func TestAppendedLeases(t *testing.T) {
	original := read(t, build(t, content{pageSize: 512, events: some(1000), meta: of36}.leases(8))) // all keys have lease 7
	all := bucketsOf(t, copyOf(t, original).Name())
	info, err := Inspect(t.Context(), copyOf(t, original))
	if err != nil {
		t.Fatal(err)
	}
	for _, leased := range []LeasedKeys{DropLeasedKeys, KeepLeasedKeys, LeasedKeysAsRecorded} {
		want := bucketsOf(t, copyOf(t, original).Name())
		lost := naiveCut(t, want, info.Revision, leased)
		f, later := copyOf(t, original), after(all[bucketKey], 1)
		if _, err := CutAt(t.Context(), f, 1, leased); err != nil {
			t.Fatal(err)
		}
		if _, err := Append(t.Context(), f, info.Revision, later.next(io.EOF)); err != nil {
			t.Fatal(err)
		}
		if done, err := SettleLeasedKeys(t.Context(), f, info.Revision, leased); err != nil || done.LeasedKeysWithoutLease != lost {
			t.Errorf("%d: %+v, %v, want %d", leased, done, err, lost)
		}
		if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
			t.Errorf("%d: (-want +got)\n%s", leased, diff)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	original := read(t, build(t, content{pageSize: 512, events: some(100), meta: of36}))
	all := after(bucketsOf(t, copyOf(t, original).Name())[bucketKey], 1)
	last := int64(len(all)) + 1
	unreachable, canceled := errors.New("the store does not answer"), errors.New("canceled")
	for name, c := range map[string]struct {
		changes  pairs
		revision int64
		end      error
		want     string
	}{
		"a gap at the begin":  {changes: all[51:], revision: last, want: "revision 53 cannot come after 51"},
		"a gap":               {changes: slices.Concat(all[50:60], all[61:]), revision: last, want: "revision 63 cannot come after 61"},
		"the last again":      {changes: all[49:], revision: last, want: "revision 51 cannot come after 51"},
		"one twice":           {changes: slices.Concat(all[50:60], all[59:]), revision: last, want: "revision 61 cannot come after 61"},
		"an end before":       {changes: all[50:60], revision: last, want: "the changes end at revision 61, and not at"},
		"an earlier revision": {revision: 50, want: "has revision 51 already"},
		"no record":           {changes: pairs{{"nothing", ""}}, revision: 52, want: "is not a revision"},
		"another value":       {changes: pairs{{all[50][0], all[51][1]}}, revision: 52, want: "not what etcd writes"},
		"no key":              {changes: pairs{{string(revisionOf(52)), ""}}, revision: 52, want: "cannot come after"},
		"no store":            {changes: all[50:60], revision: last, end: unreachable, want: unreachable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			f := copyOf(t, original)
			if _, err := CutAt(t.Context(), f, 51, LeasedKeysAsRecorded); err != nil {
				t.Fatal(err)
			}
			end := c.end
			if end == nil {
				end = io.EOF
			}
			changes := slices.Clone(c.changes)
			if _, err := Append(t.Context(), f, c.revision, changes.next(end)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	t.Run("a context that ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		f, changes := copyOf(t, original), slices.Clone(all)
		next := changes.next(io.EOF)
		if _, err := CutAt(ctx, f, 1, LeasedKeysAsRecorded); err != nil {
			t.Fatal(err)
		}
		_, err := Append(ctx, f, last, func() ([]byte, []byte, error) {
			cancel(canceled)
			return next()
		})
		if !errors.Is(err, canceled) {
			t.Error(err)
		}
	})
	t.Run("a damaged snapshot", func(t *testing.T) {
		f := copyOf(t, original[:len(original)/2])
		_, err := Append(t.Context(), f, last, (&pairs{}).next(io.EOF))
		var known *runner.Error
		if !errors.As(err, &known) || known.Reason != agent.ReasonCorruptSnapshot {
			t.Error(err)
		}
	})
}
