package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// isPointInTime reports whether the spec asks for the state at a revision or a time.
func (v *view) isPointInTime() bool { return v.spec.Revision > 0 || v.spec.Time != nil }

// target is the revision that the spec asks for; 0 if it asks for none, or for a time whose
// revision is not known yet.
func (v *view) target() int64 { return v.targetOf(v.last) }

func (v *view) targetOf(st *v1beta2.RestoreStatus) int64 {
	return cmp.Or(v.spec.Revision, st.TargetRevision)
}

// targetIn is the target as an agent tells it that may have found it, and the recovery point; nil
// where nobody has.
func (v *view) targetIn(c *task.Cut) (target int64, at *metav1.Time) {
	if known := v.target(); known != 0 || v.spec.Time == nil || c == nil || c.Time.IsZero() {
		return known, nil
	}
	return c.Revision, &metav1.Time{Time: c.Time.UTC().Truncate(time.Second)}
}

// recordTarget settles which revision spec.time stands for.
func (v *view) recordTarget(st *v1beta2.RestoreStatus, target int64, at *metav1.Time) {
	if at != nil {
		st.TargetRevision, st.RecoveryTime = target, at
	}
}

// isAsAsked reports whether what is restored of a snapshot is what the spec asks for, by the
// revision that it asks for; nil: all of it is, or nobody has told.
func (v *view) isAsAsked(r *v1beta2.RestoredState, target int64) bool {
	some := len(v.spec.Prefixes) > 0
	if r == nil {
		return !v.isPointInTime() && !some
	}
	return (r.KeysLeftOut != nil) == some && (r.Revision == target || !v.isPointInTime() && some)
}

// asAsked says what is restored, in the words of the spec.
func (v *view) asAsked(target int64) string {
	text := ""
	if len(v.spec.Prefixes) > 0 {
		text = " under spec.prefixes"
	}
	if v.isPointInTime() {
		text += v.asOf(target)
	}
	return text
}

