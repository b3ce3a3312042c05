package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore rebuilds an etcd cluster from a snapshot: it checks the snapshot, has the
// EtcdCluster fenced, stops the old members, makes a seed from the snapshot, and hands
// that to etcd-operator, which grows it to a full cluster. The EtcdCluster stays the
// same object, and its clients keep their Service.
//
// It is done once. Deleted before the seed is handed over, it brings the old members
// back, as far as they have volumes; after that, it touches no data.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcdrs},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.cluster`,description="The EtcdCluster that is restored"
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`,description="Whether the cluster serves what the snapshot holds"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress`,description="How much of the snapshot is fetched"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.snapshot.readableSize`,description="The size of the snapshot"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.status.seedMember`,priority=1,description="The member that is made from the snapshot"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,priority=1,description="The revision that the restored cluster begins at"
// +kubebuilder:printcolumn:name="Location",type=string,JSONPath=`.status.snapshot.location`,priority=1,description="Where the snapshot lies"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,priority=1,description="Why the restore failed"
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	// +required
	Spec RestoreSpec `json:"spec"`
	// What is there. Written by the operator alone.
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

// RestoreSpec says which snapshot is restored, and to which cluster. It can't be
// changed: a restore is done once.
type RestoreSpec struct {
	// The EtcdCluster of this namespace: the one to restore (target InPlace), or the
	// one whose spec the new cluster gets (target New). Either this or clusterTemplate.
	// +optional
	EtcdCluster *ClusterReference `json:"etcdCluster,omitempty"`

	// InPlace restores the EtcdCluster that etcdCluster names; what it holds now is
	// given up. New makes an EtcdCluster of this EtcdRestore's name with the spec of the
	// other, which is left alone. Default: InPlace, if the two names are equal;
	// otherwise it must be written.
	// +optional
	Target RestoreTarget `json:"target,omitempty"`

	// The new EtcdCluster, which gets this EtcdRestore's name. Either this or
	// etcdCluster.
	// +optional
	ClusterTemplate *ClusterTemplate `json:"clusterTemplate,omitempty"`

	// Where the snapshot lies: S3 or PVC. Empty with backupRef.
	// +optional
	BackupStorageType StorageType `json:"backupStorageType,omitempty"`

	// The place in an S3 store, with backupStorageType S3.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`

	// The place on a volume, with backupStorageType PVC.
	// +optional
	PVC *PVCSource `json:"pvc,omitempty"`

	// An EtcdBackup of this namespace that has made the snapshot: the place and the
	// credentials are its own. Instead of backupStorageType.
	// +optional
	BackupRef *BackupReference `json:"backupRef,omitempty"`

	// Accepted for the predecessor's manifests; backupStorageType ABS is refused.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`

	// Accepted for the predecessor's manifests; backupStorageType GCS is refused.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`

	// Accepted for the predecessor's manifests; backupStorageType OSS is refused.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`

	// Restores only a snapshot of the cluster with this id (16 hexadecimal digits, as
	// in status.clusterID of its EtcdCluster). What an EtcdBackup has stored says which
	// one it is of. Default: any.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// By how much the revision is raised, so that clients that watched the old cluster
	// never see time run backwards. Default, and the least that is accepted: 1e9 beyond
	// all that the cluster has ever reported, and beyond the snapshot's.
	// +optional
	RevisionBump *int64 `json:"revisionBump,omitempty"`

	// Restores a database file that was copied from a data directory and ends without
	// a digest. What it holds is checked all the same, as far as that can be without.
	// +optional
	SkipHashCheck bool `json:"skipHashCheck,omitempty"`

	// Goes on although old members may still run, on a node that does not answer:
	// clients that reach one would write to a second cluster. May be set later.
	// Default false: the restore waits until each is gone.
	// +optional
	AcceptRunningOldMembers bool `json:"acceptRunningOldMembers,omitempty"`

	// How long the restore may take until the seed is handed over, in seconds; after
	// that it is given up, and the old members come back. May be changed. Default 0: as
	// long as it takes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`

	// How the Pod is made that checks the snapshot. Resources and service account
	// count for the init container of the seed, too.
	// +optional
	Pod *AgentPod `json:"pod,omitempty"`
}

// RestoreTarget says which cluster a snapshot is restored to.
//
// +kubebuilder:validation:Enum="";InPlace;New
type RestoreTarget string

// The targets.
const (
	// TargetInPlace restores the EtcdCluster that is named.
	TargetInPlace RestoreTarget = "InPlace"
	// TargetNew makes another one.
	TargetNew RestoreTarget = "New"
)

// ClusterTemplate is the EtcdCluster that a restore makes.
type ClusterTemplate struct {
	// Labels and annotations of the EtcdCluster.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// Its spec.
	// +required
	Spec ClusterSpec `json:"spec"`
}

// TemplateMetadata is what a template says of an object's metadata.
type TemplateMetadata struct {
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// BackupReference names a backup that an EtcdBackup of the same namespace has made.
type BackupReference struct {
	// The name of the EtcdBackup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="name is empty: write the name of an EtcdBackup of this namespace"
	Name string `json:"name"`
	// Which of its backups: the name of an entry of its status.history. Default: the
	// newest good one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Entry string `json:"entry,omitempty"`
}
