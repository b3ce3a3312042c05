package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionBackedUp is the type of a cluster's condition that etcd-backup-operator writes: there
// is a good backup of the cluster, which is not too old. It is set once an EtcdBackup of this
// cluster exists, or spec.backup.maxAge is set. While it is False, back the cluster up, or see
// why its EtcdBackups fail.
const ConditionBackedUp = "BackedUp"

// The reasons of ConditionBackedUp, which etcd-backup-operator writes.
const (
	// ReasonBackedUp: the message says where the newest good backup is stored, and when it was
	// made. Nothing to do.
	ReasonBackedUp = "BackedUp"
	// ReasonNoGoodBackup: there is no good backup of this cluster. One that was made without a
	// quorum, or of the data before a restore, does not count. Create an EtcdBackup of the
	// cluster.
	ReasonNoGoodBackup = "NoGoodBackup"
)

// The reason of ConditionBackedUp that also has a Warning event.
const (
	// ReasonBackupTooOld: the newest good backup is older than spec.backup.maxAge allows. See
	// why EtcdBackups of the cluster fail or are missing.
	ReasonBackupTooOld = "BackupTooOld"
)

// BackupMaxAge is Backup.MaxAge, or 0 for any age.
func (s *ClusterSpec) BackupMaxAge() time.Duration {
	if s.Backup == nil || s.Backup.MaxAge == nil {
		return 0
	}
	return s.Backup.MaxAge.Duration
}

// ClusterBackupStatus is what etcd-backup-operator knows of a cluster's backups. It
// outlives the EtcdBackups, such as those that a CronJob creates with a
// ttlSecondsAfterFinished.
type ClusterBackupStatus struct {
	// The newest good backup of the cluster.
	// +optional
	Newest *ClusterBackupRecord `json:"newest,omitempty"`
	// How many backups of the cluster have failed.
	// +optional
	Failures int64 `json:"failures,omitempty"`
	// The last one that has failed.
	// +optional
	LastFailure *ClusterBackupFailure `json:"lastFailure,omitempty"`
}

// ClusterBackupRecord is a good backup of a cluster.
type ClusterBackupRecord struct {
	// The EtcdBackup that made it; it might have been deleted since.
	Backup string `json:"backup"`
	// Where it is stored: s3://bucket/key or pvc://claim/path.
	Location string `json:"location"`
	// When it was finished.
	CompletionTime metav1.Time `json:"completionTime"`
	// Its size in bytes, as it is stored.
	// +optional
	Size int64 `json:"size,omitempty"`
	// The sha256 of what is stored, 64 hexadecimal digits.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// The revision of the source just before the snapshot was taken. The snapshot holds at
	// least this revision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// etcd's own id of the cluster, 16 hexadecimal digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
}

// ClusterBackupFailure is a backup of a cluster that has failed.
type ClusterBackupFailure struct {
	// The EtcdBackup; it might have been deleted since.
	Backup string `json:"backup"`
	// The name of its Job.
	Job string `json:"job"`
	// When it ended.
	CompletionTime metav1.Time `json:"completionTime"`
	// Why it failed, in a word.
	// +optional
	Reason string `json:"reason,omitempty"`
}
