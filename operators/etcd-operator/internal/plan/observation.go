package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Observation is all that Plan may know of one EtcdCluster at one moment. Its
// parts may be of slightly different age: Pods and Claims come from caches that
// can lag, Answers were asked for at Now.
type Observation struct {
	// Now is when the Observation was made.
	Now time.Time
	// Since is the moment before which effects on this cluster may have been begun
	// that nobody knows the end of: by another operator, or by a call of this one's
	// that was not answered. Zero if there are none.
	Since   time.Time
	Cluster Cluster
	// Growth is how fast the databases fill.
	Growth Growth
	// Pods are those that this EtcdCluster controls (by uid), sorted by name.
	Pods []Pod
	// Claims are the PersistentVolumeClaims that it controls, sorted by name. A
	// member's claim has the member's name.
	Claims []Claim
	// Retained are the claims that an earlier EtcdCluster of this name has left, sorted by
	// name. They are not this one's.
	Retained []Retained
	// Conflicts describe objects of a name that this cluster needs and that
	// belong to someone else, such as "Service b-client of EtcdCluster b".
	Conflicts []string
	// Unowned are those of them that nobody controls, as kubectl names them, sorted, such
	// as "service/b-client". OrphansInTheWay is true if there are Pods among Conflicts.
	Unowned         []string
	OrphansInTheWay bool
	// Orphans describe Pods of this cluster's name that belong to someone else, sorted by
	// name, once the cluster has begun: they are in nobody's way.
	Orphans []string
	// ForeignBudget describes an object of somebody else that has the name of this
	// cluster's PodDisruptionBudget, which is wanted; empty if there is none. Only the
	// budget waits for that name.
	ForeignBudget string
	// LegacyPods are Pods of this cluster that the archived coreos operator made
	// (restartPolicy Never). They are recognised and never touched.
	LegacyPods []string
	// FreshNames are member names that nobody has used, at least MaxSize of them,
	// and FreshToken is a bootstrap token that nobody has used. Names and
	// randomness come in from outside, so that Plan stays a function.
	FreshNames []string
	FreshToken string
	// Rejections are the effects on this cluster that the API server has refused, and that
	// it has not accepted since.
	Rejections []Rejection
	// Backup is the newest stored snapshot of this cluster, and BackupsKnown is true if
	// EtcdBackups could be listed: only for a Decision that names them.
	Backup       *Backup
	BackupsKnown bool
	// Comparison is the last one that this operator has begun; nil if it has begun none.
	Comparison *Comparison
}

// Backup is a snapshot that an EtcdBackup has stored.
type Backup struct {
	// Name is the EtcdBackup's.
	Name     string
	Revision int64
	Finished time.Time
}

