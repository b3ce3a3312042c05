package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/wording"
)

// verifying is what is said while the Job runs.
func (v *view) verifying() string {
	return fmt.Sprintf("the Job %s fetches and checks the snapshot; nothing of the cluster is touched before that has succeeded", JobName(v.Restore))
}

// startJob makes the Job that verifies.
func startJob(v *view) *step {
	if v.last.Snapshot != nil || v.Job != nil {
		return nil
	}
	return do(v1beta2.RestoreVerifying, StartJob{Name: JobName(v.Restore), Source: v.source}, "Verifying", v.verifying())
}

// awaitJob waits for what the Job finds. A failure is final: of those that are worth
// another try, the Job itself makes one.
func awaitJob(v *view) *step {
	if v.last.Snapshot != nil {
		return nil
	}
	const phase = v1beta2.RestoreVerifying
	j := v.Job
	r := j.Result
	switch {
	case r != nil && r.Failure != nil && (r.Failure.Permanent || j.Failed):
		return v.fail(r.Failure.Reason, r.Failure.Message)
	case r != nil && r.Failure == nil && r.Snapshot != nil:
		return nil
	case r != nil && r.Failure == nil:
		return v.fail("ResultInvalid", fmt.Sprintf("the Job %s says that the snapshot is good, and nothing of it: its Pod's log may say why", j.Name))
	case j.Deleting:
		return wait(phase, "Verifying", fmt.Sprintf("the Job %s was deleted before it told what it found: it is started again", j.Name))
	case j.Failed:
		message := j.FailMessage
		if message == "" {
			message = fmt.Sprintf("the Job %s failed without a report: its Pod's events and log may say why", j.Name)
		}
		return v.fail(wording.Reason(j.FailReason, "JobFailed"), message)
	case j.Done:
		return do(phase, DeleteJob{Name: j.Name, UID: j.UID}, "ResultLost", fmt.Sprintf("the Job %s is complete, but its Pod was gone before its report was read: it is started again", j.Name))
	case r != nil:
		s := warn(phase, wording.Reason(r.Failure.Reason, "VerificationFailed"), fmt.Sprintf("the Job %s tries again: %s", j.Name, wording.Clip(r.Failure.Message)))
		s.progress = true
		return s
	case j.Waiting != "":
		return warn(phase, "PodNotStarting", fmt.Sprintf("the Pod of Job %s does not start: %s", j.Name, wording.Clip(j.Waiting)))
	}
	s := wait(phase, "Verifying", v.verifying())
	s.progress = true
	return s
}

// recordSnapshot settles which snapshot is restored, if it is the one that was asked
// for: from then on only this very one is.
func recordSnapshot(v *view) *step {
	if v.last.Snapshot != nil {
		return nil
	}
	s := snapshotOf(v.Job.Result.Snapshot)
	if r := v.checkIdentity(s); r != nil {
		return v.fail(r.reason, r.message)
	}
	return record(v1beta2.RestoreVerifying, "SnapshotVerified", describe(s), func(st *v1beta2.RestoreStatus) { st.Snapshot = s }).news()
}

// snapshotOf is what is written of a snapshot.
func snapshotOf(s *task.Snapshot) *v1beta2.RestoreSnapshot {
	return &v1beta2.RestoreSnapshot{
		Location:     wording.Clip(s.Location),
		Size:         s.Size,
		ReadableSize: v1beta2.ReadableSize(s.Size),
		DatabaseSize: s.DatabaseSize,
		SHA256:       wording.Clip(s.SHA256),
		ETag:         wording.Clip(s.ETag),
		Revision:     s.Revision,
		TotalKeys:    s.TotalKeys,
		EtcdVersion:  wording.Clip(s.EtcdVersion),
		ClusterID:    wording.Clip(s.ClusterID),
		Compression:  v1beta2.Compression(wording.Clip(s.Compression)),
	}
}

