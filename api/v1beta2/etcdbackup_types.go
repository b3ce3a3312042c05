package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup backs up an etcd cluster: it streams a snapshot to a store or to a volume, once
// or on a schedule. Deleting it stops a running backup and keeps the stored ones.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcdbk},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`,description="Whether the backup is stored; for a repeated backup, whether the last one is"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="How the last backup ended, or what it is waiting for: the reason of the condition Complete"
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`,description="When the newest good backup was finished"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.snapshot.readableSize`,description="The size of the newest good backup as it is stored"
// +kubebuilder:printcolumn:name="Location",type=string,JSONPath=`.status.snapshot.location`,description="Where the newest good backup is stored"
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.backupPolicy.schedule`
// +kubebuilder:printcolumn:name="Archive",type=string,JSONPath=`.status.archive.phase`,description="Whether the changes between the snapshots are recorded"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Interval",type=integer,JSONPath=`.spec.backupPolicy.backupIntervalInSecond`,priority=1,description="Seconds from one backup to the next"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,priority=1,description="When the next backup is due"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.etcdRevision`,priority=1,description="The revision of the newest good backup"
// +kubebuilder:printcolumn:name="Recovery Point",type=date,JSONPath=`.status.archive.recoveryTime`,priority=1,description="Whatever was written longer ago is in the archive"
// +kubebuilder:printcolumn:name="Verified",type=date,JSONPath=`.status.verification.lastVerifiedTime`,priority=1,description="When a backup was last proved by restoring it"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.failure.reason`,priority=1,description="Why the last backup or attempt failed, or why the spec is refused"
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	// +required
	Spec BackupSpec `json:"spec"`
	// The observed state. Written by the operator only.
	// +optional
	Status BackupStatus `json:"status,omitempty"`
}

// EtcdBackupList is a list of EtcdBackups.
//
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdBackup `json:"items"`
}

