package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file holds what the API server has rejected. For example, a quota has no room for a Pod, an admission
// policy denies a PVC, or a webhook returns an error for a patch. The operator remembers each rejected effect
// and retries it less and less often. A rejection holds up only what needs the effect: the other rules still
// run (see step.First).
//
// The children of an EtcdCluster are its Services, its PodDisruptionBudget, and the labels of Pods and PVCs. A
// step that needs a child declares it (see step.Step.Needs).

// Rejection is an effect that failed at the API server. Whether it happened is unknown if the answer was a
// timeout or an internal error.
type Rejection struct {
	// Kind is the kind of the action. For CreatePods, Role is the Pod's role, and Volume is true if the PVC was
	// rejected rather than the Pod.
	Kind   string
	Role   Role
	Volume bool
	// Absent is true for the peer Service if it does not exist, so that new members would have no DNS name.
	Absent bool
	// Outdated is true if a precondition of the action has failed for longer than caches lag. The API server
	// has not rejected anything.
	Outdated bool
	// Name is the name of the object. For a joiner's Pod, the next try uses the name again, because a PVC with
	// it might exist that no Pod has used.
	Name string
	// Words are the API server's, without the object's name.
	Words string
	// Generation is the EtcdCluster's: an edit of the spec makes the next try due.
	Generation int64
	// Times is how often it was refused in a row, Until the time of the next try.
	Times int
	Until time.Time
}

// The Kinds of Rejections of children.
const (
	ApplyService = "ApplyService"
	ApplyBudget  = "ApplyPodDisruptionBudget"
	DeleteBudget = "DeletePodDisruptionBudget"
	LabelMembers = "LabelMembers"
)

// WritingStatus is the Kind of a Rejection of the EtcdCluster's status. Actions that only record something in
// the status need this write (see action.Effects).
const WritingStatus = "WriteStatus"

// IsOfChild reports whether it is of a child that is brought to what it is to be together
// with a budget of so much (see Decision.Budget).
func (r *Rejection) IsOfChild(budget int) bool {
	switch r.Kind {
	case ApplyService, LabelMembers:
		return true
	case ApplyBudget:
		return budget > NoBudget
	case DeleteBudget:
		return budget == NoBudget
	}
	return false
}

// AcceptChildren returns the rejections that are still remembered after the children were applied. except lists
// the children that were held back or rejected.
func AcceptChildren(all []Rejection, budget int, except ...Rejection) []Rejection {
	return slices.DeleteFunc(slices.Clone(all), func(r Rejection) bool {
		return r.IsOfChild(budget) && !slices.ContainsFunc(except, func(e Rejection) bool { return e.SameEffect(r) })
	})
}

// AcceptPods returns what is remembered once Pods are seen. One that was refused, and is there
// all the same, was created later: beside another one that failed, or by a call whose answer
// was lost. Its name is used up (S7).
func AcceptPods(all []Rejection, pods []Pod) []Rejection {
	return slices.DeleteFunc(slices.Clone(all), func(r Rejection) bool {
		return r.Kind == CreatingPods && slices.ContainsFunc(pods, func(p Pod) bool { return p.Name == r.Name })
	})
}

// IsOfBudget reports whether it is of the PodDisruptionBudget.
func (r *Rejection) IsOfBudget() bool { return r.Kind == ApplyBudget || r.Kind == DeleteBudget }

// IsOfService reports whether r is a rejection of a Service.
func (r *Rejection) IsOfService() bool { return r.Kind == ApplyService }

// LacksService reports whether r is a rejection of a Service that does not exist.
func (r *Rejection) LacksService() bool { return r.IsOfService() && r.Absent }

// LacksBudget reports whether r is a rejection of a create or update of the PodDisruptionBudget. It is false if
// the budget cannot be deleted, because that budget only limits evictions more.
func (r *Rejection) LacksBudget() bool { return r.Kind == ApplyBudget }

const (
	// KeepBudget leaves the PodDisruptionBudget as it is: the voters are not known
	// for certain.
	KeepBudget = -1
	// NoBudget means that there is none to be.
	NoBudget = 0
)

const (
	// FirstPause and LongestPause bound the time between two tries of what the API server
	// refuses. Nobody tells the operator when a quota has room again, so the longest is how
	// long a user waits at most; with the largest size it still makes less than six
	// requests a minute.
	FirstPause   = time.Second
	LongestPause = 2 * time.Minute
	// MaxRejections bounds how many the operator remembers of one cluster: the oldest go.
	MaxRejections = 64
)

