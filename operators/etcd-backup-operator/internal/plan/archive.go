package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// archivePollLeast and archivePollMost bound how often an archiver that records is asked for its
	// progress: once in an interval of the archive.
	archivePollLeast, archivePollMost = 2 * time.Second, 15 * time.Second
	// snapshotPause is how long after a backup was due another one is due for the archive: one
	// that fails is not repeated without end.
	snapshotPause = 10 * time.Minute
)

// Archiver is what Plan needs of the Job that records an archive, and of its Pod.
type Archiver struct {
	Name string
	UID  string
	// Hash is that of the StartArchiver that it was built from; see [StartArchiver.Hash].
	Hash string
	// InDoubt is true of a Job of that name that no controller owns: see [Doubtful]. Nothing else is set then.
	InDoubt bool
	// Ended is true once the Job is complete or has failed. Deleting is true once it has a
	// deletion timestamp.
	Ended, Deleting bool
	// Waiting says why its Pod does not run; empty if it does.
	Waiting string
	// Progress is what its agent tells; nil if it told nothing.
	Progress *task.ArchiveProgress
}

// StartArchiver makes the Job that records the archive, under the same conditions as StartJob.
type StartArchiver struct {
	Name string
	// Hash is of all that the Job is built from, but the name.
	Hash string
	StartJob
}

// Kind implements Action.
func (StartArchiver) Kind() string { return "StartArchiver" }

// archives tells whether changes are to be recorded.
func (v *view) archives() bool {
	return v.spec.ArchiveInterval() > 0 && v.refusal == nil && !v.spec.Suspend
}

// archiver starts, replaces and stops the Job of the archive.
func archiver(v *view) *step {
	a := v.Archiver
	if a != nil && (a.Deleting || a.InDoubt) {
		return nil
	}
	if !v.archives() {
		if a == nil {
			return nil
		}
		// Also where the store is not allowed any more: it would write there for ever.
		return do(DeleteJob{Name: a.Name, UID: a.UID}, v1beta2.BackupReasonArchiverStopped, fmt.Sprintf("stopped archiver %s: changes are no longer recorded; what is stored stays", a.Name))
	}
	if v.source.wait != nil {
		return nil
	}
	start := v.startArchiver()
	switch {
	case a == nil && v.Refused != "":
		return nil
	case a == nil:
		return do(start, v1beta2.BackupReasonArchiverStarted, fmt.Sprintf("started archiver %s: changes are recorded within %s", start.Name, v.spec.ArchiveInterval()))
	case a.Ended:
		return do(DeleteJob{Name: a.Name, UID: a.UID}, v1beta2.BackupReasonArchiverReplaced, fmt.Sprintf("replacing archiver %s, whose Job has ended", a.Name))
	case a.Hash != start.Hash:
		return do(DeleteJob{Name: a.Name, UID: a.UID}, v1beta2.BackupReasonArchiverReplaced, fmt.Sprintf("replacing archiver %s, since its settings or the members have changed", a.Name))
	}
	return nil
}

func (v *view) startArchiver() StartArchiver {
	forbidden, pinned := restrictedIDs(&v.Observation)
	s := StartArchiver{Name: ArchiverName(v.Backup), StartJob: StartJob{
		Endpoints: v.archiveEndpoints(), TLSSecret: v.source.secret, AuthSecret: v.source.auth,
		Cluster: v.source.cluster, OwnAuth: v.source.ownAuth, Forbidden: forbidden, Pinned: pinned,
	}}
	s.Hash = digest(struct {
		StartJob
		Image string
		Spec  *v1beta2.BackupSpec
	}{s.StartJob, v.Image, archiveSpec(v.spec)})
	return s
}

// archiveSpec is the part of a spec that an archiver is built from.
func archiveSpec(s *v1beta2.BackupSpec) *v1beta2.BackupSpec {
	return &v1beta2.BackupSpec{
		StorageType: s.StorageType, S3: s.S3, OSS: s.OSS, ABS: s.ABS, GCS: s.GCS, PVC: s.PVC, CopyTo: s.CopyTo, RecordHash: s.RecordHash, Pod: s.Pod,
		Archive: &v1beta2.BackupArchive{Interval: &metav1.Duration{Duration: s.ArchiveInterval()}},
	}
}

// archiveEndpoints are all members, ready or not: an archiver passes over those that do not
// answer, and is not replaced whenever one restarts.
func (v *view) archiveEndpoints() []string {
	if v.Cluster == nil || v.spec.ClusterRef == nil {
		return v.source.endpoints
	}
	var all []string
	for _, m := range slices.Sorted(slices.Values(slices.Concat(v.Cluster.Status.Members.Ready, v.Cluster.Status.Members.Unready))) {
		all = append(all, member.ClientURL(v.Cluster, m))
	}
	return all
}

