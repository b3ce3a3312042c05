package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is an etcd cluster that the operator makes and keeps: it forms it,
// grows and shrinks it to the wanted size, and replaces members that are lost.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcd,etcdclus},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Members wanted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`,description="Members that serve, of those wanted"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`,description="The etcd version that runs"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether a quorum serves reads and writes"
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`,description="What is wrong, or AllHealthy: the reason of the condition Degraded"
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`,description="What the operator is doing or waiting for, or UpToDate: the reason of the condition Progressing"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader`,priority=1
// +kubebuilder:printcolumn:name="Cluster ID",type=string,JSONPath=`.status.clusterID`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name has more than 52 characters: members, their Pods and their DNS names add 11 to it; choose a shorter one"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name is also the name of a Service: choose lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.service) || !has(self.spec.service.name) || size(self.spec.service.name) == 0 || self.spec.service.name == self.metadata.name + '-client'",fieldPath=".spec.service.name",messageExpression="'clients connect to the Service ' + self.metadata.name + '-client, whose name is fixed: remove service.name, and create a Service of your own beside it, with the selector that kubectl get service ' + self.metadata.name + '-client -o yaml shows'"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	// +required
	Spec ClusterSpec `json:"spec"`
	// What is there. Written by the operator alone.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// EtcdClusterList is a list of EtcdClusters.
//
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdCluster `json:"items"`
}

// ClusterSpec is the wanted state of an etcd cluster. An empty object asks for
// three members of the operator's default version without volumes.
//
// +kubebuilder:validation:XValidation:rule="(has(self.pod) && has(self.pod.persistentVolumeClaimSpec)) == (has(oldSelf.pod) && has(oldSelf.pod.persistentVolumeClaimSpec))",fieldPath=".pod",reason=FieldValueForbidden,message="persistentVolumeClaimSpec can be neither added to nor removed from an existing cluster: leave it as it was, or create another cluster and move the data by a snapshot"
// +kubebuilder:validation:XValidation:rule="(has(self.pod) && has(self.pod.ClusterDomain)) == (has(oldSelf.pod) && has(oldSelf.pod.ClusterDomain)) && (!(has(self.pod) && has(self.pod.ClusterDomain)) || self.pod.ClusterDomain == oldSelf.pod.ClusterDomain)",fieldPath=".pod",reason=FieldValueForbidden,message="ClusterDomain of an existing cluster cannot be changed, since its members know each other by it: set it to what it was, or create another cluster and move the data by a snapshot"
// +kubebuilder:validation:XValidation:rule="((has(self.TLS) && has(self.TLS.auto)) == (has(oldSelf.TLS) && has(oldSelf.TLS.auto))) && ((has(self.TLS) && has(self.TLS.certManager)) == (has(oldSelf.TLS) && has(oldSelf.TLS.certManager))) && ((has(self.TLS) && has(self.TLS.static) && has(self.TLS.static.operatorSecret) && self.TLS.static.operatorSecret.size() > 0) == (has(oldSelf.TLS) && has(oldSelf.TLS.static) && has(oldSelf.TLS.static.operatorSecret) && oldSelf.TLS.static.operatorSecret.size() > 0)) && ((has(self.TLS) && has(self.TLS.static) && has(self.TLS.static.member) && has(self.TLS.static.member.peerSecret) && self.TLS.static.member.peerSecret.size() > 0) == (has(oldSelf.TLS) && has(oldSelf.TLS.static) && has(oldSelf.TLS.static.member) && has(oldSelf.TLS.static.member.peerSecret) && oldSelf.TLS.static.member.peerSecret.size() > 0))",fieldPath=".TLS",reason=FieldValueForbidden,message="TLS of an existing cluster can be neither switched on or off nor moved to certificates from elsewhere (static, auto, certManager), since its members would not understand each other meanwhile: set it to what it was, or restore a backup into a new cluster that has it (EtcdRestore with target: New and a clusterTemplate)"
type ClusterSpec struct {
	// The number of members wanted, 1 to 7. An odd number is best: an even one
	// tolerates no more failures than one member fewer. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Size int `json:"size,omitempty"`

	// The image without its tag. Default quay.io/coreos/etcd. The image that
	// runs is <repository>:v<version>. A change restarts the members with it, one at a
	// time.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('[@\\\\s]|:[^/]*$')",message="repository is an image without tag or digest, such as quay.io/coreos/etcd: set version to the tag"
	Repository string `json:"repository,omitempty"`

	// The etcd version to run, such as 3.6.16, with or without a leading "v".
	// If it is omitted, the operator's default is chosen once, when the cluster
	// is created. A change restarts the members with it, one at a time: to any patch
	// of the minor, or to the next minor; status and the condition Upgrading tell how
	// far it has come, and what to write instead if there is no way.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z][-.0-9A-Za-z]*)?$')",message="version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"
	Version string `json:"version,omitempty"`

	// Makes the operator leave the cluster alone until it is false again. etcd
	// itself keeps running.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// How the members' Pods are made. An edit rolls them one at a time; one of labels
	// and annotations alone is made on the Pods that there are.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`

	// etcd's own settings. An edit rolls the members one at a time. What pod.etcdEnv
	// sets under etcd's own name counts instead.
	// +optional
	Etcd *EtcdPolicy `json:"etcd,omitempty"`

	// The Service that clients connect to, <cluster>-client.
	// +optional
	Service *ServicePolicy `json:"service,omitempty"`

	// Whether a PodDisruptionBudget keeps evictions (such as the drain of a
	// node) from taking away the quorum. Default: true for three members and
	// more.
	// +optional
	PodDisruptionBudget *bool `json:"podDisruptionBudget,omitempty"`

	// What becomes of the members' volumes.
	// +optional
	Storage *StoragePolicy `json:"storage,omitempty"`

	// When lost members are replaced, and what is done when a majority is lost.
	// +optional
	Recovery *RecoveryPolicy `json:"recovery,omitempty"`

	// What the operator does about space in the members' databases.
	// +optional
	Maintenance *MaintenancePolicy `json:"maintenance,omitempty"`

	// Encryption and authentication between members and with clients. Certificates are
	// always asked for on both sides.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`

	// What the operator and backups need on a cluster on which etcd's own
	// authentication is enabled.
	// +optional
	Auth *AuthPolicy `json:"auth,omitempty"`

	// What backups of the cluster must keep to.
	// +optional
	Backup *ClusterBackup `json:"backup,omitempty"`
}

