package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// Observation is all that Plan may know of one EtcdRestore at one moment. Caches may
// lag; what must be true at the moment of an effect is a precondition of the Action.
//
// Two things are not left to caches, since what they do not show would be forgotten for
// good. While the EtcdRestore is being deleted, and in the phases HandedOff and
// RollingBack, Cluster, Pods and Claims were read from the API server itself. And so was,
// in every phase, each object that is missing here: an EtcdCluster (also one of another
// uid than status.clusterUID has), an EtcdBackup, a Job.
type Observation struct {
	// Now is when the Observation was made.
	Now time.Time
	// Restore is the EtcdRestore. Plan reads it and changes nothing in it.
	Restore *v1beta2.EtcdRestore
	// Others are the EtcdRestores of the same EtcdCluster that are neither complete nor
	// failed, by uid, in the order in which they were created (then by uid). This one
	// is not among them.
	Others []Other

	// Cluster is the EtcdCluster to restore: of the name that status.cluster has, or
	// that the spec leads to. nil if there is none.
	Cluster *v1beta2.EtcdCluster
	// Template is the EtcdCluster whose spec a new cluster gets (target New with
	// spec.etcdCluster); nil if there is none, or none is needed.
	Template *v1beta2.EtcdCluster
	// Backup is the EtcdBackup that spec.backupRef names; nil if there is none.
	Backup *v1beta2.EtcdBackup

	// Creator is what is known of the rights of whoever created the EtcdRestore, where
	// AsksCreator wants it.
	Creator creator.Check

	// Job is the Job that verifies; nil if there is none. Of one that is done and of
	// which nothing is reported, and of one that Hangs, the Pods were read from the API
	// server itself.
	Job *Job
	// MemberNodes are the names of the nodes that run members of any EtcdCluster that the operator
	// serves, sorted; only before the Job of a restore that KeepsOffMembers.
	MemberNodes []string
	// Pods are those that the EtcdCluster controls, or, where nobody does, that have its uid
	// in their label. They are sorted by name, the seed among them.
	Pods []Pod
	// Claims are the PersistentVolumeClaims that are the EtcdCluster's and that have
	// its label etcd_cluster, or the label retired-by with this EtcdRestore's uid; while
	// it is left to this restore, also those that have lost their labels. They are sorted
	// by name.
	Claims []Claim
	// Doubtful describes the Pods and PVCs that might be the cluster's, and how a user corrects their metadata; only
	// while the cluster is left to this restore.
	Doubtful []Doubtful
	// Progress is what the agent that runs now has told; nil if none has.
	Progress *task.Progress

	// Asked is true when the members that serve were asked for their revision, as
	// Decision.AskRevision wants it, and Reported is the highest that one has told; 0: none
	// has answered.
	Asked    bool
	Reported int64

	// FreshName is an unused member name of this cluster.
	FreshName string
	// Refused is why the API server did not take the Action that was just decided on
	// this very Observation, in its own words (a quota, an invalid field). Empty
	// otherwise.
	Refused string
}

// Doubtful is a Pod or PVC that has the name of a member or of the seed, or that this restore has retired, and that
// no controller owns. Anyone who can edit it can change its owner references and labels. So it counts neither as the
// cluster's nor as gone.
type Doubtful struct {
	// Retired is true if this restore has retired it: only a rollback needs it.
	Retired bool
	// Object is its kind and name.
	Object string
	// Advice describes the fault, and how a user corrects it.
	Advice string
}

// Other is another EtcdRestore of the same EtcdCluster.
type Other struct {
	Name, UID string
	// Before is true if it was created before this one.
	Before bool
}

// Job is what Plan needs of the Job that verifies, and of its Pod.
type Job struct {
	Name, UID string
	// Deleting is true once the Job has a deletion timestamp.
	Deleting bool
	// Done is true when the Job is complete or has failed.
	Done bool
	// Failed is true when the Job has failed; FailReason and FailMessage then say why,
	// if no Result does.
	Failed                  bool
	FailReason, FailMessage string
	// Result is what the newest Pod has reported; nil if none has.
	Result *task.Result
	// Waiting says, in the kubelet's or the scheduler's words, why its Pod does not
	// run; empty if it does.
	Waiting string
	// Deadline is by when a Job that is not done is to have come further; zero if nothing
	// bounds it. HangReason and HangMessage say what is wrong if it has not, such as that
	// its Pod's node is lost.
	Deadline                time.Time
	HangReason, HangMessage string
}

// Pod is what Plan needs of a Pod of the cluster.
type Pod struct {
	Name, UID string
	// Seed is true for one that this restore has made, under the name in
	// status.seedMember or one that it had before.
	Seed bool
	// Version is the version of its etcd image, of a seed.
	Version string
	// Node is where it runs; empty while it is not scheduled.
	Node string
	// Deleting is when the operator first saw that its deletion was requested; zero if it was not.
	Deleting time.Time
	// Ended is why a seed that nobody has deleted has ended for good, or why it was preempted,
	// and what to do; nil if it has not.
	Ended *agent.Failure
	// Stopped is true when its deletion was asked for, and its node reports that all of its
	// containers have ended: none of them is started again.
	Stopped bool
	// Ready is true when etcd serves linearizable reads.
	Ready bool
	// Permit is what the seed is permitted.
	Permit Permit
	// Prepared is true when the seed's database is rebuilt, beside its data dir, and etcd's
	// image runs on its node.
	Prepared bool
	// Outdated is true of a seed that an earlier release has made, of which the launcher does
	// not run before the start permit.
	Outdated bool
	// Launched is true while etcd's container runs; before the start permit, if its launcher
	// says that it waits for that alone.
	Launched bool
	// Emptied is true of a seed whose launcher says that it finds no data, after its start permit
	// was withdrawn: the data that it had served is gone.
	Emptied bool
	// Unstarted is true of a seed without a permit whose launcher says that what was prepared is
	// still there: somebody has removed its permit before it has started.
	Unstarted bool
	// Result is the last report of the init container that prepares; nil if there is none.
	Result *task.Result
	// Tries is how often the init container that prepares was restarted.
	Tries int
	// Waiting says, in the kubelet's or the scheduler's words, why the seed does not
	// run; empty if it does.
	Waiting string
	// Restarts is how often etcd's container has ended; 0 if the last time was in good order,
	// as of a launcher that has waited long.
	Restarts int
}

// Permit is what a seed is permitted: the state of its annotation restore-permit.
type Permit int

const (
	// PermitNone: nothing, since the permit was withdrawn: nothing is restored twice.
	PermitNone Permit = iota
	// PermitToPrepare: to fetch, check and rebuild the snapshot, and not to start.
	PermitToPrepare
	// PermitToStart: to start etcd with that.
	PermitToStart
)

// Claim is what Plan needs of a PersistentVolumeClaim.
type Claim struct {
	Name, UID string
	// Retired is true when it has the label retired-by with this restore's uid.
	Retired bool
	// Deleting is true once it has a deletion timestamp.
	Deleting bool
}
