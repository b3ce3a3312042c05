package suite

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// TestRestoreToATime: a cluster whose changes are recorded is destroyed, and restored to a chosen
// second, long after its only snapshot. What was acknowledged before the recovery point is there,
// and nothing that was written after that second.
func TestRestoreToATime(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Volumes, harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	m := c.isMirrored()
	b := s.backup("archived", w.Writer, st.at("time.db"), harness.OfEndpoints(c.endpoint()), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}))
	s.must(b.Patch(s.ctx, map[string]any{"spec": map[string]any{"archive": map[string]any{"interval": "2s"}}}))
	b.becomes("recorded", twoMinutes, recordedAfter(time.Now()))

	c.adds("wanted", "wanted/", 200)
	acknowledged, err := w.Acknowledged(s.ctx)
	s.must(err)
	counted := time.Now()
	chosen := counted.Add(5 * time.Second).Truncate(time.Second)
	b.becomes("recorded beyond the chosen second", twoMinutes, recordedAfter(chosen))
	c.adds("unwanted", "unwanted/", 200)
	b.becomes("recorded", twoMinutes, recordedAfter(time.Now()))

	// What the archive does not tell is refused, and nothing is touched.
	members := c.members()
	s.restore("too-early", harness.InPlace(c.Name), harness.FromBackup(b.Name), harness.AsOfTime(chosen.Add(-24*time.Hour))).
		isRefused(twoMinutes, v1beta2.RestoreReasonTimeNotHeld, "begins at")
	c.becomes("the same members", sameMembers(members), oneMinute)

	c.isDestroyed(members...)
	r := s.restore("restore", harness.InPlace(c.Name), harness.FromBackup(b.Name), harness.AsOfTime(chosen))
	status := r.serves(twoMinutes)
	got, at := status.Restored, status.RecoveryTime
	if got == nil || got.RevisionsAppended == 0 || got.Revision != status.TargetRevision || status.TargetRevision <= status.Snapshot.Revision {
		t.Errorf("it restored %+v of %+v, for revision %d", got, status.Snapshot, status.TargetRevision)
	}
	if at == nil || at.Time.After(chosen) || at.Time.Before(counted) {
		t.Errorf("the recovery point is %v, and %s was chosen", at, chosen)
	}
	r.completes(twoMinutes)
	c.settles(3, twoMinutes)
	m.tells("wanted/", 200)
	m.tells("unwanted/", 0)
	m.hasWrites(acknowledged)
}

// tells: the cluster has so many keys with a prefix.
func (m *mirrored) tells(prefix string, want int) {
	m.c.s.t.Helper()
	if n := len(m.under(prefix)); n != want {
		m.c.s.t.Errorf("%s holds %d keys that begin with %s, want %d", m.c.Name, n, prefix, want)
	}
}

// hasWrites: all of these writes of the client are there.
func (m *mirrored) hasWrites(acknowledged []writer.Span) {
	m.c.s.t.Helper()
	there := map[int]bool{}
	for _, key := range m.under(writer.DefaultPrefix) {
		seq, err := strconv.Atoi(strings.TrimPrefix(key, writer.DefaultPrefix))
		m.c.s.must(err)
		there[seq] = true
	}
	lost := 0
	for _, span := range acknowledged {
		for seq := span.First; seq <= span.Last; seq++ {
			if !there[seq] {
				lost++
			}
		}
	}
	if lost > 0 || len(there) == 0 {
		m.c.s.t.Errorf("%d writes are lost that were acknowledged before the recovery point; %d are there", lost, len(there))
	}
	m.c.s.tell("%d writes are there, of them all %d that were counted", len(there), writer.Count(acknowledged))
}

// under are the keys of the cluster with a prefix.
func (m *mirrored) under(prefix string) (keys []string) {
	m.c.s.t.Helper()
	m.c.s.within(oneMinute, func(ctx context.Context) error {
		now, err := m.Cluster(ctx)
		for key := range now.Keys {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		return err
	})
	return keys
}
