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
	// PhaseNone is a cluster that the operator has not observed yet. If it stays so, the
	// operator does not run, or does not watch this namespace.
	PhaseNone ClusterPhase = ""
	// PhaseCreating is a cluster whose first member does not serve yet. The condition
	// Progressing says what it waits for.
	PhaseCreating ClusterPhase = "Creating"
	// PhaseRunning is a cluster that has served. The condition Available says whether it
	// does now.
	PhaseRunning ClusterPhase = "Running"
	// PhaseFailed is a cluster that cannot continue without its user; status.reason says
	// why and what to do.
	PhaseFailed ClusterPhase = "Failed"
)

// ClusterStatus is what the operator reports of a cluster. Only the operator
// writes it, and only when something in it has changed; but the field backup and the
// condition BackedUp are etcd-backup-operator's.
type ClusterStatus struct {
	// The state of the cluster in a word: Creating, Running or Failed.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// Why the phase is Failed.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Whether the operator holds still because spec.paused is set.
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

	// What etcd-backup-operator knows of the cluster's backups, whoever makes them. It
	// writes this field itself.
	// +optional
	Backup *ClusterBackupStatus `json:"backup,omitempty"`

	// The number of members that there are now.
	// +optional
	Size int `json:"size"`
	// The Service that clients connect to.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// The port of that Service.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// The names of the members that serve, and of those that don't.
	// +optional
	Members MembersStatus `json:"members,omitempty,omitzero"`
	// The members that serve, of those that there are: "3/3".
	// +optional
	ReadyMembers string `json:"ready,omitempty"`
	// How many of the members' Pods an eviction must leave: minAvailable of the
	// PodDisruptionBudget. 0 if there is none.
	// +optional
	MinAvailable int `json:"minAvailable,omitempty"`
	// The version that the cluster runs.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// The version that the cluster is on its way to; empty when it is there. Of a
	// cluster that is left to a restore before it had a member, the version to give
	// its seed.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// raft's index when the last member came to the minor of currentVersion; 0 for a
	// cluster that began with it, or came to it from a later one. etcd 3.7 does not start
	// on log entries of 3.5, and each member has left those behind when it has made a
	// snapshot after this index.
	// +optional
	VersionIndex int64 `json:"versionIndex,omitempty"`

	// The size that the cluster keeps until all members run targetVersion: it does not
	// grow between two members of an upgrade. A number of members; 0 if there is no
	// targetVersion.
	// +optional
	UpgradeSize int `json:"upgradeSize,omitempty"`

	// The member whose Pod is being recreated on its volume, as the spec says now; empty
	// if there is none.
	// +optional
	UpdatingMember string `json:"updatingMember,omitempty"`

	// The one beginning of the cluster, recorded before its first member's Pod
	// exists. It is never made a second time; a restore, or a recovery from a survivor,
	// puts that of its seed here.
	// +optional
	Bootstrap *BootstrapStatus `json:"bootstrap,omitempty"`
	// etcd's own id of the cluster, 16 hexadecimal digits, as the first member
	// reported it. Once it is known, no fresh cluster is ever made here; only a
	// restore's or a survivor's seed, once it is adopted, brings another id.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// The uid of the EtcdRestore that the cluster is fenced by: the operator touches
	// nothing of it until it has adopted that restore's seed, or the fence is lifted
	// (annotations etcd.database.coreos.com/seeded and .../fence-lifted).
	// +optional
	FencedBy string `json:"fencedBy,omitempty"`
	// The seed of the last restore, which this cluster has grown from. The uid of a
	// restore is adopted once.
	// +optional
	AdoptedSeed *AdoptedSeed `json:"adoptedSeed,omitempty"`
	// Whether the operator waits for a quorum of the members to serve again. No member is
	// added or removed meanwhile.
	// +optional
	AwaitsQuorum bool `json:"awaitsQuorum,omitempty"`
	// Since when the data of a majority of the members has been lost for good, without
	// a break, as far as the operator could tell. Nothing while it is not.
	// +optional
	// +nullable
	QuorumLostSince *metav1.Time `json:"quorumLostSince,omitempty"`
	// How the cluster began anew, or is about to, from the data of a survivor, after
	// the last loss of a majority. Everything that is done about it derives from this
	// record.
	// +optional
	Recovery *RecoveryStatus `json:"recovery,omitempty"`

	// A revision that no client of this cluster has seen yet, as far as the operator
	// could tell: it is kept ahead of the highest that a member has reported, by 500 of a
	// new cluster and by 500,000 to 2,000,000 of one that has reached 100,000, so that a
	// cluster which is written to all the time seldom changes it. It never goes down,
	// also over restores. 0 if no member has reported any.
	//
	// The operator may have been away while clients wrote: a restore adds 1e9 to it
	// (five hours of 50,000 writes a second).
	// +optional
	HighestRevision int64 `json:"highestRevision,omitempty"`

	// Whether anything was ever written to this cluster: a member has reported a revision
	// beyond 1. It stays true, also over restores: a snapshot without a key replaces such a
	// cluster only with allowEmptySnapshot.
	// +optional
	Written bool `json:"written,omitempty"`

	// The alarms that etcd has raised. While there is any, it refuses writes; the
	// condition Degraded says what to do.
	// +optional
	// +listType=atomic
	Alarms []AlarmStatus `json:"alarms,omitempty"`
	// The certificates of a cluster with TLS.
	// +optional
	TLS *TLSStatus `json:"tls,omitempty"`
	// What was done about space in the members' databases, and when.
	// +optional
	Maintenance *MaintenanceStatus `json:"maintenance,omitempty"`
	// What the last comparison of the members' data has shown.
	// +optional
	Consistency *ConsistencyStatus `json:"consistency,omitempty"`

	// The label selector of the members' Pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// The name of the member that leads.
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
	// The name of the member that it is about; its id, 16 hexadecimal digits, if that is
	// no member any more. Empty if etcd could not tell which member is corrupt.
	// +optional
	Member string `json:"member,omitempty"`
}

