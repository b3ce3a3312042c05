package facts

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
	// Doubtful lists the Pods and PVCs that might be members' although their owner references and labels do not
	// say so, sorted by name. No decision relies on their absence (S9).
	Doubtful []Doubtful
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
	// came back to it half-way to an earlier one, or when their volumes were adopted; 0 if all
	// began with it, or came to it from a later one, or if what there was of an earlier one is
	// left behind.
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

// Landing is for how long after its beginning an effect may still come about. It is
// longer than the deadline that act gives to all of an action.
const Landing = 12 * time.Second
