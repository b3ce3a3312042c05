package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// verifying is what is said while the Job runs.
func (v *view) verifying() string {
	switch {
	case v.startsEtcd():
		return fmt.Sprintf("Job %s fetches and checks the snapshot, and starts etcd on it; no cluster is touched", JobName(v.Restore))
	case v.spec.VerifyOnly:
		return fmt.Sprintf("Job %s fetches and checks the snapshot; no cluster is touched", JobName(v.Restore))
	}
	return fmt.Sprintf("Job %s fetches and checks the snapshot; the cluster is not touched until that succeeds", JobName(v.Restore))
}

// startJob makes the Job that verifies.
func startJob(v *view) *step {
	if v.last.Snapshot != nil || v.Job != nil {
		return nil
	}
	start := StartJob{Name: JobName(v.Restore), Source: v.source, Credentials: v.credentials()}
	if v.startsEtcd() {
		if start.EtcdVersion = v.etcdToStart(); start.EtcdVersion == "" {
			return v.fail(v1beta2.RestoreReasonEtcdVersionUnknown, "nothing tells which etcd to start on the snapshot: set startEtcd.version in another EtcdRestore to the version of the backed-up cluster, such as 3.6.16")
		}
	}
	if KeepsOffMembers(v.Restore) {
		start.AvoidNodes = v.MemberNodes
	}
	return do(v1beta2.RestoreVerifying, start, v1beta2.RestoreReasonVerifying, v.verifying())
}

// Hangs reports whether a Job makes no progress that Kubernetes would ever end, such as on a
// lost node: its Pods are to be read from the API server itself before it is given up.
func Hangs(j *Job, now time.Time) bool { return !j.Deadline.IsZero() && !now.Before(j.Deadline) }

// awaitJob waits for what the Job finds. A failure is final: of those that are worth
// another try, the Job itself makes one.
func awaitJob(v *view) *step {
	if v.last.Snapshot != nil {
		return nil
	}
	const phase = v1beta2.RestoreVerifying
	j := v.Job
	r := j.Result
	v.wakeAt(j.Deadline)
	switch {
	case r != nil && r.Failure != nil && (r.Failure.Permanent || j.Failed):
		return v.fail(r.Failure.Reason, r.Failure.Message)
	case r != nil && r.Failure == nil && r.Snapshot != nil:
		return nil
	case r != nil && r.Failure == nil:
		return v.fail(v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("Job %s succeeded without reporting what it found: see the log of its Pod", j.Name))
	case Hangs(j, v.Now):
		return v.fail(j.HangReason, fmt.Sprintf("%s; then create another EtcdRestore", conditiontext.Clip(j.HangMessage)))
	case j.Deleting:
		return wait(phase, v1beta2.RestoreReasonVerifying, fmt.Sprintf("waiting to recreate Job %s, which was deleted before it reported", j.Name))
	case j.Failed:
		message := j.FailMessage
		if message == "" {
			message = fmt.Sprintf("Job %s failed without a report: see the events and the log of its Pod", j.Name)
		}
		return v.fail(conditiontext.Reason(j.FailReason, v1beta2.RestoreReasonJobFailed), message)
	case j.Done:
		return do(phase, DeleteJob{Name: j.Name, UID: j.UID}, v1beta2.RestoreReasonResultLost, fmt.Sprintf("deleted Job %s to create it again: its Pod was deleted before its report was read", j.Name))
	case r != nil:
		s := warn(phase, conditiontext.Reason(r.Failure.Reason, v1beta2.RestoreReasonVerificationFailed), fmt.Sprintf("Job %s retries: %s", j.Name, conditiontext.Clip(r.Failure.Message)))
		s.progress = true
		return s
	case j.Waiting != "":
		return warn(phase, v1beta2.RestoreReasonPodNotStarting, fmt.Sprintf("Pod of Job %s does not start: %s%s", j.Name, conditiontext.Clip(j.Waiting), v.keepsOff()))
	}
	s := wait(phase, v1beta2.RestoreReasonVerifying, v.verifying())
	s.progress = true
	return s
}

// makeWay deletes a seed that could not run beside the members, since they are now to be
// stopped first: what it takes of a node or a quota is for the Job, and for the seed after it.
func makeWay(v *view) *step {
	p := v.seed
	if p == nil || !v.fenced || !v.serves() {
		return nil
	}
	return v.dropPod(v1beta2.RestoreVerifying, p, "the old members are stopped first (spec.stopMembers)")
}

// recordSnapshot settles which snapshot is restored, if it is the one that was asked
// for: from then on only this very one is.
func recordSnapshot(v *view) *step {
	if v.last.Snapshot != nil {
		return nil
	}
	s, c, served := snapshotOf(v.Job.Result.Snapshot), v.Job.Result.Cut, servedOf(v.Job.Result.Served)
	if r := v.checkServed(s, served); r != nil {
		return v.fail(r.reason, r.message)
	}
	target, at := v.targetIn(c)
	if v.spec.Time != nil && target == 0 {
		return v.fail(v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("Job %s did not report the revision at spec.time: run agent and operator in the same version", v.Job.Name))
	}
	if c != nil && v.isAsAsked(restoredOf(s, c), target) {
		s.KeysAtRevision, s.DatabaseSizeAtRevision = &c.TotalKeys, max(c.DatabaseSize, 0)
	}
	if r := v.checkIdentity(s); r != nil {
		return v.fail(r.reason, r.message)
	}
	return record(v1beta2.RestoreVerifying, v1beta2.RestoreReasonSnapshotVerified, v.describe(s, nil, target), func(st *v1beta2.RestoreStatus) {
		st.Snapshot, st.Served = s, served
		v.recordTarget(st, target, at)
	}).news()
}

