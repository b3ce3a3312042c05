package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Decision is what to do next, and what to say.
type Decision struct {
	// Action is the one next action; nil to wait.
	Action action.Action
	// Outcome is what it means for the cluster.
	Outcome action.Outcome
	// Announcement is whether the action gets an event.
	Announcement action.Announcement
	// Reason and Message say why: the same words in the event, the log and the
	// condition. Reason is CamelCase.
	Reason  string
	Message string
	// RequeueAfter is after how long the cluster is to be observed again even if no watch
	// reports a change; always positive.
	RequeueAfter time.Duration
	// SkipChildren is true when nothing at all of the cluster may be touched: not even
	// its Services.
	SkipChildren bool
	// Budget is the minAvailable that the PodDisruptionBudget must have before
	// Action is carried out: KeepBudget to leave what there is, NoBudget for none.
	Budget int
	// Status is the whole status that the Observation implies, its conditions
	// without times.
	Status v1beta2.ClusterStatus
	// NamesBackups is true when Message names the newest stored snapshot: it is to be
	// looked up, and the step decided again with it, before anything is reported.
	NamesBackups bool
	// AwaitsCertificates is true when the Decision waits for what the condition
	// CertificatesReady reports: Reason and Message tell of it.
	AwaitsCertificates bool
	// RemoveByHand is the id of the member that Message asks the user to remove from the
	// member list; 0 if it asks for none.
	RemoveByHand uint64
	// DeleteEmpty is the name of the Pod that Message asks the user to delete with its PVC, which
	// holds no data; empty if it asks for none.
	DeleteEmpty string
	// DeleteIfDamaged are the names of the members whose Pods, and PVCs, the user is asked to
	// delete if he is sure that their data is damaged.
	DeleteIfDamaged []string
	// MemberLost says which member is lost, and why; empty if none is, or a majority.
	MemberLost string
	// PodStuck: an image cannot be pulled, or the seed does not run: Degraded says which.
	PodStuck bool
	// ChildrenHeldBack are the refused children (see ApplyService and the others) that are
	// not to be tried yet.
	ChildrenHeldBack []facts.Rejection
}
