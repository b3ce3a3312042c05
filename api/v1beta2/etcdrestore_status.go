package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestorePhase is a one-word summary of a restore. Conditions say more.
//
// +kubebuilder:validation:Enum="";Pending;Verifying;Fencing;Seeding;HandedOff;Complete;RollingBack;Failed
type RestorePhase string

// The phases of a restore.
const (
	// RestoreNone is a restore that the operator has not looked at yet.
	RestoreNone RestorePhase = ""
	// RestorePending waits for what it names, or for another restore of the cluster.
	RestorePending RestorePhase = "Pending"
	// RestoreVerifying fetches and checks the snapshot. Nothing of the cluster is
	// touched before that has succeeded.
	RestoreVerifying RestorePhase = "Verifying"
	// RestoreFencing waits for etcd-operator to leave the cluster alone, and for the
	// old members to stop.
	RestoreFencing RestorePhase = "Fencing"
	// RestoreSeeding makes a member from the snapshot.
	RestoreSeeding RestorePhase = "Seeding"
	// RestoreHandedOff has a cluster that serves, and that grows to its size.
	RestoreHandedOff RestorePhase = "HandedOff"
	// RestoreComplete has a cluster of its full size.
	RestoreComplete RestorePhase = "Complete"
	// RestoreRollingBack has failed before the hand-off, and gives the cluster back as
	// it was.
	RestoreRollingBack RestorePhase = "RollingBack"
	// RestoreFailed has failed; status.reason says why.
	RestoreFailed RestorePhase = "Failed"
)

// The types of a restore's conditions, beside ConditionComplete and ConditionFailed.
const (
	// ConditionVerified: the snapshot has been fetched and checked.
	ConditionVerified = "Verified"
	// ConditionFenced: etcd-operator leaves the cluster to the restore.
	ConditionFenced = "Fenced"
	// ConditionHandedOff: the cluster has grown from the seed, and serves.
	ConditionHandedOff = "HandedOff"
)

// RestoreStatus is what the operator reports of a restore. Only the operator writes it,
// and only when something in it has changed.
type RestoreStatus struct {
	// Whether the cluster serves what the snapshot holds: true from the hand-off on,
	// while etcd-operator still adds the other members.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the restore failed. Empty unless it has.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The state of the restore in a word: Pending, Verifying, Fencing, Seeding,
	// HandedOff, Complete, RollingBack or Failed.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`
	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Verified, Fenced, HandedOff, Complete and Failed, each with a message that says
	// what is happening and what, if anything, to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The name of the EtcdCluster that is restored.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// Its uid, from when it was first touched on: another one of the same name is not
	// touched.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`

	// The snapshot, as it was checked: only this very one is restored.
	// +optional
	Snapshot *RestoreSnapshot `json:"snapshot,omitempty"`
	// How much of the snapshot has been fetched in this phase, such as
	// "104.0 MiB of 361.0 MiB". Empty while nothing is.
	// +optional
	Progress string `json:"progress,omitempty"`
	// What the restore waits for: the old members' Pods that are not gone, another
	// EtcdRestore, an object that does not exist.
	// +optional
	// +listType=atomic
	WaitingFor []string `json:"waitingFor,omitempty"`
	// The member that is made from the snapshot. Recorded before its Pod exists.
	// +optional
	SeedMember string `json:"seedMember,omitempty"`
	// The uid of its Pod, once there is one. A seed whose Pod is lost is replaced by one
	// of another name.
	// +optional
	SeedUID string `json:"seedUID,omitempty"`
	// The revision that the restored cluster begins at; whatever is older counts as
	// compacted. Recorded before the seed's Pod exists.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// When the operator began with it.
	// +optional
	// +nullable
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the seed was adopted.
	// +optional
	// +nullable
	HandOffTime *metav1.Time `json:"handOffTime,omitempty"`
	// When the cluster had its full size, or the restore had failed.
	// +optional
	// +nullable
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RestoreSnapshot is a snapshot that was checked.
type RestoreSnapshot struct {
	// Where it lies: s3://bucket/key or pvc://claim/path.
	Location string `json:"location"`
	// Its size in bytes, as it is stored.
	// +optional
	Size int64 `json:"size,omitempty"`
	// Its size for people, such as 25.0 MiB.
	// +optional
	ReadableSize string `json:"readableSize,omitempty"`
	// The size of the database in bytes, unpacked.
	// +optional
	DatabaseSize int64 `json:"databaseSize,omitempty"`
	// The sha256 of what is stored, 64 hexadecimal digits.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// What the S3 store calls this very content.
	// +optional
	ETag string `json:"etag,omitempty"`
	// Its revision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// How many keys it holds.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`
	// The version of etcd whose data it is, such as 3.6.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// etcd's own id of the cluster that it is of, if that is known.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// How it is packed; empty: not at all.
	// +optional
	Compression Compression `json:"compression,omitempty"`
}
