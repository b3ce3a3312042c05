package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore rebuilds an etcd cluster from a snapshot: it has the EtcdCluster fenced,
// checks the snapshot and rebuilds its database in the Pod of a new member (the seed) while
// the old members serve, stops these, starts the seed, and hands it over to etcd-operator,
// which grows it to a full cluster. The EtcdCluster stays the same object, and its clients
// keep their Service.
//
// With verifyOnly it checks the snapshot, and changes no cluster.
//
// A restore runs once. If it is deleted before the seed is handed over, it rolls back to
// the old members, if they have volumes; after that, deleting it changes no data.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcdrs},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.cluster`,description="The EtcdCluster that is restored"
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`,description="Whether the cluster serves what the snapshot holds"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="What the restore is doing or waiting for: the reason of the condition Complete"
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress`,description="How much of the snapshot is fetched"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.snapshot.readableSize`,description="The size of the snapshot"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.status.seedMember`,priority=1,description="The member that is restored from the snapshot"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,priority=1,description="The revision that the restored cluster begins at"
// +kubebuilder:printcolumn:name="Location",type=string,JSONPath=`.status.snapshot.location`,priority=1,description="Where the snapshot is stored"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.failure.reason`,priority=1,description="Why the restore failed"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || has(self.spec.clusterTemplate) || !has(self.spec.etcdCluster) || self.metadata.name == self.spec.etcdCluster.name || (has(self.spec.target) && self.spec.target.size() > 0)",optionalOldSelf=true,fieldPath=".spec.target",reason=FieldValueRequired,messageExpression="'target must be set when EtcdCluster ' + self.spec.etcdCluster.name + ' has another name than this EtcdRestore: set target: InPlace to replace its data with the snapshot, or target: New to create EtcdCluster ' + self.metadata.name"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || has(self.spec.clusterTemplate) || !has(self.spec.etcdCluster) || self.metadata.name != self.spec.etcdCluster.name || !(has(self.spec.target) && self.spec.target == 'New')",optionalOldSelf=true,fieldPath=".spec.target",message="target must not be New when etcdCluster.name is the name of this EtcdRestore, because the new EtcdCluster gets that name: give this EtcdRestore another name, or set target: InPlace to replace the data of the existing EtcdCluster with the snapshot"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !(has(self.spec.clusterTemplate) || (has(self.spec.target) && self.spec.target == 'New')) || self.metadata.name.size() <= 52",optionalOldSelf=true,message="metadata.name must not have more than 52 characters, because the new EtcdCluster gets this name, and the names of members, Pods and DNS records append 11 more: choose a shorter name"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !(has(self.spec.clusterTemplate) || (has(self.spec.target) && self.spec.target == 'New')) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,message="metadata.name must be a valid name of a Service, because the new EtcdCluster and its Service get this name: choose lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	// +required
	Spec RestoreSpec `json:"spec"`
	// The observed state. Written by the operator only.
	// +optional
	Status RestoreStatus `json:"status,omitempty"`
}

// EtcdRestoreList is a list of EtcdRestores.
//
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdRestore `json:"items"`
}