// archive returns status.archive: what the archiver reports, and what is remembered of earlier reports. It stays until
// the archiver is gone, since the operator looks for an archiver only if the spec or the status has an archive.
func (v *view) archive() *v1beta2.ArchiveStatus {
	if v.spec.ArchiveInterval() == 0 && v.Archiver == nil {
		return nil
	}
	st := v.last.Archive.DeepCopy()
	if st == nil {
		st = &v1beta2.ArchiveStatus{}
	}
	if p := v.progress(); p != nil && p.ClusterID != "" {
		v.follow(st, p)
	}
	if p := v.progress(); p != nil && p.Copy != nil {
		st.Copy = &v1beta2.ArchiveCopy{Revision: max(p.Copy.Revision, 0), Failure: copyFailure(p.Copy.Failure)}
	}
	if v.spec.CopyTo == nil {
		st.Copy = nil
	}
	st.OldestRevision = v.oldestArchived(st)
	_, _, st.Phase = v.archiving(st)
	return st
}

func (v *view) progress() *task.ArchiveProgress {
	if v.Archiver == nil || v.Archiver.Deleting {
		return nil
	}
	return v.Archiver.Progress
}

// archivePoll is how often the archiver is asked for its progress, or, while the API server refuses its
// Job, for how long that is left alone.
func (v *view) archivePoll() time.Duration {
	if v.Archiver == nil && v.Refused != "" {
		return archivePollMost
	}
	return min(max(v.spec.ArchiveInterval(), archivePollLeast), archivePollMost)
}

// follow notes what the archiver tells. Since when a snapshot is needed is remembered by the
// operator's own clock, which due times follow.
func (v *view) follow(st *v1beta2.ArchiveStatus, p *task.ArchiveProgress) {
	isSame := st.ClusterID == conditiontext.Clip(p.ClusterID)
	authChanged := !p.AuthChanged.IsZero() && (st.AuthChangeTime == nil || whole(p.AuthChanged).After(st.AuthChangeTime.Time))
	was := st.BeginRevision
	st.BeginRevision = max(p.Begin, 0)
	// An archiver that ended before it had stored anything begins its timeline once more, later.
	// Where segments were deleted that no snapshot needs, a snapshot is newer than the begin.
	isLater := isSame && st.BeginRevision > was && v.oldestArchived(st) == 0
	if !isSame || st.Timeline != int64(p.Timeline) || authChanged || isLater {
		st.Since = &metav1.Time{Time: whole(v.Now)}
	}
	if authChanged {
		st.AuthChangeTime = &metav1.Time{Time: whole(p.AuthChanged)}
	}
	if g := p.Gap; g != nil && (st.Gap == nil || st.Gap.Time == nil || whole(g.Time).After(st.Gap.Time.Time)) {
		st.Gaps++
		st.Gap = &v1beta2.ArchiveGap{From: g.From, To: g.To, Message: conditiontext.Clip(g.Message), Time: &metav1.Time{Time: whole(g.Time)}}
	}
	st.ClusterID, st.Timeline, st.Revision = conditiontext.Clip(p.ClusterID), int64(p.Timeline), max(p.Revision, 0)
	// Changes without a snapshot that they follow restore nothing.
	if !p.RecoveryTime.IsZero() && v.oldestArchived(st) > 0 {
		st.RecoveryTime = &metav1.Time{Time: whole(p.RecoveryTime)}
	}
	if st.RecoveryTime != nil {
		st.LagSeconds = max(0, int64(p.Time.Sub(st.RecoveryTime.Time)/time.Second))
	}
}

// oldestArchived is the lowest revision of a recorded snapshot that the archive follows; 0: of
// none. It was due after the recording had begun.
func (v *view) oldestArchived(st *v1beta2.ArchiveStatus) (oldest int64) {
	for i := range v.history {
		r := &v.history[i]
		if st.Since == nil || !r.Succeeded || r.ClusterID != st.ClusterID || r.Revision < st.BeginRevision || r.ScheduledTime == nil || !st.Since.Before(r.ScheduledTime) || doubtful(r) {
			continue
		}
		if oldest == 0 || r.Revision < oldest {
			oldest = r.Revision
		}
	}
	return oldest
}

func doubtful(r *v1beta2.BackupRecord) bool {
	return r.Quorum != nil && !*r.Quorum || r.Unhealthy != ""
}