// BackupSpec says what is backed up, where to, and when.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0 && has(self.clusterRef))",message="clusterRef must not be set together with etcdEndpoints: set clusterRef for an EtcdCluster of this namespace, or etcdEndpoints for any other etcd"
// +kubebuilder:validation:XValidation:rule="(has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0) || has(self.clusterRef)",message="no source is set: set clusterRef.name for an EtcdCluster of this namespace, or etcdEndpoints, such as [http://example-client:2379]"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",fieldPath=".s3",reason=FieldValueRequired,message="s3 is missing for storageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || has(self.oss)",fieldPath=".oss",reason=FieldValueRequired,message="oss is missing for storageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (!(has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (has(self.oss.path) || (has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.path",reason=FieldValueRequired,message="path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (!has(self.oss.path) || self.oss.path.size() <= 1000)",fieldPath=".oss.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || has(self.abs)",fieldPath=".abs",reason=FieldValueRequired,message="abs is missing for storageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || (!(has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || ((has(self.abs.path) && self.abs.path.size() > 0) || (has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.path",reason=FieldValueRequired,message="path is missing: set it to a container and a blob, such as mycontainer/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || (!has(self.abs.path) || self.abs.path.size() <= 1000)",fieldPath=".abs.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || has(self.gcs)",fieldPath=".gcs",reason=FieldValueRequired,message="gcs is missing for storageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || (!(has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || ((has(self.gcs.path) && self.gcs.path.size() > 0) || (has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.path",reason=FieldValueRequired,message="path is missing: set it to a bucket and an object, such as mybucket/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || (!has(self.gcs.path) || self.gcs.path.size() <= 1000)",fieldPath=".gcs.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || has(self.pvc)",fieldPath=".pvc",reason=FieldValueRequired,message="pvc is missing for storageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || !has(self.pvc)",fieldPath=".pvc",reason=FieldValueForbidden,message="pvc must not be set when storageType is S3: remove pvc, or set storageType: PVC and remove s3"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || !has(self.s3)",fieldPath=".s3",reason=FieldValueForbidden,message="s3 must not be set when storageType is PVC: remove s3, or set storageType: S3 and remove pvc"
// +kubebuilder:validation:XValidation:rule="!has(self.archive) || (has(self.backupPolicy) && ((has(self.backupPolicy.schedule) && self.backupPolicy.schedule.size() > 0) || (has(self.backupPolicy.backupIntervalInSecond) && self.backupPolicy.backupIntervalInSecond > 0)))",fieldPath=".archive",reason=FieldValueForbidden,message="archive must not be set for a single backup, because an archive starts from repeated backups: set backupPolicy.schedule or backupPolicy.backupIntervalInSecond"
type BackupSpec struct {
	// The URLs of the cluster's members or of a Service in front of them, such as
	// http://example-client:2379. Those that do not answer are skipped; of the others, a healthy
	// and up-to-date member is the source. All must be of one cluster. Must not be set together
	// with clusterRef.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\]):[0-9]{1,5}/?$')",message="the endpoint must be a URL with scheme, host and port, such as http://example-client:2379, or with https:// if the members use TLS"
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`

	// The EtcdCluster of this namespace to back up. Its members are the endpoints. If
	// clientTLSSecret is omitted, the Secret with the operators' certificate of its spec.TLS is
	// used. If authSecret is omitted, its spec.auth.rootSecret is used. Must not be set together
	// with etcdEndpoints.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// The Secret with the client certificate for https endpoints: etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt, or those of a kubernetes.io/tls Secret (tls.crt,
	// tls.key, ca.crt). The user who creates this object needs the right to create Pods, or the
	// verb use or get on that Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="clientTLSSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-client-tls"
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`

	// The Secret with the password of a user that has etcd's role root, for a cluster on which
	// etcd's authentication is enabled: keys password and, unless it is root, username, as in a
	// Secret of type kubernetes.io/basic-auth. With clusterRef it is the EtcdCluster's
	// spec.auth.rootSecret, unless it is set here. Any other Secret must list in its key
	// etcd-endpoints where its password can be sent: https:// endpoints, or EtcdCluster/NAME for
	// the members of that EtcdCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="authSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-root"
	AuthSecret string `json:"authSecret,omitempty"`

	// Where the backup is stored: S3, OSS, ABS, GCS or PVC.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['S3', 'PVC', 'ABS', 'GCS', 'OSS']",messageExpression="'storageType ' + self + ' is not supported: set S3, OSS, ABS, GCS or PVC'"
	StorageType StorageType `json:"storageType"`

	// When backups are made and how many are kept. Without it, one backup is made.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`

	// The bucket and key, for storageType S3.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(has(self.prefix) && self.prefix.size() > 0)",fieldPath=".prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
	// +kubebuilder:validation:XValidation:rule="has(self.path) || (has(self.prefix) && self.prefix.size() > 0)",fieldPath=".path",reason=FieldValueRequired,message="path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"
	// +kubebuilder:validation:XValidation:rule="!has(self.path) || self.path.size() <= 1000",fieldPath=".path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
	S3 *S3Source `json:"s3,omitempty"`

	// The PVC and file, for storageType PVC.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.path.size() <= 1000",fieldPath=".path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
	// +kubebuilder:validation:XValidation:rule="!self.path.matches('[^/]{201}$')",fieldPath=".path",message="path must not have a file name of more than 200 characters, because repeated backups append up to 51 more and file systems allow 255: set a shorter name"
	PVC *PVCSource `json:"pvc,omitempty"`

	// The container and blob, for storageType ABS.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`

	// The bucket and object, for storageType GCS.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`

	// The bucket and key, for storageType OSS.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`

	// Suspends the backup: none is started until this is false again. A running one
	// continues.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Whether a one-shot backup replaces an existing object at its path. It does so only
	// with a complete and verified snapshot, and only if overwritePolicy permits it. If
	// false, a backup whose path exists fails. Repeated backups have unique names and never
	// replace anything. Default true.
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`

	// What a backup can replace at its path, and what retention can delete. SameCluster:
	// only backups of the same cluster (by etcd's cluster id) whose revision is not higher.
	// Always: also backups of another cluster, of a higher revision, or of an unknown
	// cluster, such as those of coreos/etcd-operator. On a volume, a file that no backup
	// operator wrote is never replaced. Default SameCluster.
	// +optional
	// +kubebuilder:validation:Enum="";SameCluster;Always
	OverwritePolicy OverwritePolicy `json:"overwritePolicy,omitempty"`

	// How long this object is kept after a one-shot backup has succeeded or failed,
	// in seconds. The stored backup is kept. Default: forever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// How the snapshot is compressed: none or zstd. Default none.
	// +optional
	// +kubebuilder:validation:Enum="";none;zstd
	Compression Compression `json:"compression,omitempty"`

	// Whether the source is asked to hash its data (HashKV), which a restore compares with what
	// it has rebuilt. During that time, that member answers no reads and applies no writes. Auto:
	// if the database uses at most 512 MiB. Always: whatever its size. Never: not at all. Default
	// Auto.
	// +optional
	// +kubebuilder:validation:Enum="";Auto;Always;Never
	RecordHash RecordHash `json:"recordHash,omitempty"`

	// A second place to which each backup is copied once it is stored, and each segment of the
	// archive: another store, account or region. A copy that fails neither fails nor delays the
	// backup: the condition Copied reports it, and the next backup copies what is missing there.
	// spec.backupPolicy applies there as well: it decides which of the backups that this
	// EtcdBackup has copied are deleted. Without it, nothing is copied.
	// +optional
	CopyTo *BackupCopy `json:"copyTo,omitempty"`

	// Records all changes between the snapshots of a repeated backup beside them, for as long
	// as this is set and suspend is false. Without it, only the snapshots are stored.
	// +optional
	Archive *BackupArchive `json:"archive,omitempty"`

	// Proves backups by restoring them: a Job rebuilds the newest one as a restore does, with the
	// archive if there is one, starts etcd on it, and compares what that serves with what was
	// backed up. It needs etcd-restore-operator. Without it, no backup is verified.
	// +optional
	Verification *BackupVerification `json:"verification,omitempty"`

	// The settings of the Pods that make the backup and the archive.
	// +optional
	Pod *AgentPod `json:"pod,omitempty"`
}

// BackupCopy is a second place for backups, which has the same names as the first: a store of any
// type, or a PVC.
//
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",fieldPath=".s3",reason=FieldValueRequired,message="s3 is missing for storageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || has(self.oss)",fieldPath=".oss",reason=FieldValueRequired,message="oss is missing for storageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (!(has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (has(self.oss.path) || (has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.path",reason=FieldValueRequired,message="path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'OSS' || !has(self.oss) || (!has(self.oss.path) || self.oss.path.size() <= 1000)",fieldPath=".oss.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || has(self.abs)",fieldPath=".abs",reason=FieldValueRequired,message="abs is missing for storageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || (!(has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || ((has(self.abs.path) && self.abs.path.size() > 0) || (has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.path",reason=FieldValueRequired,message="path is missing: set it to a container and a blob, such as mycontainer/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || !has(self.abs) || (!has(self.abs.path) || self.abs.path.size() <= 1000)",fieldPath=".abs.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || has(self.gcs)",fieldPath=".gcs",reason=FieldValueRequired,message="gcs is missing for storageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || (!(has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || ((has(self.gcs.path) && self.gcs.path.size() > 0) || (has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.path",reason=FieldValueRequired,message="path is missing: set it to a bucket and an object, such as mybucket/etcd.backup"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || !has(self.gcs) || (!has(self.gcs.path) || self.gcs.path.size() <= 1000)",fieldPath=".gcs.path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || has(self.pvc)",fieldPath=".pvc",reason=FieldValueRequired,message="pvc is missing for storageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || !has(self.pvc)",fieldPath=".pvc",reason=FieldValueForbidden,message="pvc must not be set when storageType is S3: remove pvc, or set storageType: PVC and remove s3"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || !has(self.s3)",fieldPath=".s3",reason=FieldValueForbidden,message="s3 must not be set when storageType is PVC: remove s3, or set storageType: S3 and remove pvc"
type BackupCopy struct {
	// Where the copies are stored: S3, OSS, ABS, GCS or PVC.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['S3', 'PVC', 'ABS', 'GCS', 'OSS']",messageExpression="'storageType ' + self + ' is not supported: set S3, OSS, ABS, GCS or PVC'"
	StorageType StorageType `json:"storageType"`

	// The bucket and key, for storageType S3.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(has(self.prefix) && self.prefix.size() > 0)",fieldPath=".prefix",reason=FieldValueForbidden,message="prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"
	// +kubebuilder:validation:XValidation:rule="has(self.path) || (has(self.prefix) && self.prefix.size() > 0)",fieldPath=".path",reason=FieldValueRequired,message="path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"
	// +kubebuilder:validation:XValidation:rule="!has(self.path) || self.path.size() <= 1000",fieldPath=".path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
	S3 *S3Source `json:"s3,omitempty"`

	// The bucket and key, for storageType OSS.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`

	// The container and blob, for storageType ABS.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`

	// The bucket and object, for storageType GCS.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`

	// The PVC and file, for storageType PVC. The user who creates this object needs the same
	// right as for the PVC of the backup itself.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.path.size() <= 1000",fieldPath=".path",message="path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
	// +kubebuilder:validation:XValidation:rule="!self.path.matches('[^/]{201}$')",fieldPath=".path",message="path must not have a file name of more than 200 characters, because repeated backups append up to 51 more and file systems allow 255: set a shorter name"
	PVC *PVCSource `json:"pvc,omitempty"`
}