// MaintenanceStatus records what was done about space in the members' databases.
type MaintenanceStatus struct {
	// When the last round of defragmentations began. The members that were defragmented
	// since (annotation etcd.database.coreos.com/defragmented on their Pods) are done.
	// +optional
	LastDefragmentTime *metav1.Time `json:"lastDefragmentTime,omitempty"`
	// The schedule that times are counted by, and since when: it was written then.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// +optional
	ScheduleSince *metav1.Time `json:"scheduleSince,omitempty"`
	// When the operator compacted the database last, for want of space, and to which
	// revision.
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
	// ShortageFillingUp: the quota is in use within a day or two, at the growth of the last
	// hours.
	ShortageFillingUp SpaceShortage = ClusterReasonFillingUp
	// ShortageFileNearQuota: the database's file is nearly as large as the quota, and much of
	// it is free.
	ShortageFileNearQuota SpaceShortage = ClusterReasonFileNearQuota
)

// ConsistencyStatus records the last comparison of the members' data.
type ConsistencyStatus struct {
	// When the comparison ended, and the revision at which data was compared.
	LastCheckTime metav1.Time `json:"lastCheckTime"`
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Consistent: all members have the same data. MemberDiffers: a majority has the same
	// data, and differingMembers do not; they are replaced. NoMajority: the data of no
	// majority is the same, and nothing is done.
	Result ConsistencyResult `json:"result"`
	// The ids, 16 hexadecimal digits, of the members whose data differs from that of the
	// majority, until they are removed.
	// +optional
	// +listType=set
	DifferingMembers []string `json:"differingMembers,omitempty"`
}

// ConsistencyResult is what a comparison of the members' data has shown.
type ConsistencyResult string

// The results of a comparison.
const (
	// ResultConsistent: all members have the same data.
	ResultConsistent ConsistencyResult = "Consistent"
	// ResultMemberDiffers: a minority's data differs from that of the majority.
	ResultMemberDiffers ConsistencyResult = "MemberDiffers"
	// ResultNoMajority: no majority of the members has the same data.
	ResultNoMajority ConsistencyResult = "NoMajority"
)

