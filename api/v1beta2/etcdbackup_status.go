package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupPhase is a one-word summary of a backup. Conditions say more.
//
// +kubebuilder:validation:Enum="";Pending;Running;Scheduled;Suspended;Succeeded;Failed
type BackupPhase string

// The phases of a backup.
const (
	// BackupNone: the operator has not looked at the backup yet. If it lasts, check that an
	// etcd-backup-operator runs whose scope includes this EtcdBackup.
	BackupNone BackupPhase = ""
	// BackupPending: it waits for a ready cluster, or for its Pod to start. Read the
	// conditions, which say for what.
	BackupPending BackupPhase = "Pending"
	// BackupRunning: a Job makes the backup. Wait for it.
	BackupRunning BackupPhase = "Running"
	// BackupScheduled: a repeated backup is between two runs. Nothing to do.
	BackupScheduled BackupPhase = "Scheduled"
	// BackupSuspended: no backup is started. Set spec.suspend to false to resume.
	BackupSuspended BackupPhase = "Suspended"
	// BackupSucceeded: a one-shot backup is stored; status.snapshot says where. Nothing to do.
	BackupSucceeded BackupPhase = "Succeeded"
	// BackupFailed: a one-shot backup is not stored, or the spec cannot be carried out. Follow
	// the message of the condition Failed.
	BackupFailed BackupPhase = "Failed"
)

// The types of a backup's conditions. A restore has the first two as well.
const (
	// ConditionComplete: the backup is stored; for a repeated backup, the last one is. For a
	// restore: the cluster has its full size. While it is False, the message says what it waits
	// for.
	ConditionComplete = "Complete"
	// ConditionFailed: the backup or restore has failed; for a repeated backup, the last one has.
	// The message says why, and what to do.
	ConditionFailed = "Failed"
	// ConditionScheduled: a backup is running, or the time of the next one is known. While it is
	// False, no backup is made: set spec.suspend to false, or correct what the message names.
	ConditionScheduled = "Scheduled"
	// ConditionQuorum: the last backup that was stored is of a healthy member, and a quorum
	// confirmed that the member was up to date. False: it is stored under a name of its own, and
	// counts neither for retention nor as the newest good backup; follow the message.
	ConditionQuorum = "Quorum"
	// ConditionArchiving: all changes are recorded beside the snapshots, as spec.archive says.
	// While it is False, follow the message: etcd keeps the changes only until it is compacted.
	ConditionArchiving = "Archiving"
	// ConditionCopied: the last backup that had to be copied is in spec.copyTo as well, and so is
	// the archive. While it is False, follow the message; the backup itself is stored.
	ConditionCopied = "Copied"
)

// MaxHistory is how many runs status.history holds at most: enough to see what
// happened, and few enough for an object that is written often.
const MaxHistory = 10

