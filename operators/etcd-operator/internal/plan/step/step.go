package step

import (
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// Step is what a rule says: an action, or a wait.
type Step struct {
	Action          action.Action
	Outcome         action.Outcome
	Reason, Message string
	RequeueAfter    time.Duration
	// Brief is what all but the event and Available say instead of a message that is long.
	Brief string
	// Explained is the condition, beside Progressing, that has the reason and message.
	Explained    string
	Announcement action.Announcement
	// NamesBackups is true when the message tells of EtcdBackups.
	NamesBackups bool
	// AwaitsCertificates is true when the step waits for what CertificatesReady reports.
	AwaitsCertificates bool
	// MemberLost and PodStuck are what the conditions have found (see Decision).
	MemberLost string
	PodStuck   bool
	// RemoveByHand is the member that the message asks the user to remove; 0 if none.
	RemoveByHand uint64
	// ChildrenHeldBack lists the rejected children whose next try is not due yet.
	ChildrenHeldBack []facts.Rejection
	// needs reports whether the action must wait for a rejected child. It is nil if the action needs no child.
	needs func(*facts.Rejection) bool
}

// Rule returns the step that it asks for, or nil if the next rule is to be tried.
type Rule func(*facts.View) *Step

// As gives a step its outcome.
func (s *Step) As(o action.Outcome) *Step {
	s.Outcome = o
	return s
}

// Needs makes an action wait while the API server rejects a child of the EtcdCluster that the action relies on,
// or its status. For example, child is (*facts.Rejection).LacksBudget.
func (s *Step) Needs(child func(*facts.Rejection) bool) *Step {
	s.needs = child
	return s
}

// Explains has a condition take over the reason and the message of the step.
func (s *Step) Explains(condition string) *Step {
	s.Explained = condition
	return s
}

// InBrief says in a few words what the message says in many.
func (s *Step) InBrief(said string) *Step {
	s.Brief = facts.SeeAvailable(said)
	return s
}

// UntilCertified marks a step that waits for what the condition CertificatesReady reports.
func (s *Step) UntilCertified() *Step {
	s.AwaitsCertificates = true
	return s
}

// Announced gives an action an event that its kind gets not as a rule.
func (s *Step) Announced() *Step {
	s.Announcement = action.Announced
	return s
}

// Unannounced takes the event from an action.
func (s *Step) Unannounced() *Step {
	s.Announcement = action.Unannounced
	return s
}

// Do is the step that carries out an action; the next one follows at once. The message says
// what has been done, or begun: it is told once the action has been carried out (see Failed).
func Do(a action.Action, reason, message string) *Step {
	return &Step{Action: a, Reason: reason, Message: message, RequeueAfter: AtOnce}
}

// Wait is the step that does nothing for now.
func Wait(requeueAfter time.Duration, reason, message string) *Step {
	return &Step{Reason: reason, Message: message, RequeueAfter: requeueAfter}
}

// SkipsChildren reports whether nothing at all of the cluster may be touched.
func SkipsChildren(v *facts.View, s *Step) bool {
	return v.Cluster.Fence.Stands() || s.Outcome.SkipsChildren()
}

// Budget is the quorum of the voters, counting one that is about to get its vote.
// It is lowered only after a removal has settled.
func Budget(v *facts.View, a action.Action) int {
	if !v.Settled || v.Cluster.Deleting || v.Cluster.Paused || v.Cluster.Fence.Stands() {
		return facts.KeepBudget
	}
	voters := len(v.Voters)
	if _, ok := a.(action.Promote); ok {
		voters++
	}
	if !v.Cluster.DisruptionBudget || max(v.Cluster.Size, voters) < 3 {
		return facts.NoBudget
	}
	return quorum.Majority(voters)
}
