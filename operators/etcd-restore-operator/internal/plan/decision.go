package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Decision is what to do next, and what to say. It is carried out in this order:
// Action, then Status is written with the resourceVersion of Observation.Restore, then
// Events are published. When one of these fails, the rest is left out and a new
// Observation is made; every part is safe to repeat.
//
// What must be recorded before an effect is decided in a Decision of its own, without
// an Action: the effect is decided only once the status that Plan reads tells it.
type Decision struct {
	// Action is the one next action; nil for none.
	Action Action
	// Reason and Message say why: the same words in the event of the Action, the log
	// and the condition. Reason is CamelCase. Message is empty where nothing is told.
	Reason, Message string
	// Events are what Status newly tells. The event of the Action itself, with Reason
	// and Message, is not among them.
	Events []Event
	// RequeueAfter is after how long the EtcdRestore is to be observed again even if no watch
	// reports a change; 0 if watches suffice.
	RequeueAfter time.Duration
	// AskProgress is true while an agent may have progress to tell: the next
	// Observation has it.
	AskProgress bool
	// AskRevision is true when the members that serve are to be asked for their revision
	// first: with what they answer, Plan is to be called once more.
	AskRevision bool
	// Status is the whole status that the Observation and the Action imply, its
	// conditions without times.
	Status v1beta2.RestoreStatus
}

// Event tells users of something that has happened.
type Event struct {
	// Warning is true for what is not as it should be.
	Warning bool
	// Reason is CamelCase.
	Reason, Message string
}

// Action is one effect on the world. Each is safe to repeat, and to stop in the
// middle: the next Observation shows how far it came.
//
// Each is carried out only if the EtcdRestore, read live, has the uid and the
// resourceVersion of Observation.Restore. What touches the EtcdCluster, its Pods or its
// PersistentVolumeClaims has the further precondition that the EtcdCluster, read live,
// has the uid of Observation.Cluster, and where Action says so, that its status.fencedBy
// is this EtcdRestore's uid.
//
//sumtype:decl
type Action interface {
	// Kind names the action in metrics and logs, such as "StartJob".
	Kind() string
	// action keeps the type sealed: a linter checks that each switch over it has all actions.
	action()
}

type (
	// AddFinalizer puts v1beta2.FinalizerRestore on the EtcdRestore.
	AddFinalizer struct{}
	// RemoveFinalizer takes it off.
	RemoveFinalizer struct{}

	// StartJob makes the Job that verifies. That it exists, controlled by this
	// EtcdRestore, is success.
	StartJob struct {
		// Name is that of the Job; see JobName.
		Name string
		// Source is where the snapshot lies.
		Source Source
		// Credentials are held against the users of the snapshot.
		Credentials Credentials
		// EtcdVersion is the version of the etcd that is started on the restored database, such
		// as 3.6.16; empty: none is.
		EtcdVersion string
		// AvoidNodes are the names of nodes on which its Pods do not run.
		AvoidNodes []string
	}
	// DeleteJob deletes the Job by uid, with its Pods. That it does not exist is success.
	DeleteJob struct{ Name, UID string }

	// CreateCluster makes the EtcdCluster of this EtcdRestore's name, with the
	// annotations fence and restored-by: its uid, and Spec. That it exists with
	// that restored-by is success.
	CreateCluster struct {
		Labels, Annotations map[string]string
		Spec                v1beta2.ClusterSpec
	}
	// DeleteCluster deletes the EtcdCluster by uid and by the resourceVersion at which
	// it was read live, only if its annotation restored-by is this EtcdRestore's uid, and
	// it has adopted no seed of it and is offered none. That it does not exist is success.
	DeleteCluster struct{ UID string }

	// AskFence sets the annotation fence to this EtcdRestore's uid, by
	// resourceVersion.
	AskFence struct{}
	// WithdrawFence sets the annotation fence-lifted to this EtcdRestore's uid and removes
	// the annotation fence, unless that asks for another's fence: only while status.fencedBy
	// is empty, by resourceVersion. A request that lands later fails by its own, or is passed
	// over.
	WithdrawFence struct{}

	// StopPods deletes Pods by uid, with a short grace period, while fenced, and, with a
	// Seed, only if that Pod, read live, is prepared and is not being deleted. Those that
	// do not exist are success.
	StopPods struct {
		Pods []Ref
		Seed Ref
	}
	// RetireClaims puts the label retired-by in the place of etcd_cluster, while fenced.
	RetireClaims struct{ Claims []Ref }
	// ReturnClaims puts the label etcd_cluster in the place of retired-by, while fenced.
	ReturnClaims struct{ Claims []Ref }

	// CreateSeedClaim makes the seed's PersistentVolumeClaim, like CreateSeed. That it
	// exists, controlled by the EtcdCluster, is success.
	CreateSeedClaim struct{ Name string }
	// CreateSeed makes the seed's Pod, with the permit to prepare, while fenced, and only
	// if the cluster, read live, Trusts. That it exists, controlled by the EtcdCluster, is
	// success.
	CreateSeed struct {
		Name, Version string
		Source        Source
		// Credentials are held against the users of the snapshot.
		Credentials Credentials
		// Want is the only snapshot that is restored; nil: the one that lies at the
		// source, if it is a good one.
		Want *v1beta2.RestoreSnapshot
		// Revision is where the cluster begins at least, and Bump by how much it begins
		// beyond the snapshot at least.
		Revision, Bump int64
	}
	// PermitStart gives the seed its start permit in place of that to prepare, by uid,
	// while fenced, and only if the other Pods of the cluster, read live, are none, or those
	// that AcceptRunningOldMembers lets be: that are being deleted. From then on the
	// cluster's Services may select it.
	PermitStart struct{ Ref }
	// DeleteSeed deletes the seed's Pod by uid, while fenced and while the annotation
	// seeded does not name it.
	DeleteSeed struct{ Ref }
	// DeleteSeedClaim deletes the claim by uid, like DeleteSeed.
	DeleteSeedClaim struct{ Ref }

	// WithdrawPermit removes the annotation restore-permit from the seed's Pod, by uid.
	WithdrawPermit struct{ Ref }
	// HandOff is the JSON patch of the contract: it tests that status.fencedBy is this
	// EtcdRestore's uid, sets seeded, and removes fence.
	HandOff struct{ Ref }
	// WithdrawSeed removes the annotation seeded, testing that status.fencedBy is this
	// EtcdRestore's uid.
	WithdrawSeed struct{}
	// LiftFence sets the annotation fence-lifted to this EtcdRestore's uid, testing that
	// status.fencedBy is it. Before that it gives each of the cluster's PVCs the annotation
	// returned-by, by resourceVersion, so that a late RetireClaims fails. It is done only if no
	// seed of this restore, read live, is left that is not being deleted.
	LiftFence struct{}

	// DeleteRetired deletes claims by uid that have the label retired-by with this
	// EtcdRestore's uid, read live.
	DeleteRetired struct{ Claims []Ref }
)

