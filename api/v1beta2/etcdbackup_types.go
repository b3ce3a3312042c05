package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup is a backup of an etcd cluster: a snapshot that is streamed to S3 or to
// a volume, once, or again and again on a schedule. Deleting it stops what is under
// way and keeps what is stored.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcdbk},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`,description="Whether the backup is stored; of a repeated one, whether the last one is"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`,description="When the newest good backup was finished"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.snapshot.readableSize`,description="The size of the newest good backup as it is stored"
// +kubebuilder:printcolumn:name="Location",type=string,JSONPath=`.status.snapshot.location`,description="Where the newest good backup lies"
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.backupPolicy.schedule`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Interval",type=integer,JSONPath=`.spec.backupPolicy.backupIntervalInSecond`,priority=1,description="Seconds from one backup to the next"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,priority=1,description="When the next backup is due"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.etcdRevision`,priority=1,description="The revision of the newest good backup"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.Reason`,priority=1,description="Why the last backup failed"
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	// +required
	Spec BackupSpec `json:"spec"`
	// What is there. Written by the operator alone.
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
// +kubebuilder:validation:XValidation:rule="!(has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0 && has(self.clusterRef))",message="etcdEndpoints and clusterRef are both set: leave clusterRef alone for an EtcdCluster of this namespace, or etcdEndpoints for any other etcd"
// +kubebuilder:validation:XValidation:rule="(has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0) || has(self.clusterRef)",message="neither etcdEndpoints nor clusterRef is set: write clusterRef.name for an EtcdCluster of this namespace, or etcdEndpoints, such as [http://example-client:2379]"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",fieldPath=".s3",reason=FieldValueRequired,message="storageType is S3: write s3.path, such as mybucket/etcd.backup, and s3.awsSecret"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || has(self.pvc)",fieldPath=".pvc",reason=FieldValueRequired,message="storageType is PVC: write pvc.claimName and pvc.path, such as backups/etcd.db"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || !has(self.pvc)",fieldPath=".pvc",reason=FieldValueForbidden,message="storageType is S3: remove pvc, or write storageType: PVC and remove s3"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'PVC' || !has(self.s3)",fieldPath=".s3",reason=FieldValueForbidden,message="storageType is PVC: remove s3, or write storageType: S3 and remove pvc"
type BackupSpec struct {
	// The URLs of the cluster's members or of a Service in front of them, such as
	// http://example-client:2379. Those that do not answer are skipped; of the others,
	// the one with the highest revision is the source. All must be of one cluster.
	// Either this or clusterRef.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\]):[0-9]{1,5}/?$')",message="an endpoint is a URL with scheme, host and port: write it as http://example-client:2379, or https:// if the members serve by TLS"
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`

	// The EtcdCluster of this namespace to back up: its members are the endpoints,
	// and its spec.TLS.static.operatorSecret is the clientTLSSecret, unless that is
	// set here. Either this or etcdEndpoints.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// The Secret with the client certificate for https endpoints: etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt, or those of a kubernetes.io/tls Secret
	// (tls.crt, tls.key, ca.crt).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`

	// Where the backup is stored: S3 or PVC.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self in ['S3', 'PVC', 'ABS', 'GCS', 'OSS']",messageExpression="'storageType ' + self + ' is not known: write S3 or PVC'"
	// +kubebuilder:validation:XValidation:rule="!(self in ['ABS', 'GCS', 'OSS'])",messageExpression="'storageType ' + self + ' is not supported yet: write S3 (for any store that speaks it, by s3.endpoint) or PVC'"
	StorageType StorageType `json:"storageType"`

	// When backups are made and how many are kept. Without it, one is made.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`

	// The place in an S3 store, with storageType S3.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`

	// The place on a volume, with storageType PVC.
	// +optional
	PVC *PVCSource `json:"pvc,omitempty"`

	// Accepted for the predecessor's manifests; storageType ABS is refused.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`

	// Accepted for the predecessor's manifests; storageType GCS is refused.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`

	// Accepted for the predecessor's manifests; storageType OSS is refused.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`

	// Starts no backup until it is false again. One that runs is left to end.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Whether a one-shot backup replaces what lies at its path, which it does with a
	// complete and verified snapshot only. If false, a backup fails whose path is
	// taken. A repeated backup's names are its own, and nothing is ever replaced.
	// Default true.
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`

	// How long this object is kept after a one-shot backup has succeeded or failed,
	// in seconds. What is stored stays. Default: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// How the snapshot is packed on its way: none or zstd. Default none.
	// +optional
	// +kubebuilder:validation:Enum="";none;zstd
	Compression Compression `json:"compression,omitempty"`

	// How the Pod is made that carries the snapshot.
	// +optional
	Pod *AgentPod `json:"pod,omitempty"`
}

// ClusterReference names an EtcdCluster of the same namespace.
type ClusterReference struct {
	// The name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="name is empty: write the name of an EtcdCluster of this namespace"
	Name string `json:"name"`
}

// StorageType is where backups are stored.
type StorageType string

// The storage types. Those that are missing here are refused.
const (
	// StorageS3 is a bucket of AWS or of any other store that speaks S3.
	StorageS3 StorageType = "S3"
	// StoragePVC is a volume.
	StoragePVC StorageType = "PVC"
	// StorageABS is Azure's store, which the predecessor knew.
	StorageABS StorageType = "ABS"
	// StorageGCS is Google's store, which the predecessor knew.
	StorageGCS StorageType = "GCS"
	// StorageOSS is Alibaba's store, which the predecessor knew.
	StorageOSS StorageType = "OSS"
)

// Compression is how a snapshot is packed.
type Compression string

// The ways to pack a snapshot.
const (
	// CompressionNone stores the snapshot as etcd sends it.
	CompressionNone Compression = "none"
	// CompressionZstd stores it as one zstd frame (RFC 8878).
	CompressionZstd Compression = "zstd"
)

// BackupPolicy says when backups are made and how many are kept. With neither
// backupIntervalInSecond nor schedule, one is made.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.schedule) && self.schedule.size() > 0 && has(self.backupIntervalInSecond) && self.backupIntervalInSecond > 0)",message="schedule and backupIntervalInSecond are both set: remove one of them"
type BackupPolicy struct {
	// How long one backup may take, in seconds. Default 0: as long as it makes
	// progress.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`

	// Makes a backup at once and then again whenever so many seconds have passed.
	// Default 0: once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`

	// How many backups of this path are kept; older ones, by the time in their names,
	// are deleted after one has succeeded. Only for repeated backups. Default 0: all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBackups int `json:"maxBackups,omitempty"`

	// Makes backups at the times that a cron expression says, such as "0 */6 * * *",
	// in UTC, or with CRON_TZ=Europe/Berlin before it, in that zone. Not together with
	// backupIntervalInSecond.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^\\\\s*((CRON_)?TZ=[-+_/A-Za-z0-9]+\\\\s+)?(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every ([0-9]+([.][0-9]+)?(ms|s|m|h))+|[*?0-9,/-]+\\\\s+[*?0-9,/-]+\\\\s+[*?0-9,/-]+\\\\s+[*?0-9A-Za-z,/-]+\\\\s+[*?0-9A-Za-z,/-]+)\\\\s*$')",message="schedule is a cron expression of five fields (minute, hour, day of the month, month, day of the week): write it as 0 */6 * * *, @daily, or CRON_TZ=Europe/Berlin 30 3 * * 1-5"
	Schedule string `json:"schedule,omitempty"`

	// How long backups of this path are kept, such as 168h; older ones, by the time in
	// their names, are deleted after one has succeeded. The newest good one is always
	// kept. Only for repeated backups. Default: for ever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('1s')",message="maxAge is a duration of at least 1s: write it with its unit, such as 12h, 168h (a week) or 1h30m"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`

	// What happens when a repeated backup is due and the last one still runs: Forbid
	// waits for it and makes at most one up, Allow runs both, Replace stops the old
	// one. Default Forbid.
	// +optional
	// +kubebuilder:validation:Enum="";Forbid;Allow;Replace
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// How late a repeated backup may start, in seconds; one that is later is counted
	// as missed. Default: the last one that was missed is made up however late it is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
}

