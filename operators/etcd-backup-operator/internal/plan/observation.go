package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// Observation is all that Plan may know of one EtcdBackup at one moment.
type Observation struct {
	// Now is when the Observation was made.
	Now time.Time
	// Backup is the EtcdBackup. Plan reads it and changes nothing in it.
	Backup *v1beta2.EtcdBackup
	// Cluster is the EtcdCluster that spec.clusterRef names; nil if there is none.
	Cluster *v1beta2.EtcdCluster
	// Restricted are the EtcdClusters that the operator sees and that say where their
	// backups can be stored, in any namespace and in any order.
	Restricted []v1beta2.EtcdCluster
	// Creator is what is known of the rights of whoever created the EtcdBackup, where
	// AsksCreator wants it.
	Creator creator.Check
	// Jobs are those that this EtcdBackup controls (by uid), in any order. Caches may
	// lag, but a Job that Backup.Status.Active names and that is missing here and in
	// Doubtful is gone: package observe has asked the API server itself for it. Likewise, of a Job
	// that has ended and whose cached Pods report no success, or that Hangs, the Pods
	// were read from the API server itself.
	Jobs []Job
	// Doubtful are Jobs of backups that might be this EtcdBackup's, except those that have ended and whose end is or
	// was in the status. A Job that Backup.Status.Active names and that neither Jobs nor Doubtful has is gone.
	Doubtful []Doubtful
	// Archiver is the Job that records the archive, as the API server itself has it; nil if
	// there is none.
	Archiver *Archiver
	// Copier is the Job that copies a backup, as the API server itself has it; nil if there is
	// none. Of one that has ended and reports no success, the Pods were read there as well.
	Copier *Copier
	// Verifications are the EtcdRestores that this EtcdBackup controls (by uid), in any order.
	// VerifierServed says whether Kubernetes knows the kind.
	Verifications  []Verification
	VerifierServed bool
	// Image is the operator's own, which Jobs run.
	Image string
	// Refused is why the API server did not take the StartJob, StartArchiver, StartCopy or StartVerification
	// that was just decided on this very Observation, in its own words (a quota, an invalid field). It is
	// empty otherwise.
	Refused string
}

// Job is what Plan needs of one Job and its Pods.
type Job struct {
	Name string
	UID  string
	// Scheduled is StartJob.Scheduled, in whole seconds.
	Scheduled time.Time
	Created   time.Time
	// Running is true until the Job is complete or has failed.
	Running bool
	// Finished is when the operator first saw that the Job completed or failed; zero while Running.
	Finished time.Time
	// Witnessed is when the operator first saw the end of the Job, or a report that ends it; zero if its first look at
	// the Job already showed it.
	Witnessed time.Time
	// Deleting is true once the Job has a deletion timestamp. Until it is gone its Pod
	// may run.
	Deleting bool
	// Failed is true when the Job has failed. FailReason and FailMessage are those of
	// its condition, such as BackoffLimitExceeded, or better, of its last Pod, such as
	// OOMKilled.
	Failed                  bool
	FailReason, FailMessage string
	// Result is what the newest Pod that reported something has reported; nil if none
	// has.
	Result *task.Result
	// Waiting says, in the kubelet's or the scheduler's words, why the Pod of a
	// running Job does not run; empty if it does.
	Waiting string
	// Deadline is by when a Job that runs is to have come further; zero if nothing bounds
	// it. HangReason and HangMessage say what is wrong if it has not: its node is lost, it
	// is deleted and does not go, or its time is up.
	Deadline                time.Time
	HangReason, HangMessage string
	// Idle is since when no Pod of a Job that runs does: none was created, or the newest
	// is pending or has failed; zero while one runs.
	Idle time.Time
}
