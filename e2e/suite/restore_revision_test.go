package suite

import (
	"context"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestRestoreToARevision: somebody deletes the wrong keys, and others go on writing. From a
// backup that is made afterwards the cluster is restored to the revision before: every key is
// as it was, and nothing that came later is there.
func TestRestoreToARevision(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Volumes, harness.Size(3))
	c.settles(3, oneMinute)
	w := c.holdsKeys(1000)
	m := c.isMirrored()
	c.adds("more", "more/", 300)
	m.catchesUp()
	want := m.content()
	wrong := w.deletesByMistake("more/")
	c.adds("late", "late/", 200)
	b := s.backup("backup", w.Writer, st.at("revision.db.zst"), harness.Packed, harness.OfCluster(c.Name))
	stored := b.isStored(oneMinute)
	if stored.OldestRevision < 1 || stored.OldestRevision >= wrong || stored.Revision <= wrong {
		t.Fatalf("the backup holds revisions %d to %d, and the keys were deleted at %d", stored.OldestRevision, stored.Revision, wrong)
	}
	if h := stored.Hash; h == nil || h.Revision != stored.Revision {
		t.Errorf("the backup has the hash %+v, want one of revision %d", h, stored.Revision)
	}

	// What no snapshot holds is refused, and nothing is touched.
	members := c.members()
	s.restore("too-new", harness.InPlace(c.Name), harness.FromBackup(b.Name), harness.AsOf(stored.Revision+1_000_000)).
		isRefused(twoMinutes, v1beta2.RestoreReasonRevisionNotHeld, "back the cluster up again")
	c.becomes("the same members", sameMembers(members), oneMinute)

	r := s.restore("restore", harness.InPlace(c.Name), harness.FromBackup(b.Name), harness.AsOf(wrong-1))
	status := r.serves(oneMinute)
	m.holds(want)
	if got := status.Restored; got == nil || got.Revision != wrong-1 || got.TotalKeys != int64(len(want.Keys)) || got.RevisionsLeftOut != status.Snapshot.Revision-(wrong-1) {
		t.Errorf("it restored %+v of %+v, want %d keys of revision %d", got, status.Snapshot, len(want.Keys), wrong-1)
	}
	if status.Snapshot.Hash != v1beta2.HashEqual {
		t.Errorf("the hash is %q", status.Snapshot.Hash)
	}
	if least := status.Snapshot.Revision + theLeastBump; status.Revision < least {
		t.Errorf("it begins at revision %d, want %d at least", status.Revision, least)
	}
	r.completes(twoMinutes)
	c.settles(3, twoMinutes)
	m.noticedRestores(1, 1)
	m.holds(want)
}

// deletesByMistake deletes all keys with a prefix, and tells the revision of that.
func (w *etcdClient) deletesByMistake(prefix string) (revision int64) {
	w.c.s.t.Helper()
	w.c.s.within(oneMinute, func(ctx context.Context) (err error) {
		revision, err = w.DeleteKeys(ctx, prefix)
		return err
	})
	w.c.s.tell("all keys that begin with %s were deleted at revision %d", prefix, revision)
	return revision
}
