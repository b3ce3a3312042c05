package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPhase is the predecessor's one-word summary of a cluster. Conditions
// say more.
//
// +kubebuilder:validation:Enum="";Creating;Running;Failed
type ClusterPhase string

// The phases of a cluster.
const (
	// PhaseNone is a cluster that the operator has not observed yet. If it stays so, check
	// that the operator runs and watches this namespace.
	PhaseNone ClusterPhase = ""
	// PhaseCreating is a cluster whose first member does not serve yet. If that lasts, read
	// the condition Progressing.
	PhaseCreating ClusterPhase = "Creating"
	// PhaseRunning is a cluster that has served. Read the condition Available for whether it
	// does now.
	PhaseRunning ClusterPhase = "Running"
	// PhaseFailed is a cluster that cannot continue without its user. Read status.reason,
	// which says why, and do what the condition Available says.
	PhaseFailed ClusterPhase = "Failed"
)

// ClusterStatus is what the operator reports of a cluster. Only etcd-operator writes it, and only
// when something in it has changed. The field backup and the condition BackedUp are an exception:
// etcd-backup-operator writes them.
type ClusterStatus struct {
	// The state of the cluster in a word: Creating, Running or Failed.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// Why the phase is Failed.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Whether reconciliation is paused, because spec.paused is set.
	// +optional
	ControlPaused bool `json:"controlPaused,omitempty"`
	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Available, Progressing, Degraded and others, each with a message that
	// says what is happening and what, if anything, to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The cluster's backups, whichever EtcdBackups make them. etcd-backup-operator writes
	// this field.
	// +optional
	Backup *ClusterBackupStatus `json:"backup,omitempty"`

	// The current number of members.
	// +optional
	Size int `json:"size"`
	// The Service that clients connect to.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// The port of that Service.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// The names of the members that serve, and of those that do not.
	// +optional
	Members MembersStatus `json:"members,omitempty,omitzero"`
	// How many of the current members serve: "3/3".
	// +optional
	ReadyMembers string `json:"ready,omitempty"`
	// How many of the members' Pods an eviction must leave: minAvailable of the
	// PodDisruptionBudget. 0 if there is none.
	// +optional
	MinAvailable int `json:"minAvailable,omitempty"`
	// The version that the cluster runs.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// The version that the cluster is being upgraded or downgraded to; empty when it has
	// reached it. For a cluster that a restore creates, the version of its seed.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// The raft index up to which members may have log entries of an earlier minor; 0 if none
	// has, as in a cluster that began with this minor, or was downgraded to it. etcd 3.7 does
	// not start on log entries of 3.5. A member has none of them any more once it has written
	// a snapshot after this index.
	// +optional
	VersionIndex int64 `json:"versionIndex,omitempty"`

	// The number of members that the cluster keeps until all of them run targetVersion: it
	// is not scaled during an upgrade. 0 without targetVersion.
	// +optional
	UpgradeSize int `json:"upgradeSize,omitempty"`

	// The member whose Pod is being recreated, on its volume, to apply a change of the spec;
	// empty if there is none.
	// +optional
	UpdatingMember string `json:"updatingMember,omitempty"`

	// The bootstrap of the cluster, recorded before the Pod of its first member is created.
	// A cluster is bootstrapped once; a restore, or a recovery from a survivor, records its
	// seed here.
	// +optional
	Bootstrap *BootstrapStatus `json:"bootstrap,omitempty"`
	// etcd's id of the cluster, 16 hexadecimal digits, as its first member reported it.
	// Once it is known, the operator never starts an empty cluster in its place. It changes
	// only when the seed of a restore or of a survivor is adopted.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// The uid of the EtcdRestore that fences the cluster: reconciliation is suspended until
	// the operator has adopted that restore's seed, or the fence is lifted (annotations
	// etcd.database.coreos.com/seeded and etcd.database.coreos.com/fence-lifted).
	// +optional
	FencedBy string `json:"fencedBy,omitempty"`
	// The seed of the last restore, from which this cluster has grown. The seed of a restore
	// is adopted once.
	// +optional
	AdoptedSeed *AdoptedSeed `json:"adoptedSeed,omitempty"`
	// Whether the operator waits until a quorum of the members serves again. No member is
	// added or removed meanwhile.
	// +optional
	AwaitsQuorum bool `json:"awaitsQuorum,omitempty"`
	// Since when, without interruption, the data of a majority of the members has been
	// permanently lost, as far as the operator can tell. Unset otherwise.
	// +optional
	// +nullable
	QuorumLostSince *metav1.Time `json:"quorumLostSince,omitempty"`
	// The last recovery from a survivor's data, after a majority was lost. It records all
	// decisions of the recovery, so that a restarted operator continues it.
	// +optional
	Recovery *RecoveryStatus `json:"recovery,omitempty"`

	// A revision that no client of this cluster has seen yet, as far as the operator can
	// tell. It is kept ahead of the highest revision that a member has reported: by 500 for a
	// new cluster, and by 500,000 to 2,000,000 for one that has reached 100,000, so that
	// continuous writes seldom change it. It never decreases, not even by a restore. 0 if no
	// member has reported a revision.
	//
	// Clients might have written while the operator was not running: a restore adds 1e9 to
	// it (five hours of 50,000 writes a second).
	// +optional
	HighestRevision int64 `json:"highestRevision,omitempty"`

	// Whether anything was ever written to this cluster: a member has reported a revision
	// above 1. Once true it stays true, also after restores. A snapshot without keys replaces
	// such a cluster only with allowEmptySnapshot.
	// +optional
	Written bool `json:"written,omitempty"`

	// The alarms that etcd has raised. While one is active, etcd refuses writes; the
	// condition Available says what to do.
	// +optional
	// +listType=atomic
	Alarms []AlarmStatus `json:"alarms,omitempty"`
	// The certificates of a cluster with TLS.
	// +optional
	TLS *TLSStatus `json:"tls,omitempty"`
	// Defragmentations and repairs of the members' databases.
	// +optional
	Maintenance *MaintenanceStatus `json:"maintenance,omitempty"`
	// The last comparison of the members' data.
	// +optional
	Consistency *ConsistencyStatus `json:"consistency,omitempty"`

	// The label selector of the members' Pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// The name of the leader.
	// +optional
	Leader string `json:"leader,omitempty"`
	// The members as etcd knows them.
	// +optional
	// +listType=map
	// +listMapKey=name
	MemberDetails []MemberDetail `json:"memberDetails,omitempty"`
}