// needSnapshot makes a backup due for the archive, if no recorded one is newer than the begin of
// the recording.
func (v *view) needSnapshot() {
	if !v.archives() || !v.due.IsZero() || v.anchored || len(v.active) > 0 || v.clock == nil {
		return
	}
	st := v.archive()
	if st.Since == nil || st.OldestRevision > 0 {
		return
	}
	due := whole(v.Now)
	if v.scheduled != nil && st.Since.Before(v.scheduled) {
		if retry := v.scheduled.Add(snapshotPause); retry.After(due) {
			v.wakeAt(retry)
			return
		}
	}
	// Of the same second, nobody would know which was first.
	if !due.After(st.Since.Time) || !due.After(v.clock.After.Time) || v.taken(due) {
		v.wakeAt(due.Add(time.Second))
		return
	}
	v.due = due
}

// archiving is the state of the archive.
func (v *view) archiving(st *v1beta2.ArchiveStatus) (reason, message string, phase v1beta2.ArchivePhase) {
	a, p := v.Archiver, v.progress()
	switch {
	case a != nil && a.InDoubt:
		return v1beta2.BackupReasonJobInDoubt, v.doubtText(a.Name), v1beta2.ArchiveFailed
	case v.refusal != nil:
		return v.refusal.reason, v.refusal.message, v1beta2.ArchiveFailed
	case v.spec.Suspend:
		return v1beta2.BackupReasonSuspended, "recording is suspended: set spec.suspend to false to resume, before etcd is compacted beyond what was recorded", v1beta2.ArchiveSuspended
	case a == nil && v.source.wait != nil:
		return v.source.wait.reason, v.source.wait.message, v1beta2.ArchivePending
	case a == nil && v.Refused != "":
		return v1beta2.BackupReasonStartRefused, fmt.Sprintf("the API server rejects the archiver's Job: %s; the operator retries every %s", conditiontext.Clip(v.Refused), v.archivePoll()), v1beta2.ArchiveFailed
	case a == nil:
		return v1beta2.BackupReasonArchiverStarting, "waiting for the archiver's Job", v1beta2.ArchivePending
	case a.Deleting || a.Ended:
		return v1beta2.BackupReasonArchiverStopping, fmt.Sprintf("replacing archiver %s; nothing is missed while etcd keeps its history", a.Name), v1beta2.ArchivePending
	case a.Waiting != "":
		return v1beta2.BackupReasonPodNotStarting, fmt.Sprintf("archiver cannot start: the Pod of Job %s is waiting: %s; it starts once that is fixed", a.Name, conditiontext.Clip(a.Waiting)), v1beta2.ArchivePending
	case p == nil || p.ClusterID == "" && p.Failure == nil:
		return v1beta2.BackupReasonArchiverStarting, fmt.Sprintf("waiting for the archiver of Job %s to tell its progress", a.Name), v1beta2.ArchivePending
	case p.Failure != nil:
		return conditiontext.Reason(p.Failure.Reason, v1beta2.BackupReasonJobFailed), fmt.Sprintf("nothing is recorded: %s; the archiver retries", conditiontext.Clip(p.Failure.Message)), v1beta2.ArchiveFailed
	case st.OldestRevision == 0:
		return v1beta2.BackupReasonSnapshotNeeded, "changes are recorded; a snapshot is due at once, since none was stored after the recording began or users or roles changed", v1beta2.ArchiveRunning
	}
	return v1beta2.BackupReasonRecording, fmt.Sprintf("recording cluster %s: each revision from %d on can be restored", st.ClusterID, st.OldestRevision), v1beta2.ArchiveRunning
}

// isArchiving returns the condition Archiving; nil without spec.archive, unless an archiver in doubt is left.
func (v *view) isArchiving(st *v1beta2.ArchiveStatus) *metav1.Condition {
	if st == nil || v.spec.ArchiveInterval() == 0 && (v.Archiver == nil || !v.Archiver.InDoubt) {
		return nil
	}
	reason, message, phase := v.archiving(st)
	c := v.condition(v1beta2.ConditionArchiving, phase == v1beta2.ArchiveRunning, reason, message)
	return &c
}

// archiveEvents are about a gap that is new in the status.
func (v *view) archiveEvents() []Event {
	st := v.archive()
	if st == nil || st.Gap == nil || v.last.Archive != nil && v.last.Archive.Gaps == st.Gaps {
		return nil
	}
	message := fmt.Sprintf("revisions %d to %d were not archived: %s", st.Gap.From, st.Gap.To, st.Gap.Message)
	if st.Gap.To < st.Gap.From {
		message = "the archive begins anew: " + st.Gap.Message
	}
	return []Event{{Warning: true, Reason: v1beta2.BackupReasonArchiveGap, Message: message}}
}