// RestoreSpec says which snapshot is restored, and to which cluster. Since a restore runs
// once, only acceptDataLoss, acceptRunningOldMembers, stopMembers and timeoutInSecond can
// be changed.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.etcdCluster) && has(self.clusterTemplate))",message="etcdCluster must not be set together with clusterTemplate: set etcdCluster for an EtcdCluster of this namespace, or clusterTemplate for a new one with another spec"
// +kubebuilder:validation:XValidation:rule="has(self.etcdCluster) || has(self.clusterTemplate) || (has(self.verifyOnly) && self.verifyOnly)",message="no target is set: set etcdCluster.name to an EtcdCluster of this namespace, clusterTemplate to create a new one, or verifyOnly: true to check the snapshot without changing a cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterTemplate) || !(has(self.target) && self.target == 'InPlace')",fieldPath=".target",message="target must not be InPlace when clusterTemplate is set: set target: New, or set etcdCluster instead of clusterTemplate"
// +kubebuilder:validation:XValidation:rule="(has(self.backupStorageType) && self.backupStorageType.size() > 0) || has(self.backupRef)",fieldPath=".backupStorageType",reason=FieldValueRequired,message="no snapshot is set: set backupRef.name to an EtcdBackup of this namespace, backupStorageType: S3 and s3, or backupStorageType: PVC and pvc"
// +kubebuilder:validation:XValidation:rule="!has(self.backupRef) || !((has(self.backupStorageType) && self.backupStorageType.size() > 0) || has(self.s3) || has(self.pvc))",fieldPath=".backupRef",reason=FieldValueForbidden,message="backupRef must not be set together with backupStorageType: remove backupRef, or remove backupStorageType and the store (such as s3 or pvc)"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'S3') || has(self.s3) || has(self.backupRef)",fieldPath=".s3",reason=FieldValueRequired,message="s3 is missing for backupStorageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'OSS') || has(self.oss) || has(self.backupRef)",fieldPath=".oss",reason=FieldValueRequired,message="oss is missing for backupStorageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'OSS') || !has(self.oss) || (has(self.oss.path) || (has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.path",reason=FieldValueRequired,message="path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose key begins with it, such as mybucket/prod/"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'OSS') || !has(self.oss) || (!(has(self.oss.path) && has(self.oss.prefix) && self.oss.prefix.size() > 0))",fieldPath=".oss.prefix",reason=FieldValueForbidden,message="prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'ABS') || has(self.abs) || has(self.backupRef)",fieldPath=".abs",reason=FieldValueRequired,message="abs is missing for backupStorageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'ABS') || !has(self.abs) || ((has(self.abs.path) && self.abs.path.size() > 0) || (has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.path",reason=FieldValueRequired,message="path or prefix must be set: set path for one snapshot, such as mycontainer/etcd.backup, or prefix for the newest whose name begins with it, such as mycontainer/prod/"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'ABS') || !has(self.abs) || (!(has(self.abs.path) && self.abs.path.size() > 0 && has(self.abs.prefix) && self.abs.prefix.size() > 0))",fieldPath=".abs.prefix",reason=FieldValueForbidden,message="prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'GCS') || has(self.gcs) || has(self.backupRef)",fieldPath=".gcs",reason=FieldValueRequired,message="gcs is missing for backupStorageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'GCS') || !has(self.gcs) || ((has(self.gcs.path) && self.gcs.path.size() > 0) || (has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.path",reason=FieldValueRequired,message="path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose name begins with it, such as mybucket/prod/"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'GCS') || !has(self.gcs) || (!(has(self.gcs.path) && self.gcs.path.size() > 0 && has(self.gcs.prefix) && self.gcs.prefix.size() > 0))",fieldPath=".gcs.prefix",reason=FieldValueForbidden,message="prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'PVC') || has(self.pvc) || has(self.backupRef)",fieldPath=".pvc",reason=FieldValueRequired,message="pvc is missing for backupStorageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'S3') || !has(self.pvc) || has(self.backupRef)",fieldPath=".pvc",reason=FieldValueForbidden,message="pvc must not be set when backupStorageType is S3: remove pvc, or set backupStorageType: PVC and remove s3"
// +kubebuilder:validation:XValidation:rule="!(has(self.backupStorageType) && self.backupStorageType == 'PVC') || !has(self.s3) || has(self.backupRef)",fieldPath=".s3",reason=FieldValueForbidden,message="s3 must not be set when backupStorageType is PVC: remove s3, or set backupStorageType: S3 and remove pvc"
// +kubebuilder:validation:XValidation:rule="!(has(self.leasedKeys) && self.leasedKeys.size() > 0) || has(self.revision) || has(self.time)",fieldPath=".leasedKeys",reason=FieldValueForbidden,message="leasedKeys must not be set without revision or time, because it applies only to restores to a point in time: set revision or time, or remove leasedKeys"
// +kubebuilder:validation:XValidation:rule="!(has(self.revision) && has(self.time))",fieldPath=".time",reason=FieldValueForbidden,message="time must not be set together with revision: set revision to the last revision to keep, or time to restore what the archive recorded until then"
// +kubebuilder:validation:XValidation:rule="!(has(self.prefixes) && self.prefixes.size() > 0) || has(self.clusterTemplate) || (has(self.target) && self.target == 'New') || (has(self.verifyOnly) && self.verifyOnly)",fieldPath=".prefixes",reason=FieldValueForbidden,message="prefixes must not be set for a restore in place, because all other keys of the cluster would be lost: set target: New, or clusterTemplate instead of etcdCluster, and copy the keys from the new cluster"
// +kubebuilder:validation:XValidation:rule="has(self.etcdCluster) == has(oldSelf.etcdCluster) && (!has(self.etcdCluster) || self.etcdCluster == oldSelf.etcdCluster) && (has(self.target) && self.target.size() > 0) == (has(oldSelf.target) && oldSelf.target.size() > 0) && (!has(self.target) || !has(oldSelf.target) || self.target == oldSelf.target) && has(self.clusterTemplate) == has(oldSelf.clusterTemplate) && (!has(self.clusterTemplate) || self.clusterTemplate == oldSelf.clusterTemplate)",reason=FieldValueForbidden,message="etcdCluster, target and clusterTemplate cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.backupStorageType) && self.backupStorageType.size() > 0) == (has(oldSelf.backupStorageType) && oldSelf.backupStorageType.size() > 0) && (!has(self.backupStorageType) || !has(oldSelf.backupStorageType) || self.backupStorageType == oldSelf.backupStorageType) && has(self.s3) == has(oldSelf.s3) && has(self.pvc) == has(oldSelf.pvc) && (!has(self.pvc) || self.pvc == oldSelf.pvc) && has(self.backupRef) == has(oldSelf.backupRef) && (has(self.clusterID) && self.clusterID.size() > 0) == (has(oldSelf.clusterID) && oldSelf.clusterID.size() > 0) && (!has(self.clusterID) || !has(oldSelf.clusterID) || self.clusterID == oldSelf.clusterID) && (has(self.skipHashCheck) && self.skipHashCheck) == (has(oldSelf.skipHashCheck) && oldSelf.skipHashCheck)",reason=FieldValueForbidden,message="backupStorageType, s3, pvc, backupRef, clusterID and skipHashCheck cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="has(self.revisionBump) == has(oldSelf.revisionBump) && (!has(self.revisionBump) || self.revisionBump == oldSelf.revisionBump) && has(self.pod) == has(oldSelf.pod) && (!has(self.pod) || self.pod == oldSelf.pod)",reason=FieldValueForbidden,message="revisionBump and pod cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.revision) ? self.revision : 0) == (has(oldSelf.revision) ? oldSelf.revision : 0) && (has(self.leasedKeys) && self.leasedKeys == 'Keep') == (has(oldSelf.leasedKeys) && oldSelf.leasedKeys == 'Keep')",fieldPath=".revision",reason=FieldValueForbidden,message="revision and leasedKeys cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="has(self.time) == has(oldSelf.time) && (!has(self.time) || self.time == oldSelf.time)",fieldPath=".time",reason=FieldValueForbidden,message="time cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.prefixes) ? self.prefixes : []) == (has(oldSelf.prefixes) ? oldSelf.prefixes : [])",fieldPath=".prefixes",reason=FieldValueForbidden,message="prefixes cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.verifyOnly) && self.verifyOnly) == (has(oldSelf.verifyOnly) && oldSelf.verifyOnly)",fieldPath=".verifyOnly",reason=FieldValueForbidden,message="verifyOnly cannot be changed, because a restore runs once: create another EtcdRestore to restore what this one has verified"
// +kubebuilder:validation:XValidation:rule="!has(self.startEtcd) || (has(self.verifyOnly) && self.verifyOnly)",fieldPath=".startEtcd",reason=FieldValueForbidden,message="startEtcd must not be set without verifyOnly: true, because a restore starts etcd in its cluster: set verifyOnly: true, or remove startEtcd"
// +kubebuilder:validation:XValidation:rule="has(self.startEtcd) == has(oldSelf.startEtcd) && (!has(self.startEtcd) || self.startEtcd == oldSelf.startEtcd)",fieldPath=".startEtcd",reason=FieldValueForbidden,message="startEtcd cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.allowEmptySnapshot) && self.allowEmptySnapshot) == (has(oldSelf.allowEmptySnapshot) && oldSelf.allowEmptySnapshot)",fieldPath=".allowEmptySnapshot",reason=FieldValueForbidden,message="allowEmptySnapshot cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.acceptRunningOldMembers) && self.acceptRunningOldMembers) || !(has(oldSelf.acceptRunningOldMembers) && oldSelf.acceptRunningOldMembers)",fieldPath=".acceptRunningOldMembers",reason=FieldValueForbidden,message="acceptRunningOldMembers cannot be changed back, because the restore might already have continued: set it to true again, or delete this EtcdRestore, and create another one"
// +kubebuilder:validation:XValidation:rule="(has(self.acceptDataLoss) && self.acceptDataLoss) || !(has(oldSelf.acceptDataLoss) && oldSelf.acceptDataLoss)",fieldPath=".acceptDataLoss",reason=FieldValueForbidden,message="acceptDataLoss cannot be changed back, because the members might already have been stopped: set it to true again, or delete this EtcdRestore, and create another one"
type RestoreSpec struct {
	// The EtcdCluster of this namespace: the one to restore (target InPlace), or the one whose
	// spec the new cluster gets (target New). Must not be set together with clusterTemplate.
	// +optional
	EtcdCluster *ClusterReference `json:"etcdCluster,omitempty"`

	// InPlace restores the EtcdCluster that etcdCluster names; its current data
	// is replaced. New creates an EtcdCluster of this EtcdRestore's name with the spec of the
	// other, which is not changed. Default: InPlace, if the two names are equal; otherwise it
	// is required.
	// +optional
	Target RestoreTarget `json:"target,omitempty"`

	// The new EtcdCluster, which gets this EtcdRestore's name. Must not be set together with
	// etcdCluster.
	// +optional
	ClusterTemplate *ClusterTemplate `json:"clusterTemplate,omitempty"`

	// Where the snapshot is stored: S3, OSS, ABS, GCS or PVC. Empty with backupRef.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['', 'S3', 'PVC', 'ABS', 'GCS', 'OSS']",messageExpression="'backupStorageType ' + self + ' is not supported: set S3, OSS, ABS, GCS or PVC'"
	BackupStorageType StorageType `json:"backupStorageType,omitempty"`

	// The bucket and key, for backupStorageType S3.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.path) || (has(self.prefix) && self.prefix.size() > 0)",fieldPath=".path",reason=FieldValueRequired,message="path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose key begins with it, such as mybucket/prod/"
	// +kubebuilder:validation:XValidation:rule="!(has(self.path) && has(self.prefix) && self.prefix.size() > 0)",fieldPath=".prefix",reason=FieldValueForbidden,message="prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"
	// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : '') == (has(oldSelf.path) ? oldSelf.path : '') && (has(self.prefix) ? self.prefix : '') == (has(oldSelf.prefix) ? oldSelf.prefix : '') && (has(self.awsSecret) ? self.awsSecret : '') == (has(oldSelf.awsSecret) ? oldSelf.awsSecret : '') && (has(self.endpoint) ? self.endpoint : '') == (has(oldSelf.endpoint) ? oldSelf.endpoint : '') && (has(self.forcePathStyle) ? self.forcePathStyle : false) == (has(oldSelf.forcePathStyle) ? oldSelf.forcePathStyle : false) && (has(self.region) ? self.region : '') == (has(oldSelf.region) ? oldSelf.region : '') && (has(self.storageClass) ? self.storageClass : '') == (has(oldSelf.storageClass) ? oldSelf.storageClass : '') && (has(self.serverSideEncryption) ? self.serverSideEncryption : '') == (has(oldSelf.serverSideEncryption) ? oldSelf.serverSideEncryption : '') && (has(self.kmsKeyID) ? self.kmsKeyID : '') == (has(oldSelf.kmsKeyID) ? oldSelf.kmsKeyID : '') && (has(self.caSecret) ? self.caSecret : '') == (has(oldSelf.caSecret) ? oldSelf.caSecret : '') && (has(self.caConfigMap) ? self.caConfigMap : '') == (has(oldSelf.caConfigMap) ? oldSelf.caConfigMap : '')",reason=FieldValueForbidden,message="s3 cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	S3 *S3Source `json:"s3,omitempty"`

	// The PVC and file, for backupStorageType PVC.
	// +optional
	PVC *PVCSource `json:"pvc,omitempty"`

	// The EtcdBackup of this namespace that has made the snapshot; location and credentials are
	// taken from it. Must not be set together with backupStorageType.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.name == oldSelf.name && (has(self.entry) ? self.entry : '') == (has(oldSelf.entry) ? oldSelf.entry : '')",reason=FieldValueForbidden,message="backupRef cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	BackupRef *BackupReference `json:"backupRef,omitempty"`

	// The container and blob, for backupStorageType ABS.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : '') == (has(oldSelf.path) ? oldSelf.path : '') && (has(self.prefix) ? self.prefix : '') == (has(oldSelf.prefix) ? oldSelf.prefix : '') && (has(self.absSecret) ? self.absSecret : '') == (has(oldSelf.absSecret) ? oldSelf.absSecret : '') && (has(self.endpoint) ? self.endpoint : '') == (has(oldSelf.endpoint) ? oldSelf.endpoint : '') && (has(self.caSecret) ? self.caSecret : '') == (has(oldSelf.caSecret) ? oldSelf.caSecret : '')",reason=FieldValueForbidden,message="abs cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	ABS *ABSSource `json:"abs,omitempty"`

	// The bucket and object, for backupStorageType GCS.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : '') == (has(oldSelf.path) ? oldSelf.path : '') && (has(self.prefix) ? self.prefix : '') == (has(oldSelf.prefix) ? oldSelf.prefix : '') && (has(self.gcpSecret) ? self.gcpSecret : '') == (has(oldSelf.gcpSecret) ? oldSelf.gcpSecret : '') && (has(self.endpoint) ? self.endpoint : '') == (has(oldSelf.endpoint) ? oldSelf.endpoint : '') && (has(self.caSecret) ? self.caSecret : '') == (has(oldSelf.caSecret) ? oldSelf.caSecret : '')",reason=FieldValueForbidden,message="gcs cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	GCS *GCSSource `json:"gcs,omitempty"`

	// The bucket and key, for backupStorageType OSS.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : '') == (has(oldSelf.path) ? oldSelf.path : '') && (has(self.prefix) ? self.prefix : '') == (has(oldSelf.prefix) ? oldSelf.prefix : '') && (has(self.ossSecret) ? self.ossSecret : '') == (has(oldSelf.ossSecret) ? oldSelf.ossSecret : '') && (has(self.endpoint) ? self.endpoint : '') == (has(oldSelf.endpoint) ? oldSelf.endpoint : '') && (has(self.caSecret) ? self.caSecret : '') == (has(oldSelf.caSecret) ? oldSelf.caSecret : '')",reason=FieldValueForbidden,message="oss cannot be changed, because a restore runs once: delete this EtcdRestore, and create another one"
	OSS *OSSSource `json:"oss,omitempty"`

	// Restores every key as it was at this revision of the backed-up cluster, instead of all
	// that the snapshot holds. A snapshot holds every revision from the last compaction before
	// it was taken up to its own. Later ones are in the archive that an EtcdBackup with
	// spec.archive has recorded beside it. With backupRef without entry, the newest snapshot in
	// its status.history that holds this revision is taken; with s3.prefix, the oldest; where
	// none holds it, the newest before it, and the archive. Default: the snapshot's own revision.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > 0",message="revision must be more than 0: set it to the last revision to keep, or remove it to restore the whole snapshot"
	Revision int64 `json:"revision,omitempty"`

	// Restores every key as it was at this time, in RFC 3339, such as 2026-03-01T12:00:00Z, by
	// the archive that an EtcdBackup with spec.archive has recorded beside the snapshot: nothing
	// that was written later, and all that was written up to about a second before. With
	// backupRef without entry, and with s3.prefix, the newest snapshot from before is taken. A
	// time that the archive does not cover is refused. Must not be set together with revision.
	// Default: the snapshot's own.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// With revision or time: what happens to keys that had a lease at that point, if the snapshot
	// does not have this lease. Then the lease was revoked or had expired before the snapshot was
	// taken, or it was granted later. Drop omits the keys, because their owner has given them up.
	// Keep restores them without a lease: they never expire. Default Drop.
	// +optional
	LeasedKeys LeasedKeys `json:"leasedKeys,omitempty"`

	// Restores only the keys that begin with one of these prefixes, to a new cluster (target
	// New, or clusterTemplate), as of revision or time if that is set. Users, roles and leases are
	// restored as always. At most 16, such as app/tenant-7/. Default: all keys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.size() > 0)",message="prefixes must not have an empty entry, because all keys begin with it: remove the entry, or remove prefixes to restore all keys"
	Prefixes []string `json:"prefixes,omitempty"`

	// Fetches and verifies the snapshot, and does nothing else: no cluster needs to exist,
	// and none is changed, whatever else is set here. The phase ends in Verified, and
	// status.snapshot describes the snapshot. Default false.
	// +optional
	VerifyOnly bool `json:"verifyOnly,omitempty"`

	// With verifyOnly: rebuilds the database as a restore does, in scratch space, starts etcd on
	// it, and compares all that etcd serves with what the snapshot holds. status.served has the
	// result. Default: no etcd is started.
	// +optional
	StartEtcd *StartEtcd `json:"startEtcd,omitempty"`

	// Refuses a snapshot of any other cluster than the one with this id (16 hexadecimal digits,
	// as in status.clusterID of its EtcdCluster). Backups that an EtcdBackup has stored record
	// this id. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[0-9a-f]{16}$')",message="clusterID must be 16 lower-case hexadecimal digits: copy status.clusterID of the EtcdCluster"
	ClusterID string `json:"clusterID,omitempty"`

	// By how much the revision is raised, so that clients which watched the old cluster
	// never see a lower revision. Default, and minimum: 1e9 above the highest revision that
	// the cluster has ever reported, and above the snapshot's.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > 0",message="revisionBump must be more than 0, because clients expect revisions to increase: set at least 1000000000, or remove it"
	RevisionBump *int64 `json:"revisionBump,omitempty"`

	// Restores a database file that was copied from a data directory, and so has no digest at its
	// end. A hash that its backup recorded is not compared either. All other checks are still
	// made.
	// +optional
	SkipHashCheck bool `json:"skipHashCheck,omitempty"`

	// Allows a snapshot without keys to replace a cluster that has held keys, which are then
	// lost, and a restore of prefixes under which there is no key. Default false: such a
	// restore fails before anything is stopped.
	// +optional
	AllowEmptySnapshot bool `json:"allowEmptySnapshot,omitempty"`

	// Continues although old members, or a seed that is replaced, might still run, on a node
	// that does not answer: clients that reach one would write to a second cluster. Can be
	// set later. Default false: the restore waits until the Pod of each is deleted.
	// +optional
	AcceptRunningOldMembers bool `json:"acceptRunningOldMembers,omitempty"`

	// Accepts that the data of members without volumes is lost when they are stopped:
	// a restore that fails after that cannot bring it back. Needed only to restore an
	// EtcdCluster in place whose members have no volumes and that still has a quorum
	// (condition Available). Can be set later. Default false: the restore waits before
	// it stops anything.
	// +optional
	AcceptDataLoss bool `json:"acceptDataLoss,omitempty"`

	// When the old members are stopped. WhenSeedIsReady: the seed's Pod fetches, checks
	// and rebuilds the snapshot while they serve, and they are stopped when its database
	// is ready to start. First: a Job checks the snapshot, then they are stopped, then the
	// seed's Pod is created; for nodes or a quota that cannot hold the seed's Pod beside
	// the members. Can be changed until the members are stopped. Default WhenSeedIsReady.
	// +optional
	StopMembers StopMembers `json:"stopMembers,omitempty"`

	// The time limit until the seed is handed over, in seconds; after it the restore is
	// rolled back to the old members. Can be changed. Default 0: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`

	// The settings of the Pod that verifies the snapshot (stopMembers First, verifyOnly,
	// s3.prefix). Resources, environment, ServiceAccount and image pull Secrets apply to the
	// init containers of the seed's Pod as well.
	// +optional
	Pod *AgentPod `json:"pod,omitempty"`
}

