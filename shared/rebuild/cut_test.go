package rebuild

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// copyOf is a file with that content, opened for writing.
func copyOf(t testing.TB, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// readOnly opens a file that it makes read-only, as one on a volume that is.
func readOnly(t testing.TB, path string) *os.File {
	t.Helper()
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

// naiveCut says what is to be left of all that a database holds.
func naiveCut(t testing.TB, all map[string]map[string]string, revision int64, leased LeasedKeys) (lost int64) {
	t.Helper()
	records := all[bucketKey]
	maps.DeleteFunc(records, func(record, _ string) bool { return int64(binary.BigEndian.Uint64([]byte(record))) > revision })
	newest := map[string]string{}
	values := map[string]*mvccpb.KeyValue{}
	for _, record := range slices.Sorted(maps.Keys(records)) {
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal([]byte(records[record]), kv); err != nil {
			t.Fatal(err)
		}
		newest[string(kv.Key)], values[record] = record, kv
	}
	for key, record := range newest {
		kv := values[record]
		id := binary.BigEndian.AppendUint64(nil, uint64(kv.Lease))
		if _, exists := all[bucketLease][string(id)]; exists || kv.Lease == 0 || len(record) == tombstoneSize {
			continue
		}
		lost++
		if leased == LeasedKeysAsRecorded {
			continue
		}
		kv.Lease = 0
		delete(records, record)
		if leased == DropLeasedKeys {
			kv, record = &mvccpb.KeyValue{Key: []byte(key)}, record+"t"
		}
		value, err := proto.Marshal(kv)
		if err != nil {
			t.Fatal(err)
		}
		records[record] = string(value)
	}
	return lost
}

// checkBolt has bbolt look for faults, and has it remove all records as a compaction of etcd
// does, which changes every page.
func checkBolt(t testing.TB, path string, r *rand.Rand) {
	t.Helper()
	db, err := openBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.NoSync = true
	var records [][]byte
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Error("bbolt finds: ", err)
		}
		return tx.Bucket([]byte(bucketKey)).ForEach(func(k, _ []byte) error {
			records = append(records, bytes.Clone(k))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Intn(2) == 0 {
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	} else if r.Intn(2) == 0 {
		slices.Reverse(records)
	}
	for some := range slices.Chunk(records, 1+r.Intn(500)) {
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, record := range some {
				if err := tx.Bucket([]byte(bucketKey)).Delete(record); err != nil {
					return err
				}
			}
			return tx.Bucket([]byte(bucketKey)).Put(revisionKey(1<<40+r.Int63n(1<<40), false), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// leases is a content with these leases.
func (c content) leases(ids ...uint64) content {
	c.leased = map[string]string{}
	for _, id := range ids {
		c.leased[string(binary.BigEndian.AppendUint64(nil, id))] = "\x08\x07"
	}
	return c
}

func TestCutAt(t *testing.T) {
	for name, c := range map[string]content{
		"a few keys, in a page of another": {pageSize: 4096, events: some(2), meta: of36},
		"many small pages":                 {pageSize: 512, events: some(4000), valueSize: 20, meta: of36},
		"pages of bbolt":                   {pageSize: 4096, events: some(3000), valueSize: 100, meta: of36},
		"values larger than a page":        {pageSize: 4096, events: some(40), valueSize: 40_000, meta: of36},
		"values larger than a small page":  {pageSize: 512, events: some(400), valueSize: 700, meta: of36},
		"large pages":                      {pageSize: 64 << 10, events: some(2000), valueSize: 100, meta: of36},
		"a list of free pages":             {pageSize: 512, events: some(1000), valueSize: 20, meta: of36, freelist: true},
		"compacted":                        {pageSize: 512, events: some(500), meta: merged(of36, keyFinishedCompact, string(revisionKey(300, false)))},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			for _, lease := range []uint64{7, 8} { // all keys have lease 7
				path := build(t, c.leases(lease, 9))
				original := append(read(t, path), make([]byte, 32)...) // a digest
				info, err := Inspect(t.Context(), openFile(t, path))
				if err != nil {
					t.Fatal(err)
				}
				oldest := max(info.CompactedRevision, firstRevision)
				revisions := []int64{oldest, oldest + 1, info.Revision - 1, info.Revision}
				for range 15 {
					revisions = append(revisions, oldest+r.Int63n(info.Revision-oldest+1))
				}
				for _, revision := range revisions {
					leased := LeasedKeys(r.Intn(3))
					what := fmt.Sprintf("revision %d of %d to %d, lease %d, leased keys %d", revision, oldest, info.Revision, lease, leased)
					f := copyOf(t, original)
					want := bucketsOf(t, f.Name())
					var lost int64
					if revision < info.Revision {
						lost = naiveCut(t, want, revision, leased)
					}
					planned, _, err := PlanCut(t.Context(), readOnly(t, f.Name()), revision, nil)
					if err != nil || !bytes.Equal(original, read(t, f.Name())) {
						t.Fatalf("%s: planned %d, %v, or the file was changed", what, planned, err)
					}
					done, err := CutAt(t.Context(), f, revision, leased)
					if err != nil || done.LeasedKeysWithoutLease != lost {
						t.Fatalf("%s: got %+v, %v, want %d", what, done, err, lost)
					}
					if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
						t.Fatalf("%s: (-want +got)\n%s", what, diff)
					}
					after, err := Inspect(t.Context(), f)
					if err != nil || after.Revision != revision || after.CompactedRevision != info.CompactedRevision {
						t.Fatalf("%s: got %+v, %v", what, after, err)
					}
					if leased == DropLeasedKeys {
						planned -= lost
					}
					if planned != after.TotalKeys {
						t.Fatalf("%s: planned %d keys of %d", what, planned, after.TotalKeys)
					}
					checkBolt(t, f.Name(), r)
					if t.Failed() {
						t.Fatal(what)
					}
				}
			}
		})
	}
}

// cutAny cuts a database that was taken, whatever its content, at a random revision.
func cutAny(t *testing.T, content []byte, info Info, r *rand.Rand) {
	t.Helper()
	f := copyOf(t, content)
	defer f.Close()
	oldest := max(info.CompactedRevision, firstRevision)
	revision := oldest + r.Int63n(info.Revision-oldest+1)
	want, lost := bucketsOf(t, f.Name()), int64(0)
	if revision < info.Revision {
		lost = naiveCut(t, want, revision, DropLeasedKeys)
	}
	done, err := CutAt(t.Context(), f, revision, DropLeasedKeys)
	var known *runner.Error
	if errors.As(err, &known) && known.Reason == agent.ReasonCorruptSnapshot {
		if !bytes.Equal(content, read(t, f.Name())) {
			t.Errorf("revision %d of %d to %d: the file was changed, and then: %v", revision, oldest, info.Revision, err)
		}
		return
	}
	if err != nil || done.LeasedKeysWithoutLease != lost {
		t.Fatalf("revision %d of %d to %d: got %+v, %v, want %d", revision, oldest, info.Revision, done, err, lost)
	}
	if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
		t.Fatalf("revision %d of %d to %d: (-want +got)\n%s", revision, oldest, info.Revision, diff)
	}
	if _, err := Inspect(t.Context(), f); err != nil {
		t.Fatalf("revision %d of %d to %d: %v", revision, oldest, info.Revision, err)
	}
}

// A cut again, and one that is restored.
func TestCutTwiceAndRestore(t *testing.T) {
	c := content{events: some(2000), meta: of36}.leases(7)
	file, dataDir := fetched(t, t.TempDir(), c)
	for _, revision := range []int64{1500, 1000, 999} {
		if _, err := CutAt(t.Context(), file, revision, DropLeasedKeys); err != nil {
			t.Fatal(err)
		}
	}
	want := bucketsOf(t, file.Name())[bucketKey]
	if _, err := Restore(t.Context(), quiet, file, dataDir, theSeed(5000)); err != nil {
		t.Fatal(err)
	}
	got := bucketsOf(t, databaseIn(dataDir))[bucketKey]
	delete(got, string(revisionKey(5000, false)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCutAtRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		revision int64
		meta     map[string]string
		oldest   int64
	}{
		"below a compaction":                         {49, merged(of36, keyFinishedCompact, string(revisionKey(50, false))), 50},
		"below a compaction that was not finished":   {49, merged(merged(of36, keyFinishedCompact, string(revisionKey(20, false))), keyScheduledCompact, string(revisionKey(50, false))), 50},
		"beyond the newest":                          {5000, of36, 1},
		"revision 0":                                 {0, of36, 1},
		"no revision":                                {-1, of36, 1},
		"one that a restore has made an end of with": {5, merged(of36, keyScheduledCompact, string(revisionKey(50, false))), 50},
	} {
		t.Run(name, func(t *testing.T) {
			f := copyOf(t, read(t, build(t, content{events: some(2000), meta: tc.meta})))
			before := read(t, f.Name())
			_, cutting := CutAt(t.Context(), f, tc.revision, DropLeasedKeys)
			_, _, planning := PlanCut(t.Context(), f, tc.revision, nil)
			for _, err := range []error{cutting, planning} {
				var known *runner.Error
				var got *RevisionError
				want := RevisionError{Revision: tc.revision, Compacted: tc.oldest, Newest: 2000 + 667 + 286 + 1}
				if !errors.As(err, &got) || !errors.As(err, &known) || !known.Permanent || *got != want {
					t.Errorf("got %v, want %v", err, &want)
				}
			}
			if !bytes.Equal(before, read(t, f.Name())) {
				t.Error("the file was changed")
			}
		})
	}
}

// ending is a context that ends after it was asked for its end a number of times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// Until the cut is written, the file stays as it was; and what is asked then is answered
// at once.
func TestCutAtEndsWithItsContext(t *testing.T) {
	original := read(t, build(t, content{pageSize: 512, events: some(300), meta: of36}))
	for left := 0; ; left++ {
		f := copyOf(t, original)
		_, err := CutAt(&ending{Context: t.Context(), left: left}, f, 200, DropLeasedKeys)
		if err == nil {
			if left < 50 {
				t.Errorf("it has asked %d times", left)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if changed := !bytes.Equal(original, read(t, f.Name())); changed && !strings.Contains(err.Error(), "leases that are gone") {
			t.Fatalf("the file was changed, and it ended with %v", err)
		}
	}
}

// What remembers few keys at a time finds the same ones.
func TestLeasedKeysInPasses(t *testing.T) {
	path := build(t, content{pageSize: 512, events: some(3000), meta: of36}.leases(1))
	for _, limit := range []int{1, 10, 1000, maxFound} {
		f := copyOf(t, read(t, path))
		search := newLeaseSearch(2000)
		search.limit = limit
		end, err := planCut(t.Context(), f, 2000, search)
		if err != nil {
			t.Fatal(err)
		}
		want := bucketsOf(t, f.Name())
		lost := naiveCut(t, want, 2000, DropLeasedKeys)
		done, err := end.cut(t.Context(), f, search, DropLeasedKeys)
		if err != nil || done.LeasedKeysWithoutLease != lost {
			t.Errorf("%d at a time: got %+v, %v, want %d", limit, done, err, lost)
		}
		if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
			t.Errorf("%d at a time: %s", limit, diff)
		}
	}
}