// checkIdentity holds a snapshot against what is known of the one that was asked for, and
// notes what only the EtcdBackup knows of it.
func (v *view) checkIdentity(s *v1beta2.RestoreSnapshot) *refusal {
	if v.spec.BackupRef != nil {
		if r := v.checkTold(s, toldOf(v.Backup, s.Location)); r != nil {
			return r
		}
	}
	if want := v.spec.ClusterID; want != "" && s.ClusterID != want {
		return &refusal{task.ReasonWrongCluster, fmt.Sprintf("%s is of the cluster %q, and spec.clusterID asks for %s: correct the place, or leave out spec.clusterID", s.Location, s.ClusterID, want)}
	}
	return nil
}

// checkTold holds a snapshot against what an EtcdBackup tells of it; nil if that is
// nothing, since it is older than what the EtcdBackup remembers.
func (v *view) checkTold(s *v1beta2.RestoreSnapshot, told *stored) *refusal {
	switch {
	case told == nil:
		return nil
	case told.sha256 != "" && told.sha256 != s.SHA256, told.size > 0 && told.size != s.Size:
		return &refusal{task.ReasonChanged, fmt.Sprintf(
			"%s is not what EtcdBackup %s has stored there: that had %d bytes and sha256 %s, and this has %d and %s; restore another backup, or write backupStorageType and the place if it is wanted all the same",
			s.Location, v.spec.BackupRef.Name, told.size, wording.Clip(told.sha256), s.Size, s.SHA256)}
	case told.clusterID != "" && s.ClusterID != "" && told.clusterID != s.ClusterID:
		return &refusal{task.ReasonWrongCluster, fmt.Sprintf("%s is of the cluster %s, and EtcdBackup %s has stored one of %s there", s.Location, s.ClusterID, v.spec.BackupRef.Name, wording.Clip(told.clusterID))}
	}
	s.ClusterID = cmp.Or(s.ClusterID, wording.Clip(told.clusterID))
	return nil
}

// checkSnapshot fails a restore that the cluster could not serve, as long as no seed is
// made.
func checkSnapshot(v *view) *step {
	if v.last.SeedMember != "" {
		return nil
	}
	for _, check := range []func() *refusal{v.checkVersion, v.checkVolume, v.checkRevision} {
		if r := check(); r != nil {
			return v.fail(r.reason, r.message)
		}
	}
	return nil
}

// volumeSlack is what etcd needs on a volume beside its database, in bytes: 160 MiB, for
// two segments of its log of 64 MB each, which are made at once, and for what is written
// at first. The agent looks for as much before it fetches anything.
const volumeSlack = int64(160 << 20)

// checkVolume refuses a seed that would fill its volume.
func (v *view) checkVolume() *refusal {
	spec := v.clusterSpec()
	if !spec.Persistent() {
		return nil
	}
	storage, ok := spec.Pod.PersistentVolumeClaimSpec.Resources.Requests["storage"]
	if !ok {
		return nil
	}
	need := sum(v.staged(), v.last.Snapshot.DatabaseSize, volumeSlack)
	if storage.Value() >= need {
		return nil
	}
	return &refusal{"VolumeTooSmall", fmt.Sprintf(
		"members of the EtcdCluster %s have volumes of %s (persistentVolumeClaimSpec), and the seed needs %s, for the snapshot, its database of %s and etcd's log: restore to a new cluster with larger ones, by clusterTemplate",
		v.name, v1beta2.ReadableSize(storage.Value()), v1beta2.ReadableSize(need), v1beta2.ReadableSize(v.last.Snapshot.DatabaseSize))}
}

// staged is what lies on the seed's volume beside the database while it is restored:
// what was fetched, or unpacked. A file on another volume is read where it lies.
func (v *view) staged() int64 {
	s := v.last.Snapshot
	switch {
	case s.Compression != "":
		return s.DatabaseSize
	case v.source.PVC != nil:
		return 0
	}
	return s.Size
}

// sum adds sizes, and is the largest of all rather than too large.
func sum(sizes ...int64) int64 {
	total := int64(0)
	for _, n := range sizes {
		n = max(n, 0)
		if total > maxRevision-min(n, maxRevision) {
			return maxRevision
		}
		total += n
	}
	return total
}
