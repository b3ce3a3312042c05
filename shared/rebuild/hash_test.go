package rebuild

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// TestCompareHash compares what real etcds tell of random histories with their snapshots,
// before and after a compaction that the snapshot does not have, and with snapshots of a
// cluster that was restored.
func TestCompareHash(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		for i := range *historiesFlag {
			seed := *firstFlag + int64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				h := makeHistory(t, version, rand.New(rand.NewSource(seed)))
				f := copyOf(t, h.snapshot)
				equal := h.compareAll(t, f, h.compacted)
				before := h.compacted
				if err := h.compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				equal += h.compareAll(t, f, before)
				equal += h.restored(t).compareRestored(t)
				if equal < 5 {
					t.Errorf("only %d hashes were equal", equal)
				}
			})
		}
	})
}

// compareAll compares at several revisions that the cluster still has, and returns how many
// hashes were equal.
func (h *history) compareAll(t *testing.T, f *os.File, compacted int64) (equal int) {
	t.Helper()
	oldest := max(h.compacted, firstRevision)
	for i := range int64(*revisionsFlag) {
		revision := []int64{oldest, h.newest}[i%2]
		if i > 1 {
			revision = oldest + h.Int63n(h.newest-oldest+1)
		}
		state := stateAt(t, h.c, revision)
		told := snapshot.Hash{Value: state.hash, Revision: revision, CompactedRevision: max(state.compacted, 0)}
		want := HashEqual
		if told.CompactedRevision > 0 && len(state.keys) == 0 || max(told.CompactedRevision, firstRevision) < compacted {
			want = HashNotComparable
		}
		if got, err := CompareHash(t.Context(), f, compacted, h.newest, told); got != want || err != nil {
			t.Errorf("%+v of revisions %d to %d: got %d, %v, want %d", told, oldest, h.newest, got, err, want)
		}
		if want != HashEqual {
			continue
		}
		equal++
		if revision <= max(told.CompactedRevision, firstRevision) {
			continue // it might have no record that counts
		}
		if got, err := CompareHash(t.Context(), changedBefore(t, f, told), compacted, h.newest, told); got != HashDiffers || err != nil {
			t.Errorf("a changed record, %+v: got %d, %v", told, got, err)
		}
	}
	return equal
}

// changedBefore is a copy of a database in which the last record that counts has another content.
func changedBefore(t *testing.T, f *os.File, told snapshot.Hash) *os.File {
	t.Helper()
	content, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	changed := copyOf(t, content)
	db, err := bbolt.Open(changed.Name(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(bucketKey)).Cursor()
		k, v := c.Last()
		if beyond, _ := c.Seek(revisionOf(told.Revision + 1)); beyond != nil {
			k, v = c.Prev()
		}
		v = bytes.Clone(v)
		v[2] ^= 1 // a letter of the key
		return tx.Bucket([]byte(bucketKey)).Put(bytes.Clone(k), v)
	})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// restored is a cluster with the snapshot's data, at a higher revision, to which more is written.
func (h *history) restored(t *testing.T) *history {
	t.Helper()
	m := etcdtest.NewMember(t, h.version, "seed")
	next := &history{Rand: h.Rand, version: h.version, newest: h.newest + 1000, compacted: h.newest + 1000}
	if _, err := Restore(t.Context(), quiet, copyOf(t, h.snapshot), m.Dir, Seed{Name: m.Name, PeerURL: m.PeerURL, Token: "token", Revision: next.newest}); err != nil {
		t.Fatal(err)
	}
	next.c, _ = running(t, m)
	for range 30 {
		if err := next.step(t.Context(), m.Client); err != nil {
			t.Fatal(err)
		}
	}
	next.takeSnapshot(t)
	return next
}

func (h *history) compareRestored(t *testing.T) int {
	t.Helper()
	return h.compareAll(t, copyOf(t, h.snapshot), h.compacted)
}