// Cluster is what Plan needs of the EtcdCluster.
type Cluster struct {
	Name       string
	Namespace  string
	Generation int64
	// Scope is the annotation that says whose operators reconcile it; empty if it has none.
	Scope string
	// Deleting is true once the EtcdCluster has a deletion timestamp. It is deleted when it has
	// no Finalizers any more.
	Deleting   bool
	Finalizers []string
	Paused     bool
	// Size is the number of voters wanted, 1 to 7.
	Size int
	// Version is what members run, without a leading v: the one recorded at
	// creation or after the last change, else spec.version, else the operator's
	// default.
	Version string
	// Target is the version that members are on their way to, one at a time; latched
	// in the status before the first of them is changed, and empty when all run
	// Version. It is Version itself on the way back.
	Target string
	// UpgradeSize is the size that the cluster had when Target was latched; 0 if there is
	// no Target. It does not grow beyond that until all members run Target.
	UpgradeSize int
	// VersionIndex is raft's index when the last member came to the minor of Version, or
	// came back to it half-way to an earlier one; 0 if all began with it, or came to it
	// from a later one, or if what there was of an earlier one is left behind.
	VersionIndex uint64
	// WantedVersion is spec.version without a leading v; if that is empty, Target or
	// Version.
	WantedVersion string
	// Repository is the image without its tag that members are to run.
	Repository string
	// Template stands for what the user says of the shape of Pods.
	Template string
	// Persistent is true when members keep their data on volumes of their own.
	Persistent bool
	// Storage is how many bytes each member's volume is to have; 0 if it has none.
	Storage int64
	// Retain is true when the volumes outlive the EtcdCluster.
	Retain bool
	// AdoptVolumes is the annotation that asks for Retained to be taken over: the uid of
	// whom they were, or v1beta2.AdoptAny. VersionGiven is true when the spec names the
	// version, which is then the one that they are gone on with.
	AdoptVolumes string
	VersionGiven bool
	// MemberTimeout is how long a member's node may be gone before the member is
	// given up.
	MemberTimeout time.Duration
	// DisruptionBudget is false when the user asked for no PodDisruptionBudget.
	DisruptionBudget bool

	// Maintenance is what may be done about space, and what was.
	Maintenance Maintenance
	// Consistency is when members' data is compared, and what that has shown.
	Consistency Consistency
	// TLS is what is known of the certificates that the spec asks for.
	TLS TLS
	// RootSecret is the name of the Secret with credentials for etcd's authentication;
	// empty if the spec names none.
	RootSecret string
	// LastStatus is the status as it was last written. Nothing is decided from it:
	// only what cannot be observed at this moment is carried on.
	LastStatus v1beta2.ClusterStatus

	// Bootstrap is latched in the status before the first seed's Pod exists; nil
	// before.
	Bootstrap *Bootstrap
	// ClusterID is latched when the seed has reported it; 0 before.
	ClusterID uint64
	// Fence is what a restore and we have agreed on.
	Fence Fence
	// Survive is true if a cluster whose majority is lost may begin anew with a
	// survivor's data every time, and Recover is the id of the one that may once
	// (annotation recover); empty if none may.
	Survive bool
	Recover string
	// QuorumLostSince is since when a majority's data has been lost in every
	// Observation; zero if it is not.
	QuorumLostSince time.Time
	// Recovery is the last recovery from a survivor, as it is latched in the status; nil
	// if there was none. It is never changed in place.
	Recovery *Recovery
	// PeerURLFormat makes the peer URL of a member of its name, by fmt.
	PeerURLFormat string
	// Existed says, in words, why a cluster of this name is known to have existed
	// although no Bootstrap is recorded (a status of the archived operator,
	// volumes that were kept); empty when it did not. A seed is never started
	// over it.
	Existed string
}

// Fence holds the marks by which a cluster is given out of our hands for a restore,
// as documented at the annotations in package v1beta2. Restores are named by uid.
type Fence struct {
	// Mark, Seeded and Lifted are the values of the annotations fence, seeded and
	// fence-lifted.
	Mark, Seeded, Lifted string
	// By is status.fencedBy: the restore whose fence was acknowledged.
	By string
	// Adopted is status.adoptedSeed; zero if there is none.
	Adopted v1beta2.AdoptedSeed
}

// Bootstrap is the record of the one beginning of a cluster.
type Bootstrap struct {
	// Member is the seed's name.
	Member string
	// Token is etcd's initial-cluster-token.
	Token string
	// Adopted is true of a cluster that goes on with the volumes of an earlier one: no
	// member begins empty, and Member is only one of those that have a volume.
	Adopted bool
}

// Recovery is the record of a cluster that begins anew with a survivor's data. See
// v1beta2.RecoveryStatus, whose fields these are.
type Recovery struct {
	Phase                 v1beta2.RecoveryPhase
	ClusterID             uint64
	Survivor, SurvivorUID string
	MemberID              uint64
	Committed             uint64
	Revision, BeginsAt    int64
	Seed, Token, Version  string
	Survivors, Members    []string
}

// Role is the value of the label etcd_role of a Pod: what the operator last said
// that the Pod is. Only a voter is selected by the client Service and the
// PodDisruptionBudget.
type Role string