// AlarmStatus is an alarm that etcd has raised.
type AlarmStatus struct {
	// NOSPACE: a member's database has grown to its quota. CORRUPT: a member's data
	// differs from that of the others.
	Kind string `json:"kind"`
	// The name of the member that the alarm is about; its id, 16 hexadecimal digits, if it
	// has been removed. Empty if etcd cannot tell which member is corrupt.
	// +optional
	Member string `json:"member,omitempty"`
}

// MaintenanceStatus records defragmentations and repairs of the members' databases.
type MaintenanceStatus struct {
	// When the last round of defragmentations began. Members that have been defragmented
	// since then have the annotation etcd.database.coreos.com/defragmented on their Pods.
	// +optional
	LastDefragmentTime *metav1.Time `json:"lastDefragmentTime,omitempty"`
	// The value that the annotation etcd.database.coreos.com/defragment had when it last started
	// a round.
	// +optional
	DefragmentRequest string `json:"defragmentRequest,omitempty"`
	// The last value of the annotation etcd.database.coreos.com/move-leader that the operator has
	// handled: the member has become the leader, or leaderRefused says why not.
	// +optional
	LeaderRequest string `json:"leaderRequest,omitempty"`
	// Why the member did not become the leader; empty if it did.
	// +optional
	LeaderRefused string `json:"leaderRefused,omitempty"`
	// The defragmentation schedule in use, and since when it has been in the spec.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// +optional
	ScheduleSince *metav1.Time `json:"scheduleSince,omitempty"`
	// When the operator last compacted the database to free space, and to which revision.
	// +optional
	LastRepairTime *metav1.Time `json:"lastRepairTime,omitempty"`
	// +optional
	CompactedRevision int64 `json:"compactedRevision,omitempty"`
	// Why there is little space, while the condition SpaceLow is True; empty if there is
	// enough.
	// +optional
	Shortage SpaceShortage `json:"shortage,omitempty"`
}

