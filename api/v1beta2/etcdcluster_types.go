package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is an etcd cluster that etcd-operator manages: the operator creates it,
// scales it to spec.size, upgrades it, and replaces members that are lost.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={etcd,etcdclus},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Desired number of members"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`,description="Members that serve, of the desired number"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`,description="The etcd version that runs"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether a quorum serves reads and writes"
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`,description="The reason of the condition Degraded: AllHealthy, BelowSize while voters are missing, or what is wrong"
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`,description="The reason of the condition Progressing: UpToDate, or what the operator is doing or waiting for"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader`,priority=1
// +kubebuilder:printcolumn:name="Cluster ID",type=string,JSONPath=`.status.clusterID`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name must not have more than 52 characters, because the names of members, Pods and DNS records append 11 more: choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a valid name of a Service, because a Service gets this name: choose lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.service) || !has(self.spec.service.name) || size(self.spec.service.name) == 0 || self.spec.service.name == self.metadata.name + '-client'",fieldPath=".spec.service.name",messageExpression="'service.name must not be set, because the client Service is always ' + self.metadata.name + '-client: remove service.name; for another name, create a Service of your own with the selector that kubectl get service ' + self.metadata.name + '-client -o yaml shows'"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	// +required
	Spec ClusterSpec `json:"spec"`
	// The observed state. Written by the operator only.
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

// ClusterSpec is the desired state of an etcd cluster. An empty object asks for
// three members of the operator's default version without volumes.
//
// +kubebuilder:validation:XValidation:rule="(has(self.pod) && has(self.pod.persistentVolumeClaimSpec)) == (has(oldSelf.pod) && has(oldSelf.pod.persistentVolumeClaimSpec))",fieldPath=".pod",reason=FieldValueForbidden,message="persistentVolumeClaimSpec cannot be added to or removed from an existing cluster: undo the change, or create another cluster and move the data with a snapshot"
// +kubebuilder:validation:XValidation:rule="(has(self.pod) && has(self.pod.ClusterDomain)) == (has(oldSelf.pod) && has(oldSelf.pod.ClusterDomain)) && (!(has(self.pod) && has(self.pod.ClusterDomain)) || self.pod.ClusterDomain == oldSelf.pod.ClusterDomain)",fieldPath=".pod",reason=FieldValueForbidden,message="ClusterDomain of an existing cluster cannot be changed, because the addresses of its members contain it: undo the change, or create another cluster and move the data with a snapshot"
// +kubebuilder:validation:XValidation:rule="((has(self.TLS) && has(self.TLS.auto)) == (has(oldSelf.TLS) && has(oldSelf.TLS.auto))) && ((has(self.TLS) && has(self.TLS.certManager)) == (has(oldSelf.TLS) && has(oldSelf.TLS.certManager))) && ((has(self.TLS) && has(self.TLS.static) && has(self.TLS.static.operatorSecret) && self.TLS.static.operatorSecret.size() > 0) == (has(oldSelf.TLS) && has(oldSelf.TLS.static) && has(oldSelf.TLS.static.operatorSecret) && oldSelf.TLS.static.operatorSecret.size() > 0)) && ((has(self.TLS) && has(self.TLS.static) && has(self.TLS.static.member) && has(self.TLS.static.member.peerSecret) && self.TLS.static.member.peerSecret.size() > 0) == (has(oldSelf.TLS) && has(oldSelf.TLS.static) && has(oldSelf.TLS.static.member) && has(oldSelf.TLS.static.member.peerSecret) && oldSelf.TLS.static.member.peerSecret.size() > 0))",fieldPath=".TLS",reason=FieldValueForbidden,message="TLS of an existing cluster cannot be enabled, disabled or moved to another source of certificates (static, auto, certManager), because members that use TLS cannot connect to members that do not: undo the change, or create a cluster with the new value from a backup (EtcdRestore with target: New and a clusterTemplate)"
type ClusterSpec struct {
	// The desired number of members, 1 to 7. Use an odd number: an even number of members
	// tolerates no more failures than one member fewer does. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Size int `json:"size,omitempty"`

	// The image without its tag. Default quay.io/coreos/etcd. Members run the image
	// <repository>:v<version>. A change is rolled out to one member at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_./:\\\\[\\\\]A-Za-z0-9]*$') && !self.matches(':[^/]*$')",message="repository must be an image without tag or digest, such as quay.io/coreos/etcd: set the tag in version"
	Repository string `json:"repository,omitempty"`

	// The etcd version to run, such as 3.6.16, with or without a leading "v".
	// If it is omitted, the operator chooses its default once, when the cluster is
	// created. A change is rolled out to one member at a time: to any patch of the same
	// minor, to the next minor, or back to the previous minor (3.5 at the earliest). The
	// condition Upgrading reports the progress and, if there is no path, the version to set
	// instead.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z][-.0-9A-Za-z]*)?$')",message="version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"
	Version string `json:"version,omitempty"`

	// Pauses reconciliation: the operator changes nothing until this is false again. etcd
	// itself keeps running.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// The settings of the members' Pods. A change is rolled out to one member at a time. A change
	// that concerns only labels and annotations is applied to the running Pods, without a
	// restart.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`

	// etcd's own settings. A change is rolled out to one member at a time. The same setting
	// in pod.etcdEnv takes precedence.
	// +optional
	Etcd *EtcdPolicy `json:"etcd,omitempty"`

	// The Service that clients connect to, <cluster>-client.
	// +optional
	Service *ServicePolicy `json:"service,omitempty"`

	// Whether a PodDisruptionBudget keeps evictions (such as those of a node drain) from
	// breaking the quorum. Default: true for three members and more.
	// +optional
	PodDisruptionBudget *bool `json:"podDisruptionBudget,omitempty"`

	// What happens to the members' volumes.
	// +optional
	Storage *StoragePolicy `json:"storage,omitempty"`

	// When lost members are replaced, and what happens when a majority is lost.
	// +optional
	Recovery *RecoveryPolicy `json:"recovery,omitempty"`

	// Defragmentation, repair of a full database, and the comparison of the members' data.
	// +optional
	Maintenance *MaintenancePolicy `json:"maintenance,omitempty"`

	// Mutual TLS between members, and between members and clients.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`

	// The credentials of the operator and of backups, for a cluster on which etcd's
	// authentication is enabled.
	// +optional
	Auth *AuthPolicy `json:"auth,omitempty"`

	// Restrictions on backups of the cluster.
	// +optional
	Backup *ClusterBackup `json:"backup,omitempty"`
}