const (
	// Seed is the first member, until its cluster id is latched.
	Seed Role = "seed"
	// Joiner is a Pod that waits to become a member, or whose member has not
	// started yet.
	Joiner Role = "joiner"
	// Returning is a Pod recreated for a member's volume.
	Returning Role = "returning"
	// Learner is a started member without a vote.
	Learner Role = "learner"
	// Voter is a member that may serve clients.
	Voter Role = "voter"
	// Leaving is a member that is about to be removed, or has been.
	Leaving Role = "leaving"
	// Restarting is a voter whose container is about to be restarted with another
	// image, or is being restarted, or whose Pod is about to be recreated.
	Restarting Role = "restarting"
	// Defragmenting is a voter that is about to be defragmented, or is being
	// defragmented.
	Defragmenting Role = "defragmenting"
	// Survivor is a member of a cluster whose majority is lost, while the cluster begins
	// anew with a survivor's data.
	Survivor Role = "survivor"
)

// Pod is what Plan needs of a member's Pod.
type Pod struct {
	// Name is also the name of the member and of its claim.
	Name string
	UID  string
	Role Role
	// RoleSince is when it got its role; zero if it was made with it.
	RoleSince time.Time
	Created   time.Time
	// DeletingSince is the time of the request to delete it; zero if there is none.
	DeletingSince time.Time
	// Finished is true when the Pod has failed or succeeded: it never runs again.
	Finished bool
	// IP is the Pod's address; empty while it has none.
	IP string
	// Node is empty while the Pod is not scheduled; Unschedulable then says why,
	// once the scheduler has tried.
	Node          string
	Unschedulable string
	// Trouble says why the Pod's containers do not run, such as
	// "ImagePullBackOff: …" or "CrashLoopBackOff: …"; empty if they do.
	Trouble string
	// ImageUnavailable is true while a container waits for its image.
	ImageUnavailable bool
	// Restarts is how often the etcd container has been restarted in this Pod, and
	// LastExit how it ended last; zero if it has not. Looping is true while the kubelet
	// waits longer and longer before it starts it again. RunningSince is since when it
	// runs; zero if it does not.
	Restarts int
	LastExit Exit
	// Inconsistent is true if etcd ended last because its data differs from that of another
	// member (spec.etcd.initialCorruptCheck). Either of them may be the one that is wrong.
	Inconsistent bool
	Looping      bool
	RunningSince time.Time
	// ProvenRestarts and ProvenImage are what Restarts and the image were when the
	// member was last seen to serve in this Pod; 0 and empty if it never was.
	ProvenRestarts int
	ProvenImage    string
	// Creating is true while the kubelet makes the Pod's containers: it pulls their
	// images, and mounts their volumes.
	Creating bool
	// NodeLostSince is since when the Pod's node is not ready; zero while it is ready, when
	// it is gone (Kubernetes then deletes the Pod), or when nodes may not be read.
	NodeLostSince time.Time
	// Cordoned is true when nothing more is scheduled to the Pod's node: it is to be
	// emptied. False when nodes may not be read.
	Cordoned bool
	// Addressed is true when the headless Service publishes the Pod's address
	// under the member's name, so that looking it up finds it.
	Addressed bool
	// Persistent is true when the Pod keeps its data on a claim.
	Persistent bool
	// Template is what Cluster.Template was when the Pod was made; empty if it does not
	// tell.
	Template string
	// Version is that of the etcd image that the operator asked for, Repository that
	// image without its tag.
	Version, Repository string
	// From is the version that the etcd container runs, or ran last, while the Pod's
	// image was changed and the container has not been restarted since; empty
	// otherwise.
	From string
	// UnreadySince is since when the Pod is not ready; zero while it is. ReadySince is
	// since when it is; zero if that is not known.
	UnreadySince, ReadySince time.Time
	// Routed is true while the client Service sends new clients to the Pod.
	Routed bool
	// Defragmented tells of the last time that the member was defragmented; zero if it
	// was not.
	Defragmented Defragmented
	// Learners is the ETCD_MAX_LEARNERS that the Pod's etcd runs with; 0 if none
	// is set.
	Learners int
	// SnapshotCount is the ETCD_SNAPSHOT_COUNT that the Pod's etcd runs with; 0 if none is
	// set.
	SnapshotCount int
	// StartPermit is the permit to start that is written on the Pod; nil if there is none.
	StartPermit *StartPermit
	// Reseed is the token of the recovery whose seed the Pod was made as; empty if it
	// was not. SurvivorPermit is true while its init container may make the data dir.
	Reseed         string
	SurvivorPermit bool
	// Answer is what the member said of itself.
	Answer Answer
}