// StartEtcd is the etcd that a verification starts. Its image comes from the repository that
// etcd-restore-operator was started with (--etcd-repository): an EtcdRestore cannot name one.
//
// Its Pod keeps off the nodes that run members of an EtcdCluster which the operator serves when
// the Job is created, unless pod.affinity is set, and it has limits of one CPU and 2Gi of memory,
// unless pod.resources is set.
type StartEtcd struct {
	// The version of etcd, such as 3.6.16: that of the backed-up cluster, or of the next minor
	// release. Default: with backupRef, the version that its EtcdBackup recorded of the source.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z][-.0-9A-Za-z]*)?$')",message="version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"
	Version string `json:"version,omitempty"`
}

// StopMembers says when a restore stops the old members of its cluster.
//
// +kubebuilder:validation:Enum="";First;WhenSeedIsReady
type StopMembers string

const (
	// StopMembersFirst stops them before the seed's Pod is created.
	StopMembersFirst StopMembers = "First"
	// StopMembersWhenSeedIsReady stops them when the seed's database is ready to start.
	StopMembersWhenSeedIsReady StopMembers = "WhenSeedIsReady"
)

// LeasedKeys says what happens to keys whose lease the snapshot no longer has.
//
// +kubebuilder:validation:Enum="";Drop;Keep
type LeasedKeys string