// ConcurrencyPolicy says what happens when a backup is due and the last one still
// runs.
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ForbidConcurrent waits for the one that runs.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// AllowConcurrent runs both.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ReplaceConcurrent stops the one that runs.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// S3Source is a place in an S3 store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || self.kmsKeyID.size() == 0 || (has(self.serverSideEncryption) && self.serverSideEncryption.startsWith('aws:kms'))",message="kmsKeyID is set and serverSideEncryption does not use it: write serverSideEncryption: aws:kms, or remove kmsKeyID"
type S3Source struct {
	// The bucket and the key, such as mybucket/etcd.backup. A one-shot backup is
	// stored under exactly this name, a repeated one under
	// <path>_v<revision>_<2006-01-02-15:04:05>, in UTC.
	// +required
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\\\\x00-\\\\x1f\\\\x7f]+$')",message="path is a bucket and a key: write it as mybucket/etcd.backup, without s3://"
	Path string `json:"path"`

	// The Secret with the keys credentials and, optionally, config: AWS' own files,
	// of which the profile default is used. Without it, the default chain of AWS'
	// SDK finds credentials, by pod.serviceAccountName for example.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AWSSecret string `json:"awsSecret,omitempty"`

	// The URL of the store, if it is not AWS' own, such as
	// http://minio.default:9000. Without a scheme it is reached by https.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^(https?://)?([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#\\\\s]*)?$')",message="endpoint is the URL of an S3 store: write it as https://s3.example.com or http://minio.default:9000"
	Endpoint string `json:"endpoint,omitempty"`

	// Puts the bucket into the path of the URL instead of the host name, as many
	// stores need it.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`

	// The region of the bucket. Default: that of the Secret's config, else us-east-1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_.A-Za-z0-9]*$')",message="region holds letters, digits and dashes: write it as eu-central-1"
	Region string `json:"region,omitempty"`

	// The storage class of the objects, such as STANDARD_IA. Default: the bucket's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_A-Za-z0-9]*$')",message="storageClass holds letters, digits and underscores: write it as STANDARD_IA"
	StorageClass string `json:"storageClass,omitempty"`

	// How the store encrypts the objects: AES256, aws:kms or aws:kms:dsse. Default:
	// as the bucket says.
	// +optional
	// +kubebuilder:validation:Enum="";AES256;"aws:kms";"aws:kms:dsse"
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`

	// The key for aws:kms. Default: AWS' own for S3.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// PVCSource is a place on a volume.
type PVCSource struct {
	// The PersistentVolumeClaim of this namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="claimName is not the name of a PersistentVolumeClaim: write lower-case letters, digits and dashes, such as etcd-backups"
	ClaimName string `json:"claimName"`

	// The file on the volume, such as backups/etcd.db; folders are made as needed. A
	// one-shot backup is stored under exactly this name, a repeated one under
	// <path>_v<revision>_<2006-01-02-15:04:05>, in UTC.
	// +required
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self.matches('^([^/\\\\x00-\\\\x1f\\\\x7f]{1,200}/)*[^/\\\\x00-\\\\x1f\\\\x7f]{1,200}$') && !self.matches('(^|/)[.][.]?(/|$)')",message="path is that of a file, relative to the volume: write it as backups/etcd.db, without a slash at either end and without .., and with at most 200 characters between slashes"
	Path string `json:"path"`
}

// ABSSource is a place in Azure's store.
type ABSSource struct {
	// The container and the blob.
	// +optional
	Path string `json:"path,omitempty"`
	// The Secret with the account.
	// +optional
	ABSSecret string `json:"absSecret,omitempty"`
}

// GCSSource is a place in Google's store.
type GCSSource struct {
	// The bucket and the object.
	// +optional
	Path string `json:"path,omitempty"`
	// The Secret with the credentials.
	// +optional
	GCPSecret string `json:"gcpSecret,omitempty"`
}

// OSSSource is a place in Alibaba's store.
type OSSSource struct {
	// The bucket and the object.
	// +optional
	Path string `json:"path,omitempty"`
	// The Secret with the access key.
	// +optional
	OSSSecret string `json:"ossSecret,omitempty"`
	// The URL of the store.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// AgentPod says how the Pod of a backup is made.
type AgentPod struct {
	// Labels added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('app.kubernetes.io/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is set by the operator or by Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*); remove it or use another key'"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))",messageExpression="self.filter(k, k.startsWith('etcd.database.coreos.com/') || k.startsWith('batch.kubernetes.io/'))[0] + ' is set by the operator or by Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*); remove it or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`

	// CPU and memory. What a backup needs does not grow with the database.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// The labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// The taints that the Pod tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// The scheduling constraints of the Pod.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// The priority class of the Pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The service account of the Pod, for a cloud's workload identity. Default: the
	// namespace's own. No token of Kubernetes is mounted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The security context of the Pod. Default: that of the restricted Pod Security
	// Standard, with user and group 65532.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// The Secrets that the operator's image is pulled with.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}

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

// The types of a backup's conditions.
const (
	// ConditionComplete: the backup is stored; of a repeated one, the last one is.
	ConditionComplete = "Complete"
	// ConditionFailed: the backup has failed; of a repeated one, the last one has.
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
	// Why the last backup failed. Empty while one is under way and after success.
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
