package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// isAsAsked reports whether what is restored of a snapshot is what the spec asks for; nil: all
// of it is, or nobody has told.
func (v *view) isAsAsked(r *v1beta2.RestoredState) bool {
	some := len(v.spec.Prefixes) > 0
	if r == nil {
		return v.spec.Revision == 0 && !some
	}
	return (r.KeysLeftOut != nil) == some && (r.Revision == v.spec.Revision || v.spec.Revision == 0 && some)
}

// asAsked says what is restored, in the words of the spec.
func (v *view) asAsked() string {
	text := ""
	if len(v.spec.Prefixes) > 0 {
		text = " under spec.prefixes"
	}
	if v.spec.Revision > 0 {
		text += fmt.Sprintf(" as of revision %d", v.spec.Revision)
	}
	return text
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
		return v.missing(object, task.ReasonWrongCluster, fmt.Sprintf("EtcdBackup %s has no snapshot of cluster %s in its status.history: correct spec.clusterID or backupRef.name", b.Name, v.spec.ClusterID))
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