// StartPermit is the one-shot permit to start etcd without data (S2). The launcher in
// the Pod uses a start permit only if its Attempt is higher than the last that it used.
type StartPermit struct {
	Attempt int
	// New is true for a seed, which begins a cluster (whatever with), and false for a
	// member that joins one.
	New bool
	// Members are the names in etcd's initial cluster, sorted.
	Members []string
	// Elsewhere are those of Members that have other peer URLs than the operator gives.
	Elsewhere []PeerURLs
	// After are members that the launcher lets serve first; a matter of time, not of
	// safety.
	After []string
	// CatchUp starts etcd once only to catch up, and then again to serve; a matter of
	// time as well.
	CatchUp bool
	// Token is the bootstrap token; set when New.
	Token string
}

// Exit is how a container ended.
type Exit struct {
	// Code is its exit code, Reason the kubelet's word for it, such as "Error" or
	// "OOMKilled".
	Code   int
	Reason string
	// Damage says what is wrong with the data, if the end of the container's log is one of
	// those that etcd is known to end with on damaged data; empty if it is not. Words are
	// its last words, in one short line.
	Damage, Words string
}

// Claim is what Plan needs of a member's PersistentVolumeClaim.
type Claim struct {
	Name     string
	UID      string
	Deleting bool
	// Created is when it was made.
	Created time.Time
	// Reseed is the token of the recovery whose seed it was made for; empty if it was
	// not.
	Reseed string
	// Lost is true when its PersistentVolume is gone (phase Lost).
	Lost bool
	// Retained is true when it is not deleted with the EtcdCluster. Version is then what
	// is noted on it: the version that runs, or that members move to.
	Retained bool
	Version  string
	// Requested and Capacity are the bytes that it asks for and that it has; Capacity is
	// 0 while it has no volume.
	Requested, Capacity int64
	// Resizing are the words of its conditions on its growth; empty if there are none.
	Resizing string
	// Class is its storage class, and Expansion whether that lets volumes grow.
	Class     string
	Expansion Expansion
	// RefusedSize is the size to which the API server has last refused to let it grow, at
	// RefusedAt and with the words of Refusal; 0 if it has not.
	RefusedSize int64
	RefusedAt   time.Time
	Refusal     string
}

// Expansion is whether a storage class lets volumes grow.
type Expansion int

const (
	// ExpansionUnknown is that of a class that may not be read, or is gone.
	ExpansionUnknown Expansion = iota
	// ExpansionAllowed is that of a class with allowVolumeExpansion.
	ExpansionAllowed
	// ExpansionRefused is that of a class without, and of a claim without a class.
	ExpansionRefused
)

// Retained is what Plan needs of a PersistentVolumeClaim that an earlier EtcdCluster has
// left.
type Retained struct {
	Name, UID string
	// Owner is the uid of that EtcdCluster.
	Owner    string
	Deleting bool
	// Version is what is noted of the etcd that ran on it; empty if nothing is.
	Version string
	// Reseed is true when it was made for the seed of a recovery (S13).
	Reseed bool
}