// PodPolicy says how the members' Pods are made.
type PodPolicy struct {
	// Labels added to the Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_'))",messageExpression="self.filter(k, k == 'app' || k.startsWith('etcd_'))[0] + ' is set by the operator (as are app and etcd_*); remove it or use another key'"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'etcd.version' || k.startsWith('etcd.database.coreos.com/'))",messageExpression="self.filter(k, k == 'etcd.version' || k.startsWith('etcd.database.coreos.com/'))[0] + ' is set by the operator (as are etcd.version and etcd.database.coreos.com/*); remove it or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`

	// The labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// The scheduling constraints of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Puts no two members of a cluster on one node: a required pod
	// anti-affinity over kubernetes.io/hostname. Write affinity or
	// topologySpreadConstraints instead, where a softer rule will do.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`

	// The taints that the Pods tolerate.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// How the Pods spread over nodes and zones. Default: evenly over both, as
	// far as possible.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// CPU and memory of the etcd container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// Environment variables of the etcd container: etcd's own settings, such as
	// ETCD_AUTO_COMPACTION_RETENTION. Those that make the member part of this
	// cluster are the operator's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_NAME', 'ETCD_DATA_DIR', 'ETCD_WAL_DIR', 'ETCD_CONFIG_FILE', 'ETCD_FORCE_NEW_CLUSTER', 'ETCD_STRICT_RECONFIG_CHECK', 'ETCD_MAX_LEARNERS', 'ETCD_EXPERIMENTAL_MAX_LEARNERS']) && !['ETCD_LISTEN_', 'ETCD_ADVERTISE_', 'ETCD_INITIAL_', 'ETCD_FORCE_NEW_CLUSTER_', 'ETCD_DISCOVERY'].exists(p, self.name.startsWith(p))",messageExpression="self.name + ' is set by the operator, which decides what a member is, where it listens and where it keeps its data: remove it'"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_CA_FILE', 'ETCD_CERT_FILE', 'ETCD_KEY_FILE', 'ETCD_TRUSTED_CA_FILE', 'ETCD_AUTO_TLS']) && !['ETCD_PEER_', 'ETCD_EXPERIMENTAL_PEER_', 'ETCD_CLIENT_CERT_', 'ETCD_CLIENT_KEY_', 'ETCD_CLIENT_CRL_'].exists(p, self.name.startsWith(p))",messageExpression="self.name + ' is set by the operator from spec.TLS: remove it, and set the source of the certificates there'"
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`

	// Gives every member a volume of its own, which outlives its Pod: a
	// PersistentVolumeClaim of the member's name with this spec. Without it the
	// data lives in an emptyDir, and a lost Pod is a lost member.
	//
	// Of an existing cluster only resources.requests.storage may be changed, and only to
	// more: the volumes grow one member at a time, while all members are healthy, if their
	// storage class has allowVolumeExpansion; the condition StorageResizing tells how far that
	// has come, or what to do if it can't be done.
	//
	// Members begin on empty volumes: dataSource, dataSourceRef and volumeName are refused.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.dataSource) && !has(self.dataSourceRef)",reason=FieldValueForbidden,message="a member on a copy of a volume takes part in its original's cluster and loses writes: remove dataSource and dataSourceRef; to begin with the data of another cluster, create an EtcdRestore of an EtcdBackup"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeName)",reason=FieldValueForbidden,message="every member needs a volume of its own: remove volumeName; to choose volumes, set storageClassName or selector"
	// +kubebuilder:validation:XValidation:rule="has(self.accessModes) && self.accessModes.size() > 0",message="persistentVolumeClaimSpec has no access mode: set accessModes: [ReadWriteOnce]"
	// +kubebuilder:validation:XValidation:rule="has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests",message="persistentVolumeClaimSpec asks for no storage: set resources.requests.storage, such as 8Gi"
	// +kubebuilder:validation:XValidation:rule="self.accessModes == oldSelf.accessModes && has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector) && has(self.volumeName) == has(oldSelf.volumeName) && (!has(self.volumeName) || self.volumeName == oldSelf.volumeName) && has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName) && has(self.volumeMode) == has(oldSelf.volumeMode) && (!has(self.volumeMode) || self.volumeMode == oldSelf.volumeMode) && has(self.dataSource) == has(oldSelf.dataSource) && (!has(self.dataSource) || self.dataSource == oldSelf.dataSource) && has(self.dataSourceRef) == has(oldSelf.dataSourceRef) && (!has(self.dataSourceRef) || self.dataSourceRef == oldSelf.dataSourceRef) && has(self.volumeAttributesClassName) == has(oldSelf.volumeAttributesClassName) && (!has(self.volumeAttributesClassName) || self.volumeAttributesClassName == oldSelf.volumeAttributesClassName) && has(self.resources.limits) == has(oldSelf.resources.limits) && (!has(self.resources.limits) || self.resources.limits == oldSelf.resources.limits) && (self.resources.requests.size() == 1 && oldSelf.resources.requests.size() == 1 || self.resources.requests == oldSelf.resources.requests)",reason=FieldValueForbidden,message="persistentVolumeClaimSpec of an existing cluster cannot be changed, but for resources.requests.storage, which can grow: set it to what it was, or create another cluster and move the data by a snapshot"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.resources.requests['storage'])).compareTo(quantity(string(oldSelf.resources.requests['storage']))) >= 0",reason=FieldValueForbidden,message="a volume cannot shrink: set resources.requests.storage to what it was, or to more; for less, restore a backup into a cluster with smaller volumes"
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`

	// Not supported, and here so that it is not dropped in silence: data in memory is
	// lost when nodes restart, that of a whole cluster after a power failure. Without
	// persistentVolumeClaimSpec the data lives in an emptyDir on the nodes' disks.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self",message="tmpfs is not supported, since data in memory is lost when nodes restart: remove it, and for speed set persistentVolumeClaimSpec with a fast storage class"
	Tmpfs bool `json:"tmpfs,omitempty"`

	// Accepted for the predecessor's manifests and unused: no busybox runs.
	// +optional
	BusyboxImage string `json:"busyboxImage,omitempty"`

	// The security context of the Pods. Default: that of the restricted Pod
	// Security Standard.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// Accepted for the predecessor's manifests and unused: no Pod waits for its
	// DNS record.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`

	// The cluster's DNS domain with a leading dot, such as .cluster.local. It is
	// appended to the members' DNS names, <member>.<cluster>.<namespace>.svc.
	// Default: nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+[.]?$')",message="ClusterDomain is a DNS domain with a leading dot: set it to one like .cluster.local"
	ClusterDomain string `json:"ClusterDomain,omitempty"`

	// The Secrets that the images are pulled with.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// The priority class of the Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The service account of the Pods. Default: the namespace's own. No token is
	// mounted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// How long a member may take to stop, in seconds. Default: Kubernetes' 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// EtcdPolicy are settings of etcd. What is omitted is as etcd has it.
//
// +kubebuilder:validation:XValidation:rule="(has(self.electionTimeout) ? duration(self.electionTimeout) : duration('1s')) >= (has(self.heartbeatInterval) ? duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) : duration('500ms'))",message="electionTimeout (1s if it is omitted) is less than 5 times heartbeatInterval (100ms if it is omitted), which etcd refuses: set both, such as heartbeatInterval: 300ms and electionTimeout: 3s"
// +kubebuilder:validation:XValidation:rule="!has(self.autoCompactionRetention) || !has(self.autoCompactionMode) || self.autoCompactionMode != 'revision' || self.autoCompactionRetention.matches('^[0-9]+$')",fieldPath=".autoCompactionRetention",message="with autoCompactionMode: revision, autoCompactionRetention is how many revisions are kept: set a number, such as \"10000\""
// +kubebuilder:validation:XValidation:rule="!has(self.autoCompactionMode) || has(self.autoCompactionRetention)",message="autoCompactionMode alone compacts nothing: set autoCompactionRetention too, such as 1h (periodic) or \"10000\" (revision)"
type EtcdPolicy struct {
	// The size in bytes at which the database takes no more writes (alarm NOSPACE),
	// such as 8Gi. etcd's default is 2 GiB.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self > 0 : (isQuantity(self) && quantity(self).isGreaterThan(quantity('0')) && quantity(self).isInteger())",message="quotaBackendBytes is a size of more than 0 bytes: set it to one like 8Gi, or to a number of bytes"
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`

	// What autoCompactionRetention counts: time (periodic, etcd's default) or
	// revisions (revision).
	// +optional
	// +kubebuilder:validation:Enum=periodic;revision
	AutoCompactionMode string `json:"autoCompactionMode,omitempty"`

	// How much of the history is kept when etcd compacts by itself: a time such as 1h
	// or 30m, or, with autoCompactionMode: revision, a number of revisions. "0" keeps all
	// of it, until the database has grown to its quota. Default: 1h; all of it in a
	// cluster that began before there was this default, or on the volumes of an earlier
	// one (status.bootstrap.autoCompactionRetention).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,18}|([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4})$')",message="autoCompactionRetention is a time with its unit, such as 1h or 30m, or, with autoCompactionMode: revision, a number of revisions such as \"10000\""
	AutoCompactionRetention string `json:"autoCompactionRetention,omitempty"`

	// How often a leader tells the others that it lives, such as 100ms, which is
	// etcd's default; in whole milliseconds. About the round trip between members.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}(ms|s)$') && duration(self) >= duration('1ms')",message="heartbeatInterval is a time of at least 1ms: set it in milliseconds or seconds, such as 100ms"
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`

	// For how long the others hear nothing of a leader before they elect another one,
	// such as 1s, which is etcd's default; at least 5 times heartbeatInterval, at most
	// 50s, in whole milliseconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}(ms|s)$') && duration(self) >= duration('5ms') && duration(self) <= duration('50s')",message="electionTimeout is a time of at most 50s: set it in milliseconds or seconds, such as 1s"
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`

	// After how many transactions a member writes a snapshot and lets go of its log.
	// etcd's default is 10000 (100000 before 3.6).
	// +optional
	// +kubebuilder:validation:Minimum=1
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`

	// How much etcd logs. Its default is info.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error;panic;fatal
	LogLevel string `json:"logLevel,omitempty"`

	// Whether a member that restarts compares its data with that of the others before it
	// serves, and refuses to start if it differs (etcd's InitialCorruptCheck). It reads the
	// whole database first, and waits 7 s for each member that does not answer: a cluster of
	// three whose members all restart at once is back some 14 s later. Default false: the
	// daily comparison (spec.maintenance.consistencyCheck) finds the same.
	// +optional
	InitialCorruptCheck bool `json:"initialCorruptCheck,omitempty"`
}

// ServicePolicy says how the Service is made that clients connect to.
type ServicePolicy struct {
	// Annotations added to the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// The type of the Service. Default ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Not supported, and here so that it is not dropped in silence: the name is always
	// <cluster>-client.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// Not supported, and here so that it is not dropped in silence: the Service selects
	// the members that serve.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.size() == 0",message="the operator sets the selector of the client Service, so that clients are sent only to members that serve: remove service.selector, and create a Service of your own for other Pods"
	Selector map[string]string `json:"selector,omitempty"`
}

// StoragePolicy says what becomes of the members' volumes.
type StoragePolicy struct {
	// What happens to the members' PersistentVolumeClaims when the EtcdCluster is
	// deleted. Delete: they are deleted with it. Retain: they stay, and no EtcdCluster
	// of this name begins empty over them; one with the annotation
	// etcd.database.coreos.com/adopt-volumes adopts them. A change holds from the
	// Event RetentionEnabled, or RetentionDisabled, on. The volumes of members that are
	// replaced or not needed any more are deleted in either case. Default Delete.
	// +optional
	// +kubebuilder:validation:Enum="";Delete;Retain
	DeletionPolicy VolumeDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// VolumeDeletionPolicy says whether volumes are deleted with what they belong to.
type VolumeDeletionPolicy string

const (
	// VolumesDelete deletes them. An empty policy is this one.
	VolumesDelete VolumeDeletionPolicy = "Delete"
	// VolumesRetain keeps them.
	VolumesRetain VolumeDeletionPolicy = "Retain"
)

// RecoveryPolicy says when lost members are replaced, and what is done when a majority
// of them is lost for good.
type RecoveryPolicy struct {
	// How long a member's node may be gone or not ready before the member is
	// replaced by a new one, such as 5m or 1h30m. At least 10s; default 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('10s')",message="memberTimeout is a duration of at least 10s: set it with its unit, such as 30s, 5m or 1h30m"
	MemberTimeout *metav1.Duration `json:"memberTimeout,omitempty"`

	// What is done when the data of a majority of the members is lost for good.
	// Manual: nothing; the conditions say who is left and what can be done. Survivor:
	// the cluster begins anew with the data of the member that is left and knows of
	// the most; what that one had not heard of is lost. Default Manual. For once:
	// kubectl annotate etcd NAME etcd.database.coreos.com/recover=<status.clusterID>.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self in ['Manual', 'Survivor']",messageExpression="'quorumLoss ' + self + ' is not supported: set Manual (a person decides) or Survivor (start again from the data of the most advanced member that is left)'"
	QuorumLoss QuorumLossPolicy `json:"quorumLoss,omitempty"`
}

// MaintenancePolicy says what is done about space in the members' databases. etcd gives
// space that was freed (by the compaction of old revisions) back to the disk only when a
// member is defragmented, and that member serves nothing meanwhile: about a second for
// some 100 MB. So it is done to one member at a time, the leader last and after its
// leadership is transferred, only while all members are healthy, and no new client is sent to it.
type MaintenancePolicy struct {
	// When all members are defragmented: a cron expression such as 0 3 * * 0 or @daily,
	// in UTC, or with CRON_TZ=<zone> before it in that time zone. Times that were missed
	// are made up for once. Default: never.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	DefragmentSchedule string `json:"defragmentSchedule,omitempty"`

	// Defragments all members when so many percent of a member's database are free space,
	// 1 to 99, if the database has more than 100 MiB; at most once an hour. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	DefragmentAbovePercent int `json:"defragmentAbovePercent,omitempty"`

	// Whether the operator makes room when a database has grown to its quota (alarm
	// NOSPACE: etcd refuses writes): it compacts to the newest revision, so that the
	// HISTORY OF KEYS IS LOST (their values stay; a watcher from an older revision has
	// to list again), defragments one member after the other, and disarms the alarm when
	// every database is below 80 % of its quota. If that is not enough, keys must be
	// deleted or the quota be raised, and the condition Degraded says so. Default false.
	// +optional
	AutoRepairSpace bool `json:"autoRepairSpace,omitempty"`

	// When the data of all members is compared: a cron expression, as in
	// defragmentSchedule, or Never. One member after the other reads its whole database
	// and hashes it, and applies no writes meanwhile. A member whose data
	// differs from that of a majority, twice, is replaced; if there is no majority,
	// the condition Consistent says what to do. Default: once a day, at a time
	// that depends on the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ConsistencyCheck string `json:"consistencyCheck,omitempty"`
}

// AuthPolicy says how the operator and backups show etcd who they are, where its own
// authentication is enabled (etcdctl auth enable). The operator does not enable it.
type AuthPolicy struct {
	// The Secret of this namespace with the password of a user that has etcd's role
	// root: keys password and, unless it is root, username, as in a Secret of type
	// kubernetes.io/basic-auth. It may be named before or after authentication is
	// enabled, and is not read before. A password that is changed in etcd is to be
	// changed in the Secret, too; it is read again when etcd refuses the old one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="rootSecret is the name of a Secret of this namespace: set it to lower-case letters, digits, dashes and dots, such as etcd-root"
	RootSecret string `json:"rootSecret,omitempty"`
}

// ConsistencyNever is the ConsistencyCheck that never compares.
const ConsistencyNever = "Never"

// QuorumLossPolicy says what is done when the data of a majority is lost for good.
type QuorumLossPolicy string

// The policies for the loss of a quorum.
const (
	// QuorumLossManual leaves it to a person.
	QuorumLossManual QuorumLossPolicy = "Manual"
	// QuorumLossSurvivor begins anew with the data of the most advanced survivor.
	QuorumLossSurvivor QuorumLossPolicy = "Survivor"
)