// CreatingPods is the kind of the action CreatePods.
const CreatingPods = "CreatePods"

// SameEffect reports whether two are of the same effect. The Pods of joiners are one.
func (r *Rejection) SameEffect(o Rejection) bool {
	return r.Kind == o.Kind && r.Role == o.Role && (r.Name == o.Name || r.Role == Joiner)
}

// Reject returns what is remembered once an effect was refused at a moment: by its
// Kind, Role, Volume, Name, Words and Generation. It tells whether this is news, and not
// another try.
func Reject(all []Rejection, r Rejection, at time.Time) (now []Rejection, news bool) {
	r.Times = 1
	for _, old := range all {
		if !r.SameEffect(old) {
			now = append(now, old)
			continue
		}
		// What nobody has tried for long is told again.
		if old.Generation == r.Generation && at.Sub(old.Until) < LongestPause {
			r.Times = old.Times + 1
		}
	}
	pause := FirstPause
	for range r.Times - 1 {
		if pause *= 2; pause > LongestPause {
			pause = LongestPause
			break
		}
	}
	r.Until = at.Add(pause)
	now = append(now, r)
	return now[max(0, len(now)-MaxRejections):], r.Times == 1
}

// rejection is what is known of an effect that was refused; nil if nothing is.
func (v *Objects) rejection(effect Rejection) *Rejection {
	for i := range v.Rejections {
		if r := &v.Rejections[i]; r.SameEffect(effect) && r.Generation == v.Cluster.Generation {
			return r
		}
	}
	return nil
}

// HeldBack returns the Rejection of an effect that a rule asks for, if that is not to be
// tried yet. It notes the Rejection for the status, also when the next try is due.
func (v *Objects) HeldBack(effect Rejection) *Rejection {
	r := v.rejection(effect)
	if r == nil {
		return nil
	}
	if !slices.Contains(v.Noted, r) {
		v.Noted = append(v.Noted, r)
	}
	if !v.Now.Before(r.Until) {
		return nil
	}
	return r
}

// IsHeldBack reports whether an effect that a rule asks for is not to be tried yet.
func (v *Objects) IsHeldBack(effect Rejection) bool { return v.HeldBack(effect) != nil }

// JoinersHeldBack is the Rejection of joiners' Pods that are not to be tried yet.
func (v *Objects) JoinersHeldBack() *Rejection {
	return v.HeldBack(Rejection{Kind: CreatingPods, Role: Joiner})
}

// IsOfStatus reports whether r is a rejection of the EtcdCluster's status.
func (r *Rejection) IsOfStatus() bool { return r.Kind == WritingStatus }

// IsStatusRejected reports whether the status could not be written when it was tried last, and notes
// that for the status.
func (v *Objects) IsStatusRejected() bool {
	i := slices.IndexFunc(v.Rejections, func(r Rejection) bool { return r.IsOfStatus() })
	if i < 0 {
		return false
	}
	if r := &v.Rejections[i]; !slices.Contains(v.Noted, r) {
		v.Noted = append(v.Noted, r)
	}
	return true
}

// RestartHeldBack reports whether a rejection keeps a member from being restarted. The member then serves
// clients until the next try.
func (v *Objects) RestartHeldBack(p *Pod) bool {
	return v.IsHeldBack(Rejection{Kind: "ChangeImage", Name: p.Name}) || v.IsHeldBack(Rejection{Kind: "RecreatePod", Name: p.Name}) || v.isBudgetHeldBack()
}

// IsDeletionRejected reports whether the API server rejects the deletion of a Pod. Nothing waits until
// such a Pod is gone.
func (v *Objects) IsDeletionRejected(p *Pod) bool {
	return p.DeletingSince.IsZero() && v.IsHeldBack(Rejection{Kind: "DeletePod", Name: p.Name})
}

// isBudgetHeldBack reports whether the API server rejects the PodDisruptionBudget that restarts of members rely
// on.
func (v *Objects) isBudgetHeldBack() bool {
	return v.Cluster.DisruptionBudget && v.ForeignBudget == "" && slices.ContainsFunc(v.Rejections, func(r Rejection) bool { return r.LacksBudget() && v.IsHeldBack(r) })
}

// returnHeldBack is the Rejection of a member's Pod that is to be created again.
func (v *Objects) returnHeldBack(m Member) *Rejection {
	return v.HeldBack(Rejection{Kind: CreatingPods, Role: Returning, Name: m.Name})
}