// BootstrapStatus records how a cluster begins.
type BootstrapStatus struct {
	// The name of the first member.
	Member string `json:"member"`
	// The cluster token that it starts with; of a seed that was restored, the
	// EtcdRestore's uid.
	Token string `json:"token"`
	// Whether the cluster has adopted the volumes that an earlier EtcdCluster of its
	// name has left. No member ever begins empty then.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// How much of the history etcd keeps where the spec says nothing of it
	// (spec.etcd.autoCompactionRetention). It is recorded when the cluster begins, so that
	// no other release of the operator changes a cluster that runs. Empty: all of it.
	// +optional
	AutoCompactionRetention string `json:"autoCompactionRetention,omitempty"`
}

// DefaultAutoCompactionRetention is how much of the history etcd keeps in a cluster that
// begins now, and whose spec says nothing of it.
const DefaultAutoCompactionRetention = "1h"

// AdoptedSeed names a member that was made from a snapshot, and that the cluster has
// grown from.
type AdoptedSeed struct {
	// The uid of the EtcdRestore that made it.
	Restore string `json:"restore"`
	// The name of its Pod.
	Pod string `json:"pod"`
	// The uid of that Pod.
	PodUID string `json:"podUID"`
}

// RecoveryPhase says how far a recovery from a survivor has come.
//
// +kubebuilder:validation:Enum=Seeding;Growing;Complete
type RecoveryPhase string

// The phases of a recovery from a survivor.
const (
	// RecoverySeeding makes a seed from the survivor's snapshot. The old cluster is
	// still the cluster, and the recovery is aborted if it serves again.
	RecoverySeeding RecoveryPhase = "Seeding"
	// RecoveryGrowing is after the seed has become the cluster, until size voters are
	// healthy and what is left of the old cluster is deleted.
	RecoveryGrowing RecoveryPhase = "Growing"
	// RecoveryComplete keeps only the record.
	RecoveryComplete RecoveryPhase = "Complete"
)

// RecoveryStatus records a recovery from a survivor.
type RecoveryStatus struct {
	// How far it has come.
	Phase RecoveryPhase `json:"phase"`
	// The id of the cluster whose majority was lost, 16 hexadecimal digits.
	ClusterID string `json:"clusterID"`
	// The member whose snapshot the cluster begins anew with, and its Pod's uid.
	Survivor    string `json:"survivor"`
	SurvivorUID string `json:"survivorUID"`
	// etcd's own id of that member, 16 hexadecimal digits.
	MemberID string `json:"memberID"`
	// raft's index of the last entry that it knew to be committed. No other survivor
	// knew more.
	CommittedIndex int64 `json:"committedIndex"`
	// Its revision: all that was written up to it is kept, and what other members had
	// acknowledged beyond it is lost.
	Revision int64 `json:"revision"`
	// The seed's name, and the cluster token that it begins with.
	Seed  string `json:"seed"`
	Token string `json:"token"`
	// The revision that the new cluster begins at: beyond all that clients may have seen.
	BeginsAt int64 `json:"beginsAt"`
	// The version of etcd that the seed runs, which is the survivor's.
	Version string `json:"version"`
	// The members whose data was there to choose from.
	// +listType=set
	Survivors []string `json:"survivors"`
	// All Pods and volumes of the old cluster's members. What they hold is kept until
	// the new cluster has size healthy voters.
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
	// The members that don't.
	// +optional
	// +listType=atomic
	Unready []string `json:"unready,omitempty"`
}

// MemberRole is a member's part in the cluster, as etcd's member list has it.
//
// +kubebuilder:validation:Enum=Voter;Learner;Unstarted
type MemberRole string

// The roles of a member.
const (
	// MemberVoter takes part in elections and counts for the quorum.
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
	// Whether the operator leaves the member alone: a person has added it, or has changed
	// its peer URL, with etcdctl.
	// +optional
	Unmanaged bool `json:"unmanaged,omitempty"`
}