// asOf says which revision is restored; 0: that of spec.time, which is not known yet.
func (v *view) asOf(revision int64) string {
	switch {
	case v.spec.Time == nil:
		return fmt.Sprintf(" as of revision %d", revision)
	case revision == 0:
		return " as of " + v.spec.Time.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf(" as of %s (revision %d)", v.spec.Time.UTC().Format(time.RFC3339), revision)
}

// hasStored reports whether an EtcdBackup tells of a snapshot.
func hasStored(b *v1beta2.EtcdBackup) bool {
	return len(goodRecords(b, "")) > 0
}

// goodRecords are the snapshots that a restore may choose by itself, of a cluster; empty: of
// any.
func goodRecords(b *v1beta2.EtcdBackup, clusterID string) []v1beta2.BackupRecord {
	return slices.DeleteFunc(slices.Clone(b.Status.History), func(r v1beta2.BackupRecord) bool {
		other := clusterID != "" && r.ClusterID != "" && r.ClusterID != clusterID
		return other || !r.Succeeded || r.Location == "" || r.Unhealthy != "" || r.Quorum != nil && !*r.Quorum
	})
}

// baseFor is the newest snapshot before a revision, to which the archive is appended; nil if there
// is none, or no archive. How far the archive leads, the agent finds out.
func baseFor(b *v1beta2.EtcdBackup, good []v1beta2.BackupRecord, revision int64) *stored {
	before := slices.DeleteFunc(slices.Clone(good), func(r v1beta2.BackupRecord) bool { return r.Revision >= revision })
	if len(before) == 0 || !hasArchive(b) {
		return nil
	}
	return &stored{location: slices.MaxFunc(before, func(a, b v1beta2.BackupRecord) int { return cmp.Compare(a.Revision, b.Revision) }).Location}
}

func hasArchive(b *v1beta2.EtcdBackup) bool { return b.Spec.Archive != nil || b.Status.Archive != nil }

// pickTime is the newest of the snapshots of an EtcdBackup that was complete by a time, to which
// the archive is appended. If there is none, the oldest may hold what was there then.
func (v *view) pickTime(b *v1beta2.EtcdBackup, at time.Time) (*stored, *step) {
	good, object := goodRecords(b, v.spec.ClusterID), "EtcdBackup "+b.Name
	if len(good) == 0 {
		return nil, v.noneOfCluster(b)
	}
	slices.SortStableFunc(good, func(a, b v1beta2.BackupRecord) int { return completed(a).Compare(completed(b)) })
	i, _ := slices.BinarySearchFunc(good, at, func(r v1beta2.BackupRecord, at time.Time) int {
		if completed(r).After(at) {
			return 1
		}
		return -1
	})
	nearest := good[max(i-1, 0)]
	if !hasArchive(b) {
		return nil, v.missing(object, task.ReasonTimeNotHeld, fmt.Sprintf(
			"EtcdBackup %s has no archive, which alone tells times: set spec.revision instead of spec.time, or restore a whole snapshot by backupRef.entry, such as %s of %s with revision %d",
			b.Name, cmp.Or(nearest.Name, path.Base(nearest.Location)), completed(nearest).UTC().Format(time.RFC3339), nearest.Revision))
	}
	return &stored{location: nearest.Location}, nil
}

// completed is when a backup was complete.
func completed(r v1beta2.BackupRecord) time.Time {
	if r.CompletionTime == nil {
		return time.Time{}
	}
	return r.CompletionTime.Time
}

// pickRevision is the newest of the snapshots of an EtcdBackup that holds a revision: its
// status still lists snapshots that retention has deleted, the oldest ones. One of an earlier
// release does not tell how far it goes back. Where no other is known to hold the revision, the
// oldest of these is taken, which is the likeliest: the agent finds out.
func (v *view) pickRevision(b *v1beta2.EtcdBackup, revision int64) (*stored, *step) {
	good := goodRecords(b, v.spec.ClusterID)
	var holding, perhaps []v1beta2.BackupRecord
	for _, r := range good {
		switch {
		case r.Revision < revision:
		case r.OldestRevision == 0:
			perhaps = append(perhaps, r)
		case r.OldestRevision <= revision:
			holding = append(holding, r)
		}
	}
	ids := clusterIDs(append(slices.Clone(holding), perhaps...))
	switch {
	case len(holding)+len(perhaps) == 0:
		if base := baseFor(b, good, revision); base != nil {
			return base, nil
		}
		return nil, v.holdsNone(b, good, revision)
	case len(ids) > 1:
		return nil, v.fail(task.ReasonClusterAmbiguous, fmt.Sprintf(
			"snapshots of several clusters hold revision %d: set spec.clusterID to one of %s", revision, conditiontext.Clip(strings.Join(ids, ", "))))
	}
	byRevision := func(a, b v1beta2.BackupRecord) int { return cmp.Compare(a.Revision, b.Revision) }
	if len(holding) > 0 {
		return &stored{location: slices.MaxFunc(holding, byRevision).Location}, nil
	}
	return &stored{location: slices.MinFunc(perhaps, byRevision).Location}, nil
}

// clusterIDs are those that are told, each once.
func clusterIDs(records []v1beta2.BackupRecord) []string {
	var ids []string
	for _, r := range records {
		if r.ClusterID != "" {
			ids = append(ids, r.ClusterID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// holdsNone refuses a revision that no snapshot is known to hold. The status of the EtcdBackup
// might lag.
func (v *view) holdsNone(b *v1beta2.EtcdBackup, good []v1beta2.BackupRecord, revision int64) *step {
	object := "EtcdBackup " + b.Name
	if len(good) == 0 {
		return v.noneOfCluster(b)
	}
	newest := slices.MaxFunc(good, func(a, b v1beta2.BackupRecord) int { return cmp.Compare(a.Revision, b.Revision) }).Revision
	advice := "set spec.revision to one that a snapshot holds, or name the location of an older snapshot instead of backupRef"
	if scheme, _, ok := strings.Cut(good[0].Location, "://"); ok && scheme+"://" != schemePVC {
		advice = fmt.Sprintf("set spec.revision to one that a snapshot holds, or set %s.prefix instead of backupRef to search all that are stored", scheme)
	}
	if revision > newest {
		if len(b.Status.Active) > 0 {
			return warn(v1beta2.RestorePending, v1beta2.RestoreReasonBackupNotReady, fmt.Sprintf("waiting for EtcdBackup %s to store a snapshot that holds revision %d", b.Name, revision), object)
		}
		advice = "back the cluster up again before etcd compacts that revision, and restore that backup"
	}
	return v.missing(object, task.ReasonRevisionNotHeld, fmt.Sprintf("no snapshot in status.history of EtcdBackup %s holds revision %d (%s): %s", b.Name, revision, conditiontext.Clip(coverage(good)), advice))
}

func (v *view) noneOfCluster(b *v1beta2.EtcdBackup) *step {
	return v.missing("EtcdBackup "+b.Name, task.ReasonWrongCluster, fmt.Sprintf("EtcdBackup %s has no snapshot of cluster %s in its status.history: correct spec.clusterID or backupRef.name", b.Name, v.spec.ClusterID))
}

// coverage says which revisions snapshots hold.
func coverage(records []v1beta2.BackupRecord) string {
	var all []string
	for _, r := range records {
		what := fmt.Sprintf("ends at %d", r.Revision)
		if r.OldestRevision > 0 {
			what = fmt.Sprintf("holds %d to %d", r.OldestRevision, r.Revision)
		}
		all = append(all, cmp.Or(r.Name, path.Base(r.Location))+" "+what)
	}
	return strings.Join(all, ", ")
}