// Reason is that of a step which waits for the next try.
func (r *Rejection) Reason() string {
	switch {
	case r.Outdated:
		return v1beta2.ClusterReasonObservationStale
	case r.Volume:
		return v1beta2.ClusterReasonVolumeRejected
	case r.Role != "":
		return v1beta2.ClusterReasonPodRejected
	case r.Kind == ApplyService:
		return v1beta2.ClusterReasonServiceRejected
	case r.IsOfBudget():
		return v1beta2.ClusterReasonPodDisruptionBudgetRejected
	}
	return v1beta2.ClusterReasonActionRejected
}

// Describe returns the reason and the message of a Rejection, as an event tells it.
func (r *Rejection) Describe() (reason, message string) {
	return r.Reason(), tried(r)
}

// effect says what was refused. A Pod that was not created has no name that a reader could
// look up, unless a member has it.
func (r *Rejection) effect() string {
	what := "Pod"
	if r.Volume {
		what = "PVC"
	}
	switch {
	case r.Role == Joiner:
		return fmt.Sprintf("create the %s of a new member", what)
	case r.Role == Seed:
		return fmt.Sprintf("create the %s of the first member", what)
	case r.Role != "":
		return fmt.Sprintf("create %s %s", what, r.Name)
	case r.Kind == ApplyService:
		return "create or update Service " + r.Name
	case r.Kind == ApplyBudget:
		return "create or update PodDisruptionBudget " + r.Name
	case r.Kind == DeleteBudget:
		return "delete PodDisruptionBudget " + r.Name
	case r.Kind == LabelMembers:
		return "update the labels of Pods and PVCs"
	case r.Kind == WritingStatus:
		return "update the status of the EtcdCluster"
	}
	return strings.TrimSpace(strings.Replace(cmp.Or(attempts[r.Kind], r.Kind), "%s", r.Name, 1))
}

// attempts maps each kind of action to a description. %s stands for the object, in kinds that have one.
var attempts = map[string]string{
	"AddLearner":           "add learner %s",
	"AdoptSeed":            "adopt the seed of a restore",
	"AdoptSurvivor":        "adopt the seed of a recovery",
	"AdvanceLog":           "append raft entries",
	"CancelDowngrade":      "cancel etcd's downgrade",
	"ChangeImage":          "change the image of Pod %s",
	"Compact":              "compact the database",
	"Defragment":           "annotate Pod %s",
	"DeleteClaim":          "delete PVC %s",
	"DeletePod":            "delete Pod %s",
	"DisarmAlarm":          "disarm an alarm",
	"DropSeed":             "delete the Pod or PVC of seed %s",
	"EnableDowngrade":      "enable etcd's downgrade",
	"GrantStartPermit":     "annotate Pod %s",
	"GrowClaim":            "expand PVC %s",
	"KeepClaims":           "change the owner of PVC %s",
	"Promote":              "promote learner %s",
	"RecordBootstrap":      "record the first member",
	"RecordSurvivor":       "record the survivor",
	"RecreatePod":          "delete Pod %s",
	"RemoveMember":         "remove member %s",
	"RevokeStartPermits":   "annotate Pod %s",
	"RevokeSurvivorPermit": "annotate Pod %s",
	"SetRoles":             "label Pod %s",
	"TakeClaims":           "change the owner of PVCs",
	"TransferLeadership":   "transfer the leadership",
}

// RejectionsText says what the API server refuses, in an order that does not change.
func (v *Objects) RejectionsText() string { return tried(v.Noted...) }

// tried says what was refused, what follows, and what a person can do who can't have the
// API server accept it.
func tried(refused ...*Rejection) string {
	var said, meanwhile []string
	instead := ""
	for _, r := range refused {
		said = append(said, fmt.Sprintf("cannot %s: %s", r.effect(), r.Words))
		switch {
		case r.LacksService():
			meanwhile = append(meanwhile, "adds no member")
		case r.LacksBudget():
			meanwhile = append(meanwhile, "restarts no member")
		}
		if r.Kind == ApplyBudget {
			instead = "; to run without a PodDisruptionBudget, set spec.podDisruptionBudget: false"
		}
	}
	slices.Sort(said)
	slices.Sort(meanwhile)
	said, meanwhile = slices.Compact(said), slices.Compact(meanwhile)
	until := ""
	if len(meanwhile) > 0 {
		until = fmt.Sprintf(", and %s until then", strings.Join(meanwhile, " and "))
	}
	return fmt.Sprintf("%s; the operator retries at least every %s%s%s", strings.Join(said, "; "), LongestPause, until, instead)
}
