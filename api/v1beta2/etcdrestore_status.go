package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestorePhase is a one-word summary of a restore. Conditions say more.
//
// +kubebuilder:validation:Enum="";Pending;Verifying;Verified;Fencing;Seeding;HandedOff;Complete;RollingBack;Failed
type RestorePhase string

// The phases of a restore.
const (
	// RestoreNone is a restore that the operator has not looked at yet. If it stays so, check
	// that an etcd-restore-operator runs and watches this namespace.
	RestoreNone RestorePhase = ""
	// RestorePending waits for an object that the spec names, or for another restore of the
	// cluster. Read status.waitingFor.
	RestorePending RestorePhase = "Pending"
	// RestoreVerifying fetches and checks the snapshot, and, unless spec.stopMembers is First,
	// rebuilds its database in the seed's Pod, while the old members serve. No member is
	// stopped before that has succeeded. If it lasts, read the message of the condition
	// Complete.
	RestoreVerifying RestorePhase = "Verifying"
	// RestoreVerified has checked the snapshot, which was all that was asked for
	// (verifyOnly). It is an end, as Complete is. Nothing to do.
	RestoreVerified RestorePhase = "Verified"
	// RestoreFencing waits for etcd-operator to suspend its reconciliation of the cluster,
	// and, if spec.stopMembers is First, stops the old members. If it lasts, read the message
	// of the condition Complete.
	RestoreFencing RestorePhase = "Fencing"
	// RestoreSeeding stops the old members, if they run, and starts the seed. Wait for it, or
	// delete the EtcdRestore, which still rolls it back; members without volumes are lost.
	RestoreSeeding RestorePhase = "Seeding"
	// RestoreHandedOff has a cluster that serves, and that grows to its size. Wait for it; if
	// it lasts, read the conditions of the EtcdCluster.
	RestoreHandedOff RestorePhase = "HandedOff"
	// RestoreComplete has a cluster of its full size. Nothing to do.
	RestoreComplete RestorePhase = "Complete"
	// RestoreRollingBack has failed before the hand-over, and rolls back to the old members.
	// Wait for it to end.
	RestoreRollingBack RestorePhase = "RollingBack"
	// RestoreFailed has failed; status.reason says why. Correct that, and create another
	// EtcdRestore: this one is not tried again.
	RestoreFailed RestorePhase = "Failed"
)

// The types of a restore's conditions, beside ConditionComplete and ConditionFailed.
const (
	// ConditionVerified: the snapshot has been fetched and checked. While it is False, the
	// message says how far that is, or what to correct. Of an EtcdBackup with spec.verification:
	// the backup that was verified last is good. While it is False, the verification of that
	// backup failed, and while it is Unknown, no backup was verified yet: follow the message.
	ConditionVerified = "Verified"
	// ConditionFenced: etcd-operator has suspended its reconciliation of the cluster, and lost
	// members are not replaced. To abort, delete the EtcdRestore.
	ConditionFenced = "Fenced"
	// ConditionHandedOff: the cluster has grown from the seed, and serves. From then on
	// nothing is rolled back.
	ConditionHandedOff = "HandedOff"
)