// BackupStatus is what the operator reports of a backup. Only the operator writes it,
// and only when something in it has changed.
type BackupStatus struct {
	// Whether the backup is stored; for a repeated backup, whether the last one is.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the last backup failed, or why the spec is refused. Empty
	// after a success, and while a backup runs, unless an attempt of a repeated backup has
	// failed and is retried. (The conditions report failed attempts of every backup.)
	// +optional
	Reason string `json:"Reason,omitempty"`
	// Why the last backup failed, why the spec is refused, or why an attempt failed that is
	// retried. What a backup waits for is in the conditions Complete and Scheduled.
	// +optional
	Failure *BackupFailure `json:"failure,omitempty"`
	// The etcd version of the source of the newest good backup.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// The revision of the newest good backup.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// When the newest good backup was finished.
	// +optional
	// +nullable
	LastSuccessDate *metav1.Time `json:"lastSuccessDate,omitempty"`

	// The state of the backup in a word: Pending, Running, Scheduled, Suspended,
	// Succeeded or Failed.
	// +optional
	Phase BackupPhase `json:"phase,omitempty"`
	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Complete, Failed, Scheduled and, once a backup is stored, Quorum, each with a message
	// that says what is happening and what, if anything, to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The newest good backup. One that was made without a quorum, or of an unhealthy
	// member, is shown here only as long as there is no other.
	// +optional
	Snapshot *BackupSnapshot `json:"snapshot,omitempty"`

	// When the last repeated backup was due.
	// +optional
	// +nullable
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// When the next repeated backup is due.
	// +optional
	// +nullable
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// How many repeated backups were due and never started.
	// +optional
	MissedRuns int64 `json:"missedRuns,omitempty"`
	// From when on the due times of a repeated backup count. Unset while it is suspended.
	// +optional
	// +nullable
	Clock *BackupClock `json:"clock,omitempty"`
	// The backups that were started and have not ended.
	// +optional
	// +listType=atomic
	Active []ActiveBackup `json:"active,omitempty"`
	// The archive of the changes between the snapshots. Unset without spec.archive.
	// +optional
	Archive *ArchiveStatus `json:"archive,omitempty"`
	// When a backup was last copied to spec.copyTo.
	// +optional
	// +nullable
	LastCopyTime *metav1.Time `json:"lastCopyTime,omitempty"`
	// The verifications of backups. Only with spec.verification.
	// +optional
	Verification *VerificationStatus `json:"verification,omitempty"`
	// The last backups that ended, newest first. The newest good one and the newest
	// failed one are always among them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []BackupRecord `json:"history,omitempty"`
}

// ArchivePhase is a one-word summary of an archive. The condition Archiving says more.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Failed
type ArchivePhase string

// The phases of an archive.
const (
	// ArchivePending: the archiver is not recording yet. Read the condition Archiving, which
	// says what it waits for.
	ArchivePending ArchivePhase = "Pending"
	// ArchiveRunning: changes are recorded. Nothing to do.
	ArchiveRunning ArchivePhase = "Running"
	// ArchiveSuspended: nothing is recorded. Set spec.suspend to false to resume, before etcd
	// is compacted beyond what was recorded.
	ArchiveSuspended ArchivePhase = "Suspended"
	// ArchiveFailed: nothing is recorded now, and the archiver retries. Follow the message of the
	// condition Archiving.
	ArchiveFailed ArchivePhase = "Failed"
)

// ArchiveStatus is what the operator reports of an archive.
type ArchiveStatus struct {
	// The state of the archive in a word: Pending, Running, Suspended or Failed.
	Phase ArchivePhase `json:"phase"`
	// etcd's own id of the cluster that is recorded, 16 hexadecimal digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// How often the recording of this cluster has started. It starts again if it cannot continue:
	// after a compaction that overtook it, or after the cluster's data was rolled back.
	// +optional
	Timeline int64 `json:"timeline,omitempty"`
	// The timeline begins after this revision.
	// +optional
	BeginRevision int64 `json:"beginRevision,omitempty"`
	// When the operator learned that the timeline had begun, or of a later change of users and
	// roles. A snapshot that was due after that is needed.
	// +optional
	// +nullable
	Since *metav1.Time `json:"since,omitempty"`
	// When the archiver last found that users or roles had changed, by its own clock.
	// +optional
	// +nullable
	AuthChangeTime *metav1.Time `json:"authChangeTime,omitempty"`
	// The lowest revision in status.history from which on the archive is whole. 0: none, since
	// no snapshot was stored since the recording began.
	// +optional
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// The newest revision up to which all is stored.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The recovery point: whatever etcd had acknowledged before it can be restored. It does not move
	// while no stored snapshot precedes the recorded changes.
	// +optional
	// +nullable
	RecoveryTime *metav1.Time `json:"recoveryTime,omitempty"`
	// How far the recovery point was behind when the operator last asked, in whole seconds.
	// +optional
	LagSeconds int64 `json:"lagSeconds,omitempty"`
	// How many gaps the operator has seen.
	// +optional
	Gaps int64 `json:"gaps,omitempty"`
	// The newest gap.
	// +optional
	Gap *ArchiveGap `json:"gap,omitempty"`
	// The copy of the archive. Only where spec.copyTo is an object store: to a PVC, the archive
	// is copied together with each backup.
	// +optional
	Copy *ArchiveCopy `json:"copy,omitempty"`
}

