package v1beta2

// The types of an EtcdCluster's conditions. The first seven are always set, the others
// only while they have something to report.
const (
	// ConditionAvailable: a quorum of the members serves reads and writes. While it is False,
	// read the message: clients cannot write. Unknown: spec.paused is true, and members are
	// not queried.
	ConditionAvailable = "Available"
	// ConditionProgressing: the operator is changing the cluster. False means that the
	// cluster is up to date, or that the operator waits for the user; the reason tells which.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: a member is not healthy, members' data differs, or the operator cannot
	// do its work at all. The message names the members and what to do. A cluster that forms or
	// grows is not degraded. Unknown: members are not queried, or refuse the operator's requests,
	// for example because a certificate or credentials are missing.
	ConditionDegraded = "Degraded"
	// ConditionScaling: the operator adds or removes members to reach spec.size.
	ConditionScaling = "Scaling"
	// ConditionUpgrading: members move to another etcd version, or will move. The message counts
	// them, and says what blocks the move. False with the reason VersionRefused: set another
	// spec.version.
	ConditionUpgrading = "Upgrading"
	// ConditionRecovering: the operator restarts or replaces a lost member, or rebuilds the
	// cluster from a survivor. With the reason NoQuorum, a lost member cannot be replaced before
	// a quorum serves again. False with the reason QuorumLost: the operator waits for the user.
	// Unknown: members are not queried, for example because a certificate is missing.
	ConditionRecovering = "Recovering"
	// ConditionPaused: spec.paused is true. The operator changes nothing, and etcd keeps
	// running.
	ConditionPaused = "Paused"

	// ConditionStorageResizing: volumes are being expanded, or cannot be expanded (then it
	// is False). Set while spec asks for more storage than some volume has.
	ConditionStorageResizing = "StorageResizing"
	// ConditionConsistent: all members had the same data when it was last compared. Set after
	// the first comparison; its reasons are Consistent, MemberDiffers and NoMajority. While it
	// is False, follow the message before you trust a read.
	ConditionConsistent = "Consistent"
	// ConditionNameConflict: an object with a name that the cluster needs has another owner.
	// Remove that object, or rename the EtcdCluster.
	ConditionNameConflict = "NameConflict"
	// ConditionOrphanedPods: Pods with the cluster's labels have another owner, for example an
	// earlier EtcdCluster of this name that was deleted with --cascade=orphan. The cluster's own
	// Services do not select them. Delete them once they are not needed.
	ConditionOrphanedPods = "OrphanedPods"
	// ConditionUnmanagedMembers: someone has added a member, or changed the peer URL of one,
	// with etcdctl. The operator neither removes nor replaces such a member, and counts it in
	// each quorum. The message has the command that removes it or undoes the change.
	ConditionUnmanagedMembers = "UnmanagedMembers"
	// ConditionCredentialsMissing: etcd's authentication is enabled, and the operator has no
	// credentials for it. Create the Secret that the message describes.
	ConditionCredentialsMissing = "CredentialsMissing"
	// ConditionCredentialsInvalid: etcd's authentication refuses the credentials in
	// spec.auth.rootSecret, or their user lacks the role root. Correct the Secret.
	ConditionCredentialsInvalid = "CredentialsInvalid"
	// ConditionCertificatesReady: the certificates that spec.TLS asks for exist and are
	// valid. While it is False, the message names each Secret and what to write there.
	ConditionCertificatesReady = "CertificatesReady"
	// ConditionKnownVulnerability: members run an etcd with a known vulnerability that
	// concerns this cluster. Set spec.version to the version in the message.
	ConditionKnownVulnerability = "KnownVulnerability"
	// ConditionSpaceLow: members' databases approach their quota, at which etcd refuses
	// writes. The message names the field to set.
	ConditionSpaceLow = "SpaceLow"
	// ConditionVersionUnsupported: the operator does not support the version in
	// spec.version. Set it to the one in the message.
	ConditionVersionUnsupported = "VersionUnsupported"
)