// SpaceShortage is why there is little space in the members' databases. It is also the
// reason of the condition SpaceLow.
//
// +kubebuilder:validation:Enum="";QuotaNearlyUsed;FillingUp;FileNearQuota
type SpaceShortage string

// The shortages of space.
const (
	// ShortageQuotaNearlyUsed: most of the quota is in use.
	ShortageQuotaNearlyUsed SpaceShortage = ClusterReasonQuotaNearlyUsed
	// ShortageFillingUp: at the growth rate of the last hours, the quota is reached within a
	// day or two.
	ShortageFillingUp SpaceShortage = ClusterReasonFillingUp
	// ShortageFileNearQuota: the database file is nearly as large as the quota, and much of
	// it is free space.
	ShortageFileNearQuota SpaceShortage = ClusterReasonFileNearQuota
)

// ConsistencyStatus records the last comparison of the members' data.
type ConsistencyStatus struct {
	// When the comparison ended, and the revision at which the data was compared.
	LastCheckTime metav1.Time `json:"lastCheckTime"`
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Consistent: all members have the same data. MemberDiffers: a majority has the same data,
	// and differingMembers do not; they are replaced. NoMajority: no majority of the members has
	// the same data, and the operator changes nothing.
	Result ConsistencyResult `json:"result"`
	// The ids, 16 hexadecimal digits, of the members whose data differs from that of the
	// majority, until they are removed.
	// +optional
	// +listType=set
	DifferingMembers []string `json:"differingMembers,omitempty"`
}

// ConsistencyResult is the result of a comparison of the members' data.
type ConsistencyResult string

// The results of a comparison that finds no difference, which Consistent has as its reason.
const (
	// ResultConsistent: all members have the same data. Nothing to do.
	ResultConsistent ConsistencyResult = "Consistent"
)

// The results of a comparison that finds a difference. They are also reasons of Consistent,
// of Progressing, and of Warning events.
const (
	// ResultMemberDiffers: a minority's data differs from that of the majority, so that what
	// clients read from it might have been wrong. Nothing to do: the operator replaces it.
	ResultMemberDiffers ConsistencyResult = "MemberDiffers"
	// ResultNoMajority: no majority of the members has the same data, so that what clients read
	// might be wrong. Nothing is removed: find the member that is right, back it up, and restore
	// the cluster from that, as the message says. Also a reason of Degraded.
	ResultNoMajority ConsistencyResult = "NoMajority"
)

// BootstrapStatus records how the cluster was bootstrapped.
type BootstrapStatus struct {
	// The name of the first member.
	Member string `json:"member"`
	// The cluster token that it starts with; for the seed of a restore, the uid of the
	// EtcdRestore.
	Token string `json:"token"`
	// Whether the cluster has adopted the volumes of an earlier EtcdCluster of its name. No
	// member starts empty then.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// How much history etcd keeps if spec.etcd.autoCompactionRetention is not set. It is
	// recorded when the cluster is created, so that another release of the operator does not
	// change a running cluster. Empty: all of it, as in a cluster that has adopted the volumes
	// of an earlier EtcdCluster.
	// +optional
	AutoCompactionRetention string `json:"autoCompactionRetention,omitempty"`
}

// DefaultAutoCompactionRetention is how much history etcd keeps in a new cluster whose spec
// does not set spec.etcd.autoCompactionRetention.
const DefaultAutoCompactionRetention = "1h"

// AdoptedSeed names the member that was restored from a snapshot, and from which the
// cluster has grown.
type AdoptedSeed struct {
	// The uid of the EtcdRestore that created it.
	Restore string `json:"restore"`
	// The name of its Pod.
	Pod string `json:"pod"`
	// The uid of that Pod.
	PodUID string `json:"podUID"`
}