// PodPolicy has the settings of the members' Pods.
type PodPolicy struct {
	// Labels added to the Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_'))",messageExpression="self.filter(k, k == 'app' || k.startsWith('etcd_'))[0] + ' is reserved for the operator (as are app and etcd_*): remove it, or use another key'"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'etcd.version' || k.startsWith('etcd.database.coreos.com/'))",messageExpression="self.filter(k, k == 'etcd.version' || k.startsWith('etcd.database.coreos.com/'))[0] + ' is reserved for the operator (as are etcd.version and etcd.database.coreos.com/*): remove it, or use another key'"
	Annotations map[string]string `json:"annotations,omitempty"`

	// The labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// The scheduling constraints of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Schedules each member on a node of its own: a required pod anti-affinity over
	// kubernetes.io/hostname. For a softer rule set affinity or topologySpreadConstraints
	// instead.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`

	// The taints that the Pods tolerate.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// How the Pods spread over nodes and zones. Default: evenly over both, as far as
	// possible (ScheduleAnyway).
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// CPU and memory of the etcd container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// Environment variables of the etcd container: etcd's own settings, such as
	// ETCD_AUTO_COMPACTION_RETENTION. Variables that define the member's identity,
	// addresses, data folder or certificates are rejected: the operator sets them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_NAME', 'ETCD_DATA_DIR', 'ETCD_WAL_DIR', 'ETCD_CONFIG_FILE', 'ETCD_FORCE_NEW_CLUSTER', 'ETCD_STRICT_RECONFIG_CHECK', 'ETCD_MAX_LEARNERS', 'ETCD_EXPERIMENTAL_MAX_LEARNERS']) && !['ETCD_LISTEN_', 'ETCD_ADVERTISE_', 'ETCD_INITIAL_', 'ETCD_FORCE_NEW_CLUSTER_', 'ETCD_DISCOVERY'].exists(p, self.name.startsWith(p))",messageExpression="self.name + ' must not be set, because the operator sets the identity, the addresses and the data folder of each member: remove it'"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_CA_FILE', 'ETCD_CERT_FILE', 'ETCD_KEY_FILE', 'ETCD_TRUSTED_CA_FILE', 'ETCD_AUTO_TLS']) && !['ETCD_PEER_', 'ETCD_EXPERIMENTAL_PEER_', 'ETCD_CLIENT_CERT_', 'ETCD_CLIENT_KEY_', 'ETCD_CLIENT_CRL_'].exists(p, self.name.startsWith(p))",messageExpression="self.name + ' must not be set, because the operator sets it from spec.TLS: remove it, and set the source of the certificates in spec.TLS'"
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`

	// Gives every member a volume of its own, which outlives its Pod: a
	// PersistentVolumeClaim of the member's name with this spec. Without it the
	// data lives in an emptyDir, and a lost Pod is a lost member.
	//
	// On an existing cluster, only resources.requests.storage can be changed, and it can only be
	// increased. Volumes are expanded one member at a time, while all members are healthy, if
	// their storage class has allowVolumeExpansion. The condition StorageResizing reports the
	// progress, or what prevents it.
	//
	// Members start on empty volumes: dataSource, dataSourceRef and volumeName are rejected.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.dataSource) && !has(self.dataSourceRef)",reason=FieldValueForbidden,message="dataSource and dataSourceRef must not be set, because a member on a copied volume would join the cluster of the original and lose writes: remove them; to start with the data of another cluster, create an EtcdRestore of an EtcdBackup"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeName)",reason=FieldValueForbidden,message="volumeName must not be set, because every member needs a volume of its own: remove it; to choose volumes, set storageClassName or selector"
	// +kubebuilder:validation:XValidation:rule="has(self.accessModes) && self.accessModes.size() > 0",message="persistentVolumeClaimSpec has no access mode: set accessModes: [ReadWriteOnce]"
	// +kubebuilder:validation:XValidation:rule="has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests",message="persistentVolumeClaimSpec requests no storage: set resources.requests.storage, such as 8Gi"
	// +kubebuilder:validation:XValidation:rule="self.accessModes == oldSelf.accessModes && has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector) && has(self.volumeName) == has(oldSelf.volumeName) && (!has(self.volumeName) || self.volumeName == oldSelf.volumeName) && has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName) && has(self.volumeMode) == has(oldSelf.volumeMode) && (!has(self.volumeMode) || self.volumeMode == oldSelf.volumeMode) && has(self.dataSource) == has(oldSelf.dataSource) && (!has(self.dataSource) || self.dataSource == oldSelf.dataSource) && has(self.dataSourceRef) == has(oldSelf.dataSourceRef) && (!has(self.dataSourceRef) || self.dataSourceRef == oldSelf.dataSourceRef) && has(self.volumeAttributesClassName) == has(oldSelf.volumeAttributesClassName) && (!has(self.volumeAttributesClassName) || self.volumeAttributesClassName == oldSelf.volumeAttributesClassName) && has(self.resources.limits) == has(oldSelf.resources.limits) && (!has(self.resources.limits) || self.resources.limits == oldSelf.resources.limits) && (self.resources.requests.size() == 1 && oldSelf.resources.requests.size() == 1 || self.resources.requests == oldSelf.resources.requests)",reason=FieldValueForbidden,message="persistentVolumeClaimSpec of an existing cluster cannot be changed, except that resources.requests.storage can be increased: undo the change, or create another cluster and move the data with a snapshot"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.resources.requests['storage'])).compareTo(quantity(string(oldSelf.resources.requests['storage']))) >= 0",reason=FieldValueForbidden,message="resources.requests.storage must not be less than before, because volumes cannot shrink: set at least the previous value; for smaller volumes, restore a backup into a new cluster"
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`

	// Not supported; declared so that it is rejected rather than silently ignored. Data in
	// memory is lost when a node restarts, and that of the whole cluster after a power
	// failure. Without persistentVolumeClaimSpec the data is in an emptyDir on the nodes'
	// disks.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self",message="tmpfs is not supported, because data in memory is lost when nodes restart: remove it; for speed, set persistentVolumeClaimSpec with a fast storage class"
	Tmpfs bool `json:"tmpfs,omitempty"`

	// Ignored; accepted because manifests of coreos/etcd-operator have it. No busybox
	// container runs.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_./:@A-Za-z0-9]*$')",message="busyboxImage must be an image, such as busybox:1.37: remove it, because the operator ignores it"
	BusyboxImage string `json:"busyboxImage,omitempty"`

	// The security context of the Pods. Default: that of the restricted Pod
	// Security Standard.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// Ignored; accepted because manifests of coreos/etcd-operator have it. No Pod waits for
	// its DNS record.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`

	// The cluster's DNS domain with a leading dot, such as .cluster.local. It is
	// appended to the members' DNS names, <member>.<cluster>.<namespace>.svc.
	// Default: nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+[.]?$')",message="ClusterDomain must be a DNS domain with a leading dot, such as .cluster.local"
	ClusterDomain string `json:"ClusterDomain,omitempty"`

	// The Secrets with the credentials to pull the images.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// The priority class of the Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="priorityClassName must be the name of a PriorityClass: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as low"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The ServiceAccount of the Pods. Default: default. No token is mounted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="serviceAccountName must be the name of a ServiceAccount of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The time that a member has to stop, in seconds. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// EtcdPolicy has settings of etcd. If a setting is omitted, etcd's default applies, unless the
// description of the setting names another one.
//
// +kubebuilder:validation:XValidation:rule="(has(self.electionTimeout) ? duration(self.electionTimeout) : duration('1s')) >= (has(self.heartbeatInterval) ? duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) : duration('500ms'))",message="electionTimeout (1s if it is omitted) must be at least 5 times heartbeatInterval (100ms if it is omitted), because etcd does not start otherwise: set both, such as heartbeatInterval: 300ms and electionTimeout: 3s"
// +kubebuilder:validation:XValidation:rule="!has(self.autoCompactionRetention) || !has(self.autoCompactionMode) || self.autoCompactionMode != 'revision' || self.autoCompactionRetention.matches('^[0-9]+$')",fieldPath=".autoCompactionRetention",message="autoCompactionRetention must be a number of revisions when autoCompactionMode is revision: set it to a number, such as \"10000\""
// +kubebuilder:validation:XValidation:rule="!has(self.autoCompactionMode) || has(self.autoCompactionRetention)",message="autoCompactionMode must not be set without autoCompactionRetention, because the mode alone compacts nothing: set autoCompactionRetention, such as 1h (periodic) or \"10000\" (revision)"
type EtcdPolicy struct {
	// The database size at which etcd refuses further writes (alarm NOSPACE), such as 8Gi.
	// etcd's default is 2 GiB.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self > 0 : (isQuantity(self) && quantity(self).isGreaterThan(quantity('0')) && quantity(self).isInteger())",message="quotaBackendBytes must be a whole number of bytes of more than 0, such as 8Gi"
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`

	// What autoCompactionRetention counts: time (periodic, etcd's default) or
	// revisions (revision).
	// +optional
	// +kubebuilder:validation:Enum=periodic;revision
	AutoCompactionMode string `json:"autoCompactionMode,omitempty"`

	// How much history etcd's automatic compaction keeps: a time such as 1h or 30m or,
	// with autoCompactionMode: revision, a number of revisions. "0" turns compaction off:
	// the database grows until it reaches its quota. Default: 1h for clusters that were
	// created by a release with this default and have not adopted the volumes of an earlier
	// EtcdCluster, else off; see status.bootstrap.autoCompactionRetention.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,18}|([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4})$')",message="autoCompactionRetention must be a time with its unit, such as 1h or 30m, or, when autoCompactionMode is revision, a number of revisions, such as \"10000\""
	AutoCompactionRetention string `json:"autoCompactionRetention,omitempty"`

	// The interval of the leader's heartbeats, in whole milliseconds: about the round-trip
	// time between members. etcd's default is 100ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}(ms|s)$') && duration(self) >= duration('1ms')",message="heartbeatInterval must be at least 1ms, in whole milliseconds or seconds, such as 100ms"
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`

	// How long followers wait for a heartbeat before they start an election, in whole
	// milliseconds: at least 5 times heartbeatInterval, at most 50s. etcd's default is 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}(ms|s)$') && duration(self) >= duration('5ms') && duration(self) <= duration('50s')",message="electionTimeout must be from 5ms to 50s, in whole milliseconds or seconds, such as 1s"
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`

	// The number of committed transactions after which a member writes a snapshot and
	// truncates its raft log. etcd's default is 10000 (100000 before 3.6).
	// +optional
	// +kubebuilder:validation:Minimum=1
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`

	// The level of etcd's log. etcd's default is info.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error;panic;fatal
	LogLevel string `json:"logLevel,omitempty"`

	// Whether a member that restarts compares its data with that of the other members before
	// it serves, and refuses to start if it differs (etcd's InitialCorruptCheck). This reads
	// the whole database, and waits 7 s for each member that does not answer: if all members
	// of a cluster of three restart at once, it serves some 14 s later. Default false: the
	// daily comparison (spec.maintenance.consistencyCheck) finds the same differences.
	// +optional
	InitialCorruptCheck bool `json:"initialCorruptCheck,omitempty"`
}

// ServicePolicy has the settings of the Service that clients connect to.
type ServicePolicy struct {
	// Annotations added to the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// The type of the Service. Default ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Not supported; declared so that it is rejected rather than silently ignored. The name
	// is always <cluster>-client.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// Not supported; declared so that it is rejected rather than silently ignored. The
	// Service selects the members that serve.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.size() == 0",message="service.selector must not be set, because the operator routes clients only to members that serve: remove it; for other Pods, create a Service of your own"
	Selector map[string]string `json:"selector,omitempty"`
}

// StoragePolicy says what happens to the members' volumes.
type StoragePolicy struct {
	// What happens to the members' PersistentVolumeClaims when the EtcdCluster is
	// deleted. Delete: they are deleted with it. Retain: they are kept, and a new
	// EtcdCluster of this name does not start empty beside them; one with the annotation
	// etcd.database.coreos.com/adopt-volumes adopts them. A change is in effect once the
	// event RetentionEnabled, or RetentionDisabled, is reported. The volumes of members that
	// are replaced or removed by scaling are deleted in either case. Default Delete.
	// +optional
	// +kubebuilder:validation:Enum="";Delete;Retain
	DeletionPolicy VolumeDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// VolumeDeletionPolicy says whether volumes are deleted with the object that they belong
// to.
type VolumeDeletionPolicy string

const (
	// VolumesDelete deletes them. It is the default.
	VolumesDelete VolumeDeletionPolicy = "Delete"
	// VolumesRetain keeps them.
	VolumesRetain VolumeDeletionPolicy = "Retain"
)

// RecoveryPolicy says when lost members are replaced, and what happens when a majority
// of them is permanently lost.
type RecoveryPolicy struct {
	// How long a member's node can be not ready before the member is replaced, such as 5m or
	// 1h30m. At least 10s; default 5m. If a node is deleted from Kubernetes, its Pods are deleted
	// within a minute, and its member is recreated on its volume, or replaced.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('10s')",message="memberTimeout must be a duration of at least 10s with its unit, such as 30s, 5m or 1h30m"
	MemberTimeout *metav1.Duration `json:"memberTimeout,omitempty"`

	// What the operator does when the data of a majority of the members is permanently
	// lost. Manual: nothing; the conditions name the remaining members and the possible
	// steps. Survivor: it starts a new cluster from the data of the most advanced remaining
	// member; writes that had not reached that member are lost. Default Manual. To allow it once:
	// kubectl annotate etcd NAME etcd.database.coreos.com/recover=<status.clusterID> --overwrite.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self in ['Manual', 'Survivor']",messageExpression="'quorumLoss ' + self + ' is not supported: set Manual (a person decides) or Survivor (the operator starts a new cluster from the data of the most advanced remaining member)'"
	QuorumLoss QuorumLossPolicy `json:"quorumLoss,omitempty"`
}

// MaintenancePolicy says when members are defragmented, whether a full database is repaired, and
// when the members' data is compared. etcd returns space that compaction has freed to the disk
// only when a member is defragmented. During that time, about a second per 100 MB, the member
// does not serve. So the operator defragments one member at a time, and only while all members
// are healthy. It first stops routing new clients to that member. The leader is last: it
// transfers its leadership before.
type MaintenancePolicy struct {
	// When all members are defragmented: a cron expression such as 0 3 * * 0 or @daily, in UTC;
	// prefix it with CRON_TZ=<zone> for another time zone. If runs were missed, one run makes up
	// for all of them. Default: never.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+_/*?,.=@ A-Za-z0-9]*$')",message="defragmentSchedule must be a cron expression, such as 0 3 * * 0 or @daily"
	DefragmentSchedule string `json:"defragmentSchedule,omitempty"`

	// The percentage of free space in a member's database, 1 to 99, at or above which all members
	// are defragmented, at most once an hour. A database of up to 100 MiB never causes this.
	// Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	DefragmentAbovePercent int `json:"defragmentAbovePercent,omitempty"`

	// Whether the operator frees space when a database has reached its quota (alarm
	// NOSPACE: etcd refuses writes). It compacts to the newest revision, so that the
	// HISTORY OF KEYS IS LOST (their values are kept; a watcher of an older revision must
	// list again), defragments one member after the other, and disarms the alarm when
	// every database is below 80 % of its quota. If that does not free enough, the condition
	// Available asks to delete keys or to raise the quota. Default false.
	// +optional
	AutoRepairSpace bool `json:"autoRepairSpace,omitempty"`

	// When the data of all members is compared: a cron expression, as in defragmentSchedule, or
	// Never. One member after the other hashes its whole database, and applies no writes during
	// that time. A member whose data differs from that of a majority in two comparisons is
	// replaced; without a majority the condition Consistent says what to do. Default: once a day,
	// at a time that depends on the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+_/*?,.=@ A-Za-z0-9]*$')",message="consistencyCheck must be Never or a cron expression, such as 0 3 * * 0 or @daily"
	ConsistencyCheck string `json:"consistencyCheck,omitempty"`
}

// AuthPolicy says how the operator and backups authenticate to a cluster on which etcd's
// authentication is enabled (etcdctl auth enable). The operator does not enable it.
type AuthPolicy struct {
	// The Secret in this namespace with the password of a user that has etcd's role root: keys
	// password and, unless the user is root, username, as in a Secret of type
	// kubernetes.io/basic-auth. It can be set before authentication is enabled; the operator does
	// not read it until then. When you change the password in etcd, change it in the Secret as
	// well: the operator reads it again when etcd refuses the old one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="rootSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-root"
	RootSecret string `json:"rootSecret,omitempty"`
}

// ConsistencyNever is the ConsistencyCheck that never compares.
const ConsistencyNever = "Never"

// QuorumLossPolicy says what happens when the data of a majority is permanently lost.
type QuorumLossPolicy string

// The policies for a permanently lost quorum.
const (
	// QuorumLossManual: a person decides.
	QuorumLossManual QuorumLossPolicy = "Manual"
	// QuorumLossSurvivor: the operator starts a new cluster from the data of the most
	// advanced remaining member.
	QuorumLossSurvivor QuorumLossPolicy = "Survivor"
)
