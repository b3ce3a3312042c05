package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// TestArchive: all changes are recorded beside the snapshots, without a gap, while a member is lost
// and the archiver itself, and no longer than they are asked for.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, twoMinutes)
	w := c.writes()

	const path = "etcd.backup"
	b := s.backup("archived", w.Writer, st.at(path), harness.OfEndpoints(c.endpoint()), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}))
	s.must(b.Patch(s.ctx, map[string]any{"spec": map[string]any{"archive": map[string]any{"interval": "2s"}}}))
	b.becomes("recorded", twoMinutes, recordedAfter(time.Now()))
	begun := b.Status().Archive.Timeline
	c.losesPods(c.members()[0])
	b.becomes("recorded after a member was lost", twoMinutes, recordedAfter(time.Now()))
	for _, p := range archivers(b.State()) {
		s.must(env.Client.Delete(s.ctx, &p))
	}
	b.becomes("recorded after the archiver was lost", twoMinutes, recordedAfter(time.Now()))
	if a := b.Status().Archive; a.Gaps > 0 || a.Timeline != begun || a.OldestRevision == 0 {
		t.Errorf("the archive began anew: %+v", a)
	}
	if n := b.segments(st, path); n == 0 {
		t.Errorf("there are no segments below %s_archive/: %v", path, sortedKeys(st.objects()))
	}

	b.suspend(true)
	b.becomes("not recorded any more", oneMinute, func(s harness.BackupState) string {
		if n := len(archivers(s)); n > 0 {
			return fmt.Sprintf("%d archivers run", n)
		}
		return ""
	})
}

// archivers are the Pods that record.
func archivers(s harness.BackupState) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(p corev1.Pod) bool { return p.Labels[agentpod.LabelComponent] != "archive" })
}

// recordedAfter: whatever was acknowledged until then is in the store.
func recordedAfter(then time.Time) harness.BackupCheck {
	return func(s harness.BackupState) string {
		a := s.Backup.Status.Archive
		if a == nil || a.RecoveryTime == nil || !a.RecoveryTime.After(then) {
			return fmt.Sprintf("the archive is %+v", a)
		}
		return ""
	}
}

// segments counts those that are stored.
func (b *backup) segments(st *store, path string) int {
	n := 0
	for name := range st.objects() {
		if strings.HasPrefix(name, path+"_archive/") {
			n++
		}
	}
	return n
}