// ArchiveGap is what an archive does not hold.
type ArchiveGap struct {
	// The first revision that was not recorded.
	From int64 `json:"from"`
	// The last revision that was not recorded. It is lower than from if the cluster's data was
	// rolled back behind what was recorded.
	To int64 `json:"to"`
	// Why.
	Message string `json:"message"`
	// When the archiver found out.
	// +optional
	// +nullable
	Time *metav1.Time `json:"time,omitempty"`
}

// BackupFailure is why a backup failed, or is not made.
type BackupFailure struct {
	// The reason of the condition Failed, in CamelCase.
	Reason string `json:"reason"`
	// What is wrong, and what to do.
	Message string `json:"message"`
}

// VerificationStatus describes the verifications of an EtcdBackup.
type VerificationStatus struct {
	// When a backup was last verified with success, by restoring it.
	// +optional
	// +nullable
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`
	// The verification that ended last.
	// +optional
	Last *VerificationRecord `json:"last,omitempty"`
	// From when on the times of spec.verification.schedule count.
	// +optional
	Clock *BackupClock `json:"clock,omitempty"`
	// When the next verification is due. Only with spec.verification.schedule.
	// +optional
	// +nullable
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
}

// VerificationRecord is a verification that has ended.
type VerificationRecord struct {
	// The name of the EtcdRestore that verified.
	Name string `json:"name"`
	// The backup that was verified: the name of its entry in status.history.
	Backup string `json:"backup"`
	// Whether etcd served exactly what was backed up.
	Succeeded bool `json:"succeeded"`
	// When its EtcdRestore was created.
	StartTime metav1.Time `json:"startTime"`
	// When it ended.
	CompletionTime metav1.Time `json:"completionTime"`
	// Why it failed, in a word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Why it failed, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// The version of the etcd that served the backup.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// How many keys it served.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`
	// The revision up to which the archive was verified with the backup; 0: without it.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// CopyRecord is the result of copying a backup.
type CopyRecord struct {
	// Where it is stored. Empty if it is not.
	// +optional
	Location string `json:"location,omitempty"`
	// When it was stored, or had failed.
	// +optional
	// +nullable
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Why it, or an earlier backup that was missing there, could not be copied, or older copies
	// not be deleted. Absent if nothing failed.
	// +optional
	Failure *BackupFailure `json:"failure,omitempty"`
}

// ArchiveCopy is how far an archive is copied to spec.copyTo.
type ArchiveCopy struct {
	// The newest revision up to which all is copied. 0: not known yet.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Why no segment is copied now. Absent if nothing failed.
	// +optional
	Failure *BackupFailure `json:"failure,omitempty"`
}

// BackupClock is the state from which the due times of a repeated backup are computed. It
// is recorded so that no due time is forgotten or counted twice when the operator restarts
// or the spec changes.
type BackupClock struct {
	// The schedule that is in force, as "cron <expression>" or "every <duration>".
	Schedule string `json:"schedule"`
	// Due times up to and including this one are settled: started, or counted as missed.
	After metav1.Time `json:"after"`
}

// ActiveBackup is a backup that was started and has not ended.
type ActiveBackup struct {
	// The name of its Job.
	Name string `json:"name"`
	// When it was due.
	ScheduledTime metav1.Time `json:"scheduledTime"`
}

// BackupSnapshot is a backup that is stored.
type BackupSnapshot struct {
	// Where it is stored: s3://bucket/key or pvc://claim/path.
	Location string `json:"location"`
	// Its size in bytes, as it is stored.
	// +optional
	Size int64 `json:"size,omitempty"`
	// Its size for people, such as 25.0 MiB.
	// +optional
	ReadableSize string `json:"readableSize,omitempty"`
	// The sha256 of what is stored, 64 hexadecimal digits.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// The revision of the source just before the snapshot was taken. The snapshot holds at
	// least this revision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The oldest revision that it can be restored to: that of etcd's last compaction before
	// it was taken, or 1. Empty if a compaction came between, and in records of older
	// operators.
	// +optional
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// The hash that the source computed of its data. An EtcdRestore compares it with what it has
	// rebuilt. Absent if the source's database in use is larger than 2 GiB, if it is older than
	// etcd 3.5.16, if a compaction came between, or if it did not answer in time.
	// +optional
	Hash *SnapshotHash `json:"hash,omitempty"`
	// etcd's own id of the cluster, 16 hexadecimal digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// etcd's own id of the member that was the source, 16 hexadecimal digits.
	// +optional
	MemberID string `json:"memberID,omitempty"`
	// The version of that member.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// Whether a quorum confirmed that the source was up to date. If false, the backup
	// might lack the latest writes. Absent in records of older operators.
	// +optional
	Quorum *bool `json:"quorum,omitempty"`
	// Why the source was not healthy, if every member that answered reported errors or
	// was named by a CORRUPT alarm. Empty for a healthy source.
	// +optional
	Unhealthy string `json:"unhealthy,omitempty"`
	// How it is compressed; empty: not compressed.
	// +optional
	Compression Compression `json:"compression,omitempty"`
	// How long it took.
	// +optional
	// +nullable
	Duration *metav1.Duration `json:"duration,omitempty"`
	// When it was finished.
	// +optional
	// +nullable
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// SnapshotHash is etcd's own hash of its data (HashKV).
type SnapshotHash struct {
	// The hash of all that the cluster held at the revision.
	Value int64 `json:"value"`
	// The revision at which it was computed.
	Revision int64 `json:"revision"`
	// The revision of etcd's last compaction before that; 0: there was none. Hashes are
	// comparable only if this is the same.
	// +optional
	CompactedRevision int64 `json:"compactedRevision,omitempty"`
}

// BackupRecord is one backup that ended.
type BackupRecord struct {
	// The name of its Job.
	Name string `json:"name"`
	// When it was due.
	// +optional
	// +nullable
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`
	// When it began.
	// +optional
	// +nullable
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When it ended.
	// +optional
	// +nullable
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Whether it is stored.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Whether its Job was deleted before it reported how it ended. A one-shot backup is then
	// retried, three times in all.
	// +optional
	Lost bool `json:"lost,omitempty"`
	// Why it failed, in a word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Why it failed, in a sentence; for a successful one, notes on it.
	// +optional
	Message string `json:"message,omitempty"`
	// Where it is stored.
	// +optional
	Location string `json:"location,omitempty"`
	// Its size in bytes, as it is stored.
	// +optional
	Size int64 `json:"size,omitempty"`
	// The sha256 of what is stored.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// The source's revision just before the snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The oldest revision that it can be restored to: that of etcd's last compaction before
	// it was taken, or 1. Empty if a compaction came between, and in records of older
	// operators.
	// +optional
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// The hash that the source computed of its data. An EtcdRestore compares it with what it has
	// rebuilt. Absent if the source's database in use is larger than 2 GiB, if it is older than
	// etcd 3.5.16, if a compaction came between, or if it did not answer in time.
	// +optional
	Hash *SnapshotHash `json:"hash,omitempty"`
	// The version of the source, such as 3.6.16. Absent in records of older operators.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// The copy of it (spec.copyTo). Absent while it is being made, and if there is none to make.
	// +optional
	Copy *CopyRecord `json:"copy,omitempty"`
	// How its newest verification ended (spec.verification). Absent if there was none.
	// +optional
	Verification *VerificationRecord `json:"verification,omitempty"`
	// etcd's own id of the cluster.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Whether a quorum confirmed that the source was up to date. If false, the backup
	// might lack the latest writes. Absent in records of older operators.
	// +optional
	Quorum *bool `json:"quorum,omitempty"`
	// Why the source was not healthy, if every member that answered reported errors or
	// was named by a CORRUPT alarm. Empty for a healthy source.
	// +optional
	Unhealthy string `json:"unhealthy,omitempty"`
}
