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
	// BackupNone is a backup that the operator has not looked at yet.
	BackupNone BackupPhase = ""
	// BackupPending waits for something: a cluster that is ready, or the start of its
	// Pod.
	BackupPending BackupPhase = "Pending"
	// BackupRunning is under way.
	BackupRunning BackupPhase = "Running"
	// BackupScheduled is a repeated backup between two runs.
	BackupScheduled BackupPhase = "Scheduled"
	// BackupSuspended starts nothing since spec.suspend is set.
	BackupSuspended BackupPhase = "Suspended"
	// BackupSucceeded is a one-shot backup that is stored.
	BackupSucceeded BackupPhase = "Succeeded"
	// BackupFailed is a one-shot backup that is not stored, or a spec that can't be
	// carried out; status.Reason says why.
	BackupFailed BackupPhase = "Failed"
)

// The types of a backup's conditions, of which a restore has the first two as well.
const (
	// ConditionComplete: the backup is stored; of a repeated one, the last one is. Of
	// a restore: the cluster has its full size.
	ConditionComplete = "Complete"
	// ConditionFailed: the backup or restore has failed; of a repeated backup, the last
	// one has.
	ConditionFailed = "Failed"
	// ConditionScheduled: the next backup is under way or has its time.
	ConditionScheduled = "Scheduled"
)

// MaxHistory is how many runs status.history holds at most: enough to see what
// happened, and few enough for an object that is written often.
const MaxHistory = 10

// BackupStatus is what the operator reports of a backup. Only the operator writes it,
// and only when something in it has changed.
type BackupStatus struct {
	// Whether the backup is stored; of a repeated one, whether the last one is.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the last backup failed. Empty after success, and while a backup is under way;
	// but of a repeated one it tells why the last attempt failed while its Job tries
	// again. (The conditions tell that of every backup.)
	// +optional
	Reason string `json:"Reason,omitempty"`
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
	// Complete, Failed and Scheduled, each with a message that says what is happening
	// and what, if anything, to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The newest good backup.
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
	// From when on the times of a repeated backup count. Nothing while it is suspended.
	// +optional
	// +nullable
	Clock *BackupClock `json:"clock,omitempty"`
	// The backups that were started and have not ended.
	// +optional
	// +listType=atomic
	Active []ActiveBackup `json:"active,omitempty"`
	// The last backups that ended, newest first. The newest good one and the newest
	// failed one are always among them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []BackupRecord `json:"history,omitempty"`
}

// BackupClock is what the due times of a repeated backup are counted by. It is
// recorded, so that neither a restart of the operator nor an edit of the spec lets a
// time be forgotten, or count twice.
type BackupClock struct {
	// The schedule that is in force, as "cron <expression>" or "every <duration>".
	Schedule string `json:"schedule"`
	// Times up to and including this one are done with: started, or given up as missed.
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
	// Where it lies: s3://bucket/key or pvc://claim/path.
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
	// The source's revision just before the snapshot, which holds at least that.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// etcd's own id of the cluster, 16 hexadecimal digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// etcd's own id of the member that was the source, 16 hexadecimal digits.
	// +optional
	MemberID string `json:"memberID,omitempty"`
	// The version of that member.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// How it is packed; empty: not at all.
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
	// Why it failed, in a word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Why it failed, for a person.
	// +optional
	Message string `json:"message,omitempty"`
	// Where it lies.
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
	// etcd's own id of the cluster.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
}