// RecoveryPhase is the step that a recovery from a survivor has reached.
//
// +kubebuilder:validation:Enum=Seeding;Growing;Complete
type RecoveryPhase string

// The phases of a recovery from a survivor.
const (
	// RecoverySeeding: a seed is created from the survivor's snapshot. The old cluster still
	// counts: if it serves again, the recovery is aborted. If it lasts, read the condition
	// Recovering.
	RecoverySeeding RecoveryPhase = "Seeding"
	// RecoveryGrowing: the seed has become the cluster, and members are added until size
	// voters are healthy and the Pods and PVCs of the old cluster are deleted. If it lasts,
	// read the condition Recovering.
	RecoveryGrowing RecoveryPhase = "Growing"
	// RecoveryComplete: the recovery is over, and only its record is kept. Nothing to do.
	RecoveryComplete RecoveryPhase = "Complete"
)

// RecoveryStatus records a recovery from a survivor.
type RecoveryStatus struct {
	// Seeding, Growing or Complete.
	Phase RecoveryPhase `json:"phase"`
	// The id of the cluster whose majority was lost, 16 hexadecimal digits.
	ClusterID string `json:"clusterID"`
	// The member from whose snapshot the new cluster starts, and the uid of its Pod.
	Survivor    string `json:"survivor"`
	SurvivorUID string `json:"survivorUID"`
	// etcd's own id of that member, 16 hexadecimal digits.
	MemberID string `json:"memberID"`
	// The raft index of the last entry that it knew to be committed. No other survivor had
	// a higher one.
	CommittedIndex int64 `json:"committedIndex"`
	// Its revision: all writes up to it are kept. Writes above it, which other members had
	// acknowledged, are lost.
	Revision int64 `json:"revision"`
	// The seed's name, and the cluster token that it starts with.
	Seed  string `json:"seed"`
	Token string `json:"token"`
	// The revision at which the new cluster starts: above any that clients might have seen.
	BeginsAt int64 `json:"beginsAt"`
	// The version of etcd that the seed runs, which is the survivor's.
	Version string `json:"version"`
	// The members whose data was available to choose from.
	// +listType=set
	Survivors []string `json:"survivors"`
	// The members of the old cluster. Their Pods and PVCs are kept until the new cluster has
	// size healthy voters.
	// +listType=set
	Members []string `json:"members"`
}

// MembersStatus names the members of a cluster, which are also the names of
// their Pods.
type MembersStatus struct {
	// The members that serve.
	// +optional
	// +listType=atomic
	Ready []string `json:"ready,omitempty"`
	// The members that do not.
	// +optional
	// +listType=atomic
	Unready []string `json:"unready,omitempty"`
}

// MemberRole is a member's role in etcd's member list.
//
// +kubebuilder:validation:Enum=Voter;Learner;Unstarted
type MemberRole string

// The roles of a member.
const (
	// MemberVoter votes in elections and counts for the quorum.
	MemberVoter MemberRole = "Voter"
	// MemberLearner receives all writes and has no vote yet.
	MemberLearner MemberRole = "Learner"
	// MemberUnstarted has been added and has never answered.
	MemberUnstarted MemberRole = "Unstarted"
)

// MemberDetail is one member of the cluster.
type MemberDetail struct {
	// The member's name, which is also its Pod's.
	Name string `json:"name"`
	// etcd's own id of the member, 16 hexadecimal digits.
	// +optional
	ID string `json:"id,omitempty"`
	// Voter, Learner or Unstarted.
	// +optional
	Role MemberRole `json:"role,omitempty"`
	// The version that the member runs, or is to run when it starts.
	// +optional
	Version string `json:"version,omitempty"`
	// The node that the member runs on.
	// +optional
	Node string `json:"node,omitempty"`
	// Whether the operator does not manage this member, because a user has added it, or has
	// changed its peer URL, with etcdctl.
	// +optional
	Unmanaged bool `json:"unmanaged,omitempty"`
}