// Ref names an object by name and uid.
type Ref struct{ Name, UID string }

// Source is where the snapshot lies, and who may read it: of Store and PVC, one is set.
type Source struct {
	Store *v1beta2.StorePlace
	PVC   *v1beta2.PVCSource
	// ServiceAccountName is that of the Pods that read it; empty: the namespace's
	// default (and, of the seed, the cluster's).
	ServiceAccountName string
}

func (AddFinalizer) Kind() string    { return "AddFinalizer" }
func (RemoveFinalizer) Kind() string { return "RemoveFinalizer" }
func (StartJob) Kind() string        { return "StartJob" }
func (DeleteJob) Kind() string       { return "DeleteJob" }
func (CreateCluster) Kind() string   { return "CreateCluster" }
func (DeleteCluster) Kind() string   { return "DeleteCluster" }
func (AskFence) Kind() string        { return "AskFence" }
func (WithdrawFence) Kind() string   { return "WithdrawFence" }
func (StopPods) Kind() string        { return "StopPods" }
func (RetireClaims) Kind() string    { return "RetireClaims" }
func (ReturnClaims) Kind() string    { return "ReturnClaims" }
func (CreateSeedClaim) Kind() string { return "CreateSeedClaim" }
func (CreateSeed) Kind() string      { return "CreateSeed" }
func (PermitStart) Kind() string     { return "PermitStart" }
func (DeleteSeed) Kind() string      { return "DeleteSeed" }
func (DeleteSeedClaim) Kind() string { return "DeleteSeedClaim" }
func (WithdrawPermit) Kind() string  { return "WithdrawPermit" }
func (HandOff) Kind() string         { return "HandOff" }
func (WithdrawSeed) Kind() string    { return "WithdrawSeed" }
func (LiftFence) Kind() string       { return "LiftFence" }
func (DeleteRetired) Kind() string   { return "DeleteRetired" }

func (AddFinalizer) action()    {}
func (RemoveFinalizer) action() {}
func (StartJob) action()        {}
func (DeleteJob) action()       {}
func (CreateCluster) action()   {}
func (DeleteCluster) action()   {}
func (AskFence) action()        {}
func (WithdrawFence) action()   {}
func (StopPods) action()        {}
func (RetireClaims) action()    {}
func (ReturnClaims) action()    {}
func (CreateSeedClaim) action() {}
func (CreateSeed) action()      {}
func (PermitStart) action()     {}
func (DeleteSeed) action()      {}
func (DeleteSeedClaim) action() {}
func (WithdrawPermit) action()  {}
func (HandOff) action()         {}
func (WithdrawSeed) action()    {}
func (LiftFence) action()       {}
func (DeleteRetired) action()   {}