// Answer is what one member said when asked at Observation.Now. The zero Answer
// is that of a Pod that could not be reached, which says nothing of whether it
// lives (S9).
type Answer struct {
	// Waiting is true when the launcher answered in place of etcd: there is no
	// data in the data dir, and it waits for a Grant with an Attempt above Attempt.
	Waiting bool
	Attempt int
	// Identified is true if it said that it is this Pod's launcher, which one of an earlier
	// release does not. Waited is for how long it had found no data then, by its own clock.
	Identified bool
	Waited     time.Duration
	// Blocked says in words why nothing can be heard of the member although something
	// answered: another Pod did, or its own launcher refuses to start etcd on data that is
	// not the member's. Nothing else is set then.
	Blocked string
	// Trouble says why etcd could not be asked, in words that stay the same as long as
	// the cause does, such as "connection refused"; empty if it was not tried.
	Trouble string
	// Reached is true when etcd itself answered; what follows is set only then.
	Reached   bool
	ClusterID uint64
	MemberID  uint64
	// Leader is the member id of the leader that it knows; 0 if none.
	Leader uint64
	// Term is raft's term, Committed the index of the last entry that it knows to be
	// committed, Applied the last applied index, Revision the store's.
	Term      uint64
	Committed uint64
	Applied   uint64
	Revision  int64
	Learner   bool
	// Version is the server's, without a leading v.
	Version string
	// ClusterVersion is etcd's cluster version as this member has it, such as
	// "3.5.0": the minor that all members have been seen to run. Empty if it is not
	// known.
	ClusterVersion string
	// StorageVersion is that of its data, such as "3.6.0": no etcd of an earlier minor
	// starts on it. Empty if it is not told, as by etcd before 3.6.
	StorageVersion string
	// Downgrade is the version that etcd is being downgraded to by its downgrade API, such
	// as "3.5.0"; empty if it is not.
	Downgrade string
	// Errors are those that the member reports, such as "no leader".
	Errors []string
	// Alarms are all that are raised, of whatever member, as this one knows them.
	Alarms []Alarm
	// DBSize is what the member's database takes on its disk, DBSizeInUse what of it is
	// in use, and Quota what it may grow to; in bytes. Quota is 0 if it is not known, or
	// if there is none.
	DBSize, DBSizeInUse, Quota int64
	// Read is true when a linearizable read by this member succeeded: a quorum
	// answered it in this Observation. Of one that refuses it may be set although it was
	// not reached: etcd asks the quorum before it refuses.
	Read bool
	// Refused says why etcd's authentication keeps the member from telling about itself,
	// or from doing what it may be asked; empty if it does not.
	Refused Refusal
	// RefusedBecause says in words what is wrong with the credentials.
	RefusedBecause string
	// Write is what became of a write. Of the seed that a restore hands over, and of nobody
	// else, one is tried.
	Write Write
	// Members is the member list, read with linearizable consistency when Read.
	// Empty from a learner.
	Members []Member
}

// Write is what became of a write that changes no key and no revision. Neither is set if none
// was tried, or if nobody knows what became of it.
type Write struct {
	// Acknowledged is true if a quorum has acknowledged it.
	Acknowledged bool
	// Refused says in etcd's words why it was refused.
	Refused string
}

// Refusal is why etcd's authentication refuses the operator.
type Refusal string

const (
	// NoCredentials: there are none, or they can't be read.
	NoCredentials Refusal = "NoCredentials"
	// WrongCredentials: etcd knows no user of this name and password.
	WrongCredentials Refusal = "WrongCredentials"
	// NotRoot: their user does not have etcd's role root.
	NotRoot Refusal = "NotRoot"
)

// Member is an entry of etcd's member list.
type Member struct {
	ID uint64
	// Name is the name that the member has published, which is its Pod's, whatever became
	// of its peer URL. Before it has started, it is the name in its peer URL.
	Name    string
	Learner bool
	// Started is true once the member has published itself: it has had data.
	Started bool
	// Foreign is true of a member that the operator did not make: neither the name that it
	// published nor its peer URL is one that the operator gives.
	Foreign bool
	// At are the member's peer URLs, with commas between, if they are not the one that the
	// operator gives to a member of its name; empty if they are.
	At string
}

// PeerURLs are those of a member that has others than the operator gives.
type PeerURLs struct{ Name, At string }