// snapshotOf is what is written of a snapshot.
func snapshotOf(s *task.Snapshot) *v1beta2.RestoreSnapshot {
	return &v1beta2.RestoreSnapshot{
		Location:     conditiontext.Clip(s.Location),
		Size:         s.Size,
		ReadableSize: v1beta2.ReadableSize(s.Size),
		DatabaseSize: s.DatabaseSize,
		SHA256:       conditiontext.Clip(s.SHA256),
		ETag:         conditiontext.Clip(s.ETag),
		Revision:     s.Revision,

		OldestRevision: max(s.OldestRevision, 0),
		TotalKeys:      s.TotalKeys,
		Hash:           v1beta2.HashComparison(conditiontext.Clip(s.Hash)),
		EtcdVersion:    conditiontext.Clip(s.EtcdVersion),
		ClusterID:      conditiontext.Clip(s.ClusterID),
		Compression:    v1beta2.Compression(conditiontext.Clip(s.Compression)),

		ClearedAlarms: conditiontext.Clip(s.Alarms),
		AuthEnabled:   s.AuthEnabled,
	}
}

// restoredOf is what is written of a part of a snapshot; nil if nobody has cut it.
func restoredOf(s *v1beta2.RestoreSnapshot, c *task.Cut) *v1beta2.RestoredState {
	if c == nil {
		return nil
	}
	return &v1beta2.RestoredState{
		Revision:         c.Revision,
		TotalKeys:        max(c.TotalKeys, 0),
		RevisionsLeftOut: max(s.Revision-c.Revision, 0),
		KeysLeftOut:      c.LeftOut,
		KeysWithoutLease: max(c.WithoutLease, 0),

		RevisionsAppended: max(c.Appended, 0),
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
		return &refusal{task.ReasonWrongCluster, fmt.Sprintf("snapshot %s is of cluster %s, and not of cluster %s (spec.clusterID): correct its location, or remove spec.clusterID", s.Location, conditiontext.Quote(s.ClusterID), want)}
	}
	return nil
}

// checkTold holds a snapshot against what an EtcdBackup tells of it; nil if that is
// nothing, since it is older than what the EtcdBackup remembers.
func (v *view) checkTold(s *v1beta2.RestoreSnapshot, told *stored) *refusal {
	switch {
	case told == nil:
		return nil
	case told.sha256 != "" && told.sha256 != s.SHA256:
		return v.notStored(s, fmt.Sprintf("its sha256 is %s instead of %s", s.SHA256, conditiontext.Clip(told.sha256)))
	case told.size > 0 && told.size != s.Size:
		return v.notStored(s, fmt.Sprintf("it has %d bytes instead of %d", s.Size, told.size))
	case told.clusterID != "" && s.ClusterID != "" && told.clusterID != s.ClusterID:
		return &refusal{task.ReasonWrongCluster, fmt.Sprintf("snapshot %s is of cluster %s, but EtcdBackup %s stored one of cluster %s there: restore another backup", s.Location, s.ClusterID, v.spec.BackupRef.Name, conditiontext.Clip(told.clusterID))}
	}
	s.ClusterID = cmp.Or(s.ClusterID, conditiontext.Clip(told.clusterID))
	return nil
}

func (v *view) notStored(s *v1beta2.RestoreSnapshot, difference string) *refusal {
	return &refusal{task.ReasonChanged, fmt.Sprintf(
		"snapshot %s is not the one that EtcdBackup %s stored: %s; restore another backup, or set backupStorageType and the location to restore this one anyway",
		s.Location, v.spec.BackupRef.Name, difference)}
}

// checkSnapshot fails a restore that the cluster could not serve, as long as no seed is
// made, or old members serve: a seed may have been made before these were to be stopped first.
func checkSnapshot(v *view) *step {
	if v.last.SeedMember != "" && !v.serves() {
		return nil
	}
	for _, check := range []func() *refusal{v.checkVersion, v.checkVolume, v.checkQuota, v.checkEmpty, v.checkRevision} {
		if r := check(); r != nil {
			return v.fail(r.reason, r.message)
		}
	}
	return nil
}

// volumeSlack is what etcd needs on a volume beside its database, in bytes: the agent looks
// for as much before it fetches anything. The snapshot is fetched to where its database
// stays, so only prefixes need room for a second one.
const volumeSlack = int64(rebuild.Slack)

// checkVolume refuses volumes that the database would fill.
func (v *view) checkVolume() *refusal {
	spec := v.clusterSpec()
	if !spec.Persistent() {
		return nil
	}
	storage, ok := spec.Pod.PersistentVolumeClaimSpec.Resources.Requests["storage"]
	if !ok {
		return nil
	}
	need, of := sum(v.databaseSize(), volumeSlack), ""
	if len(v.spec.Prefixes) > 0 {
		need, of = sum(need, v.databaseSize(), rebuild.ExtractSlack), ", as much for the keys under spec.prefixes,"
	}
	if storage.Value() >= need {
		return nil
	}
	return &refusal{v1beta2.RestoreReasonVolumeTooSmall, fmt.Sprintf(
		"volume too small: members of EtcdCluster %s have volumes of %s, and the seed needs %s for its database of %s%s and etcd's log; raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage to at least %s, and create another EtcdRestore",
		v.name, v1beta2.ReadableSize(storage.Value()), v1beta2.ReadableSize(need), v1beta2.ReadableSize(v.databaseSize()), of, quantity(need))}
}

// quantity is a size of at least n bytes as a spec has it.
func quantity(n int64) string {
	const mebibyte = 1 << 20
	if n > maxRevision {
		n = maxRevision
	}
	return fmt.Sprintf("%dMi", (n+mebibyte-1)/mebibyte)
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