// BackupArchive says how the changes between snapshots are recorded. They are stored beside the
// snapshots, in a folder whose name is the path with the suffix _archive.
type BackupArchive struct {
	// The longest time until a change is stored, from 1s to 1h. A shorter interval creates more
	// and smaller objects. Default 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="interval must be a duration from 1s to 1h with its unit, such as 10s or 1m30s"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// BackupVerification says when the newest backup is verified, and has the settings of the Pod
// that verifies it. The Pod has limits of one CPU and 2Gi of memory unless resources is set, and
// avoids nodes that run members of an EtcdCluster unless affinity is set.
type BackupVerification struct {
	// When the newest good backup is verified: a cron expression, as in backupPolicy.schedule.
	// Default: after each backup.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^ *((CRON_)?TZ=[-+_/A-Za-z0-9]+ +)?(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every ([0-9]+([.][0-9]+)?(ms|s|m|h))+|[*?0-9,/-]+ +[*?0-9,/-]+ +[*?0-9,/-]+ +[*?0-9A-Za-z,/-]+ +[*?0-9A-Za-z,/-]+) *$')",message="schedule must be a cron expression of five fields (minute, hour, day of the month, month, day of the week), such as 0 */6 * * *, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5"
	Schedule string `json:"schedule,omitempty"`

	// The time limit of one verification, in seconds. Default 3600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`

	// CPU, memory and ephemeral-storage. The Pod stores the whole database on its node's disk:
	// unless set here, it requests 2Gi of ephemeral-storage and is limited to 10Gi. etcd needs
	// memory for each key.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// The labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// The taints that the Pod tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// The scheduling constraints of the Pod. Default: no node that runs a member of an
	// EtcdCluster when the verification begins. Set {} to permit all.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// The priority class of the Pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="priorityClassName must be the name of a PriorityClass: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as low"
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// BackupPolicy says when backups are made and how many are kept. Without
// backupIntervalInSecond and schedule, one backup is made.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.schedule) && self.schedule.size() > 0 && has(self.backupIntervalInSecond) && self.backupIntervalInSecond > 0)",message="schedule must not be set together with backupIntervalInSecond: remove one of them"
type BackupPolicy struct {
	// The time limit of one backup, in seconds. Default 0: no limit while it makes
	// progress. While the store or the source does not answer, a backup is retried until
	// the next one is due, or for an hour if none follows, but not beyond this limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`

	// Makes a backup at once, and then at this interval, in seconds. Default 0: once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`

	// How many backups of this path are kept. After a successful backup, older ones of the
	// same cluster, by the time in their names, are deleted; spec.overwritePolicy says what
	// else can be. Backups made without a quorum, or of an unhealthy member, neither count
	// nor are deleted. Only for repeated backups. Default 0: all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBackups int `json:"maxBackups,omitempty"`

	// How many of the newest backups of each cluster (by etcd's cluster id) are always kept,
	// whatever maxBackups, maxAge and overwritePolicy say. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinBackups int `json:"minBackups,omitempty"`

	// When backups are made: a cron expression, such as "0 */6 * * *", in UTC; prefix it
	// with CRON_TZ=Europe/Berlin for another time zone. Cannot be combined with
	// backupIntervalInSecond.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^ *((CRON_)?TZ=[-+_/A-Za-z0-9]+ +)?(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every ([0-9]+([.][0-9]+)?(ms|s|m|h))+|[*?0-9,/-]+ +[*?0-9,/-]+ +[*?0-9,/-]+ +[*?0-9A-Za-z,/-]+ +[*?0-9A-Za-z,/-]+) *$')",message="schedule must be a cron expression of five fields (minute, hour, day of the month, month, day of the week), such as 0 */6 * * *, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5"
	Schedule string `json:"schedule,omitempty"`

	// How long backups of this path are kept, such as 168h. After a successful backup, older ones
	// of the same cluster, by the time in their names, are deleted. Age is counted from the time
	// of the successful backup, or from now if that is earlier. The newest good backup is always
	// kept. Only for repeated backups. Default: forever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('1s')",message="maxAge must be a duration of at least 1s with its unit, such as 12h, 168h (a week) or 1h30m"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`

	// What happens when a backup is due while the last one still runs. Forbid: it waits, and one
	// backup makes up for all that were missed. Allow: both run. Replace: the running one is
	// stopped. Default Forbid.
	// +optional
	// +kubebuilder:validation:Enum="";Forbid;Allow;Replace
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// How late a repeated backup can start, in seconds; after that it counts as missed.
	// Default: no limit, and the last missed backup is made however late it is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
}

// OverwritePolicy says which backups can be replaced or deleted.
type OverwritePolicy string

// The overwrite policies.
const (
	// OverwriteSameCluster keeps backups of another or of an unknown cluster, and newer ones.
	OverwriteSameCluster OverwritePolicy = "SameCluster"
	// OverwriteAlways spares minBackups of each cluster, and from deletion also backups that
	// were made without a quorum or of an unhealthy member.
	OverwriteAlways OverwritePolicy = "Always"
)

// RecordHash says which sources are asked to hash their data.
type RecordHash string

// Which sources are hashed. Auto is the default.
const (
	// RecordHashAuto hashes databases of up to 512 MiB in use.
	RecordHashAuto RecordHash = "Auto"
	// RecordHashAlways hashes databases of any size, and waits longer.
	RecordHashAlways RecordHash = "Always"
	// RecordHashNever hashes none.
	RecordHashNever RecordHash = "Never"
)

// ConcurrencyPolicy says what happens when a backup is due and the last one still
// runs.
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ForbidConcurrent waits until the running backup has ended.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// AllowConcurrent runs both.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ReplaceConcurrent stops the running backup.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)
