package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Decision is what to do next, and what to say. It is carried out in this order:
// Action, then Status is written with the resourceVersion of Observation.Backup, then
// Events are published. When one of these fails, the rest is left out and a new
// Observation is made; every part is safe to repeat.
type Decision struct {
	// Action is the one next action; nil for none.
	Action Action
	// Reason and Message say why: the same words in the event of the Action, the log
	// and the condition. Reason is CamelCase. They are empty for an EtcdBackup that is
	// ignored.
	Reason  string
	Message string
	// Events are about what is new in Status: results, refusals, missed runs. The event
	// of the Action itself, with Reason and Message, is not among them.
	Events []Event
	// Recorded are the records that Status has and Observation.Backup has not, oldest
	// first: what metrics count once Status is written.
	Recorded []v1beta2.BackupRecord
	// Copied is a record of which Status has the copy and Observation.Backup has not; nil for none.
	Copied *v1beta2.BackupRecord
	// Verified are the verifications whose end Status has and Observation.Backup has not, oldest
	// first: what metrics count.
	Verified []v1beta2.VerificationRecord
	// RequeueAfter is after how long the EtcdBackup is to be observed again even if no watch
	// reports a change; 0 if watches suffice.
	RequeueAfter time.Duration
	// Status is the whole status that the Observation and the Action imply, its
	// conditions without times.
	Status v1beta2.BackupStatus
}

// Event tells a person of something that has happened.
type Event struct {
	// Warning is true for what is not as it should be.
	Warning bool
	// Reason is CamelCase.
	Reason  string
	Message string
}

// Action is one effect on the world. Each is safe to repeat, and to stop in the
// middle: the next Observation shows how far it came.
//
//sumtype:decl
type Action interface {
	// Kind names the action in metrics and logs, such as "StartJob".
	Kind() string
	// action keeps the type sealed: a linter checks that each switch over it has all actions.
	action()
}

// StartJob makes the Job of one backup. It is carried out only if, read live, the
// EtcdBackup still has the uid and resourceVersion of Observation.Backup, and the Jobs
// that it controls have the same names as Observation.Jobs: so neither a cache that
// lags nor a second operator starts a backup twice or beside another. That a Job of
// this Name exists already, controlled by this EtcdBackup, is success.
type StartJob struct {
	// Name is that of the Job; see JobName.
	Name string
	// Scheduled is when the backup was due, in UTC and whole seconds.
	Scheduled time.Time
	// Started is now, and RetryUntil until when the backup is tried again if it fails by
	// what may pass, such as a store that does not answer.
	Started, RetryUntil time.Time
	// Endpoints are the URLs of the source's members.
	Endpoints []string
	// TLSSecret is the Secret with the client certificate; empty for none.
	TLSSecret string
	// AuthSecret is the Secret with a user of etcd; empty for none.
	AuthSecret string
	// Cluster is the EtcdCluster whose members the Endpoints are, as its status has
	// them; empty if the user wrote the Endpoints. OwnAuth says that it names the
	// AuthSecret.
	Cluster string
	OwnAuth bool
	// Forbidden are the etcd cluster ids of those that do not allow this store, Pinned
	// those of the others that restrict their stores: the store is the one that the spec
	// names, or it is none for them.
	Forbidden, Pinned []string
}

// DeleteJob deletes one Job, by uid and with its Pods (propagation Background). That
// it is gone already is success.
type DeleteJob struct {
	Name, UID string
	// Replaced is true of a Job that runs, in whose place another is to start.
	Replaced bool
}

// DeleteBackup deletes the EtcdBackup itself, by uid and resourceVersion, after
// spec.ttlSecondsAfterFinished. What is stored stays.
type DeleteBackup struct{}

func (StartJob) Kind() string     { return "StartJob" }
func (DeleteJob) Kind() string    { return "DeleteJob" }
func (DeleteBackup) Kind() string { return "DeleteBackup" }

func (StartJob) action()     {}
func (DeleteJob) action()    {}
func (DeleteBackup) action() {}