const (
	// LeasedKeysDrop leaves them out.
	LeasedKeysDrop LeasedKeys = "Drop"
	// LeasedKeysKeep restores them without a lease.
	LeasedKeysKeep LeasedKeys = "Keep"
)

// RestoreTarget says which cluster a snapshot is restored to.
//
// +kubebuilder:validation:Enum="";InPlace;New
type RestoreTarget string

// The targets.
const (
	// TargetInPlace restores the EtcdCluster that is named.
	TargetInPlace RestoreTarget = "InPlace"
	// TargetNew creates another one.
	TargetNew RestoreTarget = "New"
)

// ClusterTemplate is the EtcdCluster that a restore creates.
type ClusterTemplate struct {
	// Labels and annotations of the EtcdCluster.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// Its spec.
	// +required
	Spec ClusterSpec `json:"spec"`
}

// TemplateMetadata is the metadata of an object that is created from a template.
type TemplateMetadata struct {
	// Labels of the object.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('etcd.database.coreos.com/'))",messageExpression="self.filter(k, k.startsWith('etcd.database.coreos.com/'))[0] + ' is reserved for the operators (as are all labels of etcd.database.coreos.com/*): remove it, or use another key'"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the object.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('etcd.database.coreos.com/') && k != 'etcd.database.coreos.com/scope')",messageExpression="self.filter(k, k.startsWith('etcd.database.coreos.com/') && k != 'etcd.database.coreos.com/scope')[0] + ' is reserved for the operators (as are all annotations of etcd.database.coreos.com/* except scope): remove it, or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// BackupReference names a backup that an EtcdBackup of the same namespace has made.
type BackupReference struct {
	// The name of the EtcdBackup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="name is empty: set it to the name of an EtcdBackup of this namespace"
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="name must be the name of an EtcdBackup of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as nightly"
	Name string `json:"name"`
	// Which of its backups: the name of an entry of its status.history. Default: the
	// newest good one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="entry must be the name of an entry of status.history of the EtcdBackup: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as nightly-1"
	Entry string `json:"entry,omitempty"`
}