// RestoreStatus is what the operator reports of a restore. Only the operator writes it,
// and only when something in it has changed.
type RestoreStatus struct {
	// Whether the cluster serves what the snapshot holds: true from the hand-over on,
	// while etcd-operator still adds the other members. With verifyOnly: whether the
	// snapshot is good.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the restore failed. Empty unless it has.
	// +optional
	Reason string `json:"reason,omitempty"`
	// The reason and the message of the failure, once the restore begins to roll back.
	// +optional
	Failure *RestoreFailure `json:"failure,omitempty"`

	// The state of the restore in a word: Pending, Verifying, Fencing, Seeding,
	// HandedOff, Complete, RollingBack or Failed; with verifyOnly Pending, Verifying,
	// Verified or Failed.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`
	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Verified, Fenced, HandedOff, Complete and Failed, each with a message that says
	// what is happening and what, if anything, to do. With verifyOnly Verified, Complete
	// and Failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The name of the EtcdCluster that is restored.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// Its uid, recorded before the restore first changes it: another EtcdCluster of the same
	// name is not changed.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`

	// The snapshot, as it was verified: only exactly this one is restored.
	// +optional
	Snapshot *RestoreSnapshot `json:"snapshot,omitempty"`
	// What is restored of the snapshot. Only with spec.revision, spec.time or spec.prefixes.
	// +optional
	Restored *RestoredState `json:"restored,omitempty"`
	// What etcd has served of the restored database. Only with spec.startEtcd.
	// +optional
	Served *ServedState `json:"served,omitempty"`
	// The revision of the cluster at spec.time, once the archive was read.
	// +optional
	TargetRevision int64 `json:"targetRevision,omitempty"`
	// The recovery point, with spec.time: whatever etcd had acknowledged before it is restored,
	// and nothing that was written after spec.time.
	// +optional
	// +nullable
	RecoveryTime *metav1.Time `json:"recoveryTime,omitempty"`
	// The snapshots under s3.prefix. Only with verifyOnly.
	// +optional
	Catalogue *SnapshotCatalogue `json:"catalogue,omitempty"`
	// How much of the snapshot has been fetched in this phase, such as
	// "104.0 MiB of 361.0 MiB". Empty while nothing is.
	// +optional
	Progress string `json:"progress,omitempty"`
	// What the restore waits for: the old members' Pods that are not deleted yet, another
	// EtcdRestore, an object that does not exist.
	// +optional
	// +listType=atomic
	WaitingFor []string `json:"waitingFor,omitempty"`
	// The member that is restored from the snapshot. Recorded before its Pod exists.
	// +optional
	SeedMember string `json:"seedMember,omitempty"`
	// The uid of its Pod, once there is one. A seed whose Pod is lost is replaced by one
	// of another name.
	// +optional
	SeedUID string `json:"seedUID,omitempty"`
	// How often the seed's Pod was evicted, refused by its node, or preempted; empty if it
	// never was.
	// +optional
	SeedEvictions *SeedEvictions `json:"seedEvictions,omitempty"`
	// The revision at which the restored cluster starts; all older ones are compacted. A
	// lower bound is recorded before the seed's Pod exists, and the exact revision once the
	// seed's Pod has verified the snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// When etcd-operator was asked to suspend its reconciliation of the cluster.
	// +optional
	// +nullable
	FenceTime *metav1.Time `json:"fenceTime,omitempty"`

	// When the restore began.
	// +optional
	// +nullable
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the seed was adopted.
	// +optional
	// +nullable
	HandOffTime *metav1.Time `json:"handOffTime,omitempty"`
	// When the cluster had its full size, the snapshot was verified (verifyOnly), or the
	// restore had failed.
	// +optional
	// +nullable
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RestoreSnapshot is a snapshot that was checked.
type RestoreSnapshot struct {
	// Where it is stored: s3://bucket/key or pvc://claim/path.
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
	// The S3 store's ETag of this content.
	// +optional
	ETag string `json:"etag,omitempty"`
	// Its revision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The oldest revision that it can be restored to: that of etcd's last compaction before
	// it was taken, or 1.
	// +optional
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// How many keys it holds.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`
	// How its data compares with the hash that its EtcdBackup recorded of its source. A restore
	// compares the rebuilt database as well, before it is handed over.
	// +optional
	Hash HashComparison `json:"hash,omitempty"`
	// How many keys there were at spec.revision or spec.time, with those whose lease the
	// snapshot does not have; with spec.prefixes, only keys under these. Only of a snapshot that was verified
	// before the members were stopped.
	// +optional
	KeysAtRevision *int64 `json:"keysAtRevision,omitempty"`
	// The size of the database in bytes with what the archive adds to it. Only where spec.revision
	// or spec.time is beyond the snapshot.
	// +optional
	DatabaseSizeAtRevision int64 `json:"databaseSizeAtRevision,omitempty"`
	// The version of etcd whose data it is, such as 3.6.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// etcd's id of the cluster that it was taken of, if known.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// How it is compressed; empty: not compressed.
	// +optional
	Compression Compression `json:"compression,omitempty"`
	// The alarms that etcd had raised when the snapshot was taken, such as NOSPACE or
	// NOSPACE,CORRUPT. They are cleared in the restored cluster, which would refuse
	// writes with them. After CORRUPT, compare the data with that of another snapshot.
	// +optional
	ClearedAlarms string `json:"clearedAlarms,omitempty"`
	// Whether etcd's authentication was enabled: the restored cluster has the users and
	// passwords of that time.
	// +optional
	AuthEnabled bool `json:"authEnabled,omitempty"`
}

// HashComparison is how a snapshot's data compares with the hash that etcd reported for it.
type HashComparison string

const (
	// HashEqual: up to the revision of the hash, the data is that of the source.
	HashEqual HashComparison = "Equal"
	// HashNotRecorded: no hash is recorded beside the snapshot, as with those of etcdctl and of
	// older operators, and of sources that were not hashed.
	HashNotRecorded HashComparison = "NotRecorded"
	// HashNotComparable: a compaction came between, or no key existed at the hash's revision.
	HashNotComparable HashComparison = "NotComparable"
	// HashSkipped: spec.skipHashCheck is set.
	HashSkipped HashComparison = "Skipped"
)

// RestoredState describes which part of the snapshot, and of the archive beside it, is restored.
type RestoredState struct {
	// The revision of the backed-up cluster at which every key is restored: spec.revision, that
	// of spec.time, or the snapshot's own.
	Revision int64 `json:"revision"`
	// How many keys are restored: those that there were at that revision (under
	// spec.prefixes, if these are set), without keysWithoutLease unless spec.leasedKeys is
	// Keep.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`
	// How many later revisions the snapshot has, which are not restored.
	// +optional
	RevisionsLeftOut int64 `json:"revisionsLeftOut,omitempty"`
	// How many revisions after the snapshot's are restored from the archive beside it.
	// +optional
	RevisionsAppended int64 `json:"revisionsAppended,omitempty"`
	// How many keys there were at that revision that do not begin with one of spec.prefixes, and
	// are not restored. Only with spec.prefixes.
	// +optional
	KeysLeftOut *int64 `json:"keysLeftOut,omitempty"`
	// How many keys had a lease at that revision which the snapshot does not have. They are
	// omitted, or restored without a lease, as spec.leasedKeys says.
	// +optional
	KeysWithoutLease int64 `json:"keysWithoutLease,omitempty"`
}

// ServedState describes the data that an etcd on the restored database has served. It is the same
// as in the snapshot: the number of keys, the revision and etcd's own hash of all data (HashKV)
// are equal.
type ServedState struct {
	// The full version of the etcd that was started, such as 3.6.16.
	EtcdVersion string `json:"etcdVersion"`
	// How many keys it served.
	TotalKeys int64 `json:"totalKeys"`
}

// SnapshotCatalogue lists the snapshots under a prefix of a store.
type SnapshotCatalogue struct {
	// The number of snapshots under the prefix, by their names.
	Total int64 `json:"total"`
	// The number of other objects under the prefix, such as one-shot backups: their names
	// contain no time, and they are restored by s3.path.
	// +optional
	OtherObjects int64 `json:"otherObjects,omitempty"`
	// The newest of the snapshots, at most 20, as far as they fit; the newest first. Each
	// can be restored by s3.path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Newest []CatalogueEntry `json:"newest,omitempty"`
}

// CatalogueEntry is a snapshot in a store, as described by its name and by the store. Its
// content was not read.
type CatalogueEntry struct {
	// Where it is stored: s3://bucket/key.
	Location string `json:"location"`
	// When the backup was due, by its name.
	Time metav1.Time `json:"time"`
	// The revision of its source, by its name.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The oldest revision that it can be restored to, if the object's metadata has it.
	// +optional
	OldestRevision int64 `json:"oldestRevision,omitempty"`
	// etcd's id of the cluster that it was taken of, if the object's metadata has it.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Its size in bytes, as it is stored.
	// +optional
	Size int64 `json:"size,omitempty"`
	// True if no quorum confirmed this snapshot, or its member reported errors. A restore with
	// s3.prefix does not select it.
	// +optional
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// SeedEvictions counts the seeds that were evicted, refused by their node, or preempted. While members serve that are
// to be stopped for the seed, the restore fails at the fourth.
type SeedEvictions struct {
	// How many such seeds there were.
	Count int32 `json:"count"`
	// The last of them: it counts once.
	Seed string `json:"seed"`
	// When it was seen: the next seed follows after 10, 20, then always 40 seconds.
	Time metav1.Time `json:"time"`
}

// RestoreFailure is why a restore failed.
type RestoreFailure struct {
	// The reason of the condition Failed, in CamelCase.
	Reason string `json:"reason"`
	// What is wrong, and what to do.
	Message string `json:"message"`
}
