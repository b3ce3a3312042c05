package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file knows what the API server has refused: a Pod for which a quota has no room, a
// volume that an admission policy denies. The operator remembers it, tries again less and
// less often, and the rules go on without it where that is safe.

const (
	// firstPause and longestPause bound the time between two tries of what the API server
	// refuses. Nobody tells the operator when a quota has room again, so the longest is how
	// long a user waits at most; with the largest size it still makes less than six
	// requests a minute.
	firstPause   = time.Second
	longestPause = 2 * time.Minute
	// maxRejections bounds how many the operator remembers of one cluster: the oldest go.
	maxRejections = 16
)

// creatingPods is the kind of the action CreatePods.
const creatingPods = "CreatePods"

// Rejection is an effect that the API server has refused for good: it has answered, and
// nothing came of it. Conflicts, time-outs and stale reads are none.
type Rejection struct {
	// Kind is the action's. Of CreatePods Role is the Pod's, and Volume is true if its
	// claim was refused, not the Pod itself.
	Kind   string
	Role   Role
	Volume bool
	// Name is the object's. A joiner's Pod has no name that matters: the next try may use
	// this one again, for which there may be a claim that no Pod has ever used.
	Name string
	// Words are the API server's, without the object's name.
	Words string
	// Generation is the EtcdCluster's: an edit of the spec makes the next try due.
	Generation int64
	// Times is how often it was refused in a row, Until the time of the next try.
	Times int
	Until time.Time
}

// sameEffect reports whether two are of the same effect. The Pods of joiners are one.
func (r *Rejection) sameEffect(o *Rejection) bool {
	return r.Kind == o.Kind && r.Role == o.Role && (r.Name == o.Name || r.Role == Joiner)
}

// Reject returns what is remembered once an effect was refused at a moment: by its
// Kind, Role, Volume, Name, Words and Generation. It tells whether this is news, and not
// another try.
func Reject(all []Rejection, r Rejection, at time.Time) (now []Rejection, news bool) {
	r.Times = 1
	for _, old := range all {
		if !r.sameEffect(&old) {
			now = append(now, old)
			continue
		}
		// What nobody has tried for long is told again.
		if old.Generation == r.Generation && at.Sub(old.Until) < longestPause {
			r.Times = old.Times + 1
		}
	}
	pause := firstPause
	for range r.Times - 1 {
		if pause *= 2; pause > longestPause {
			pause = longestPause
			break
		}
	}
	r.Until = at.Add(pause)
	now = append(now, r)
	return now[max(0, len(now)-maxRejections):], r.Times == 1
}

// Accept returns what is remembered once an action was carried out.
func Accept(all []Rejection, a Action) []Rejection {
	done := effects(a)
	return slices.DeleteFunc(slices.Clone(all), func(r Rejection) bool {
		return slices.ContainsFunc(done, func(d Rejection) bool { return r.sameEffect(&d) })
	})
}

// effects are what of an action may be refused, each by itself.
func effects(a Action) []Rejection {
	x, ok := a.(CreatePods)
	if !ok {
		return []Rejection{{Kind: KindOf(a), Name: a.traits().object}}
	}
	var all []Rejection
	for _, p := range x.Pods {
		all = append(all, RejectedPod(p, false))
	}
	return all
}

// RejectedPod is the Rejection of a new Pod or of its volume.
func RejectedPod(p NewPod, volume bool) Rejection {
	return Rejection{Kind: creatingPods, Role: p.Role, Volume: volume, Name: p.Name}
}

// RejectedAction is the Rejection of an action other than CreatePods.
func RejectedAction(a Action) Rejection { return effects(a)[0] }

// rejection is what is known of an effect that was refused; nil if nothing is.
func (v *view) rejection(effect Rejection) *Rejection {
	for i := range v.Rejections {
		if r := &v.Rejections[i]; r.sameEffect(&effect) && r.Generation == v.Cluster.Generation {
			return r
		}
	}
	return nil
}

// heldBack returns the Rejection of an effect that a rule asks for, if that is not to be
// tried yet. It notes the Rejection for the status, also when the next try is due.
func (v *view) heldBack(effect Rejection) *Rejection {
	r := v.rejection(effect)
	if r == nil {
		return nil
	}
	if !slices.Contains(v.noted, r) {
		v.noted = append(v.noted, r)
	}
	if !v.Now.Before(r.Until) {
		return nil
	}
	return r
}

func (v *view) isHeldBack(effect Rejection) bool { return v.heldBack(effect) != nil }

// joinersHeldBack is the Rejection of joiners' Pods that are not to be tried yet.
func (v *view) joinersHeldBack() *Rejection {
	return v.heldBack(Rejection{Kind: creatingPods, Role: Joiner})
}

// returnHeldBack is the Rejection of a member's Pod that is to be created again.
func (v *view) returnHeldBack(m Member) *Rejection {
	return v.heldBack(Rejection{Kind: creatingPods, Role: Returning, Name: m.Name})
}

// awaitRejected waits in place of a step that the API server refuses. Rules whose effect
// others do not rest on hold it back themselves, so that those act.
func (v *view) awaitRejected(s *step) *step {
	if s.action == nil {
		return s
	}
	for _, e := range effects(s.action) {
		if r := v.heldBack(e); r != nil {
			return wait(idle, r.reason(), v.rejections()).as(Rejected).explains(v1beta2.ConditionDegraded)
		}
	}
	return s
}

// awaitAccepted waits for Pods of joiners that the API server refuses: nothing is done to
// members while some are missing (S6). Those that are to take the place of a member that
// serves are waited for in awaitMove.
func awaitAccepted(v *view) *step {
	if v.missing() <= len(v.candidates()) || v.isOnlyReplacing() {
		return nil
	}
	r := v.joinersHeldBack()
	if r == nil {
		return nil
	}
	return wait(v.joinersPollInterval(), r.reason(), v.rejections()).as(Rejected).explains(v1beta2.ConditionDegraded)
}

// untilRetry shortens a wait to the next try of what the API server refuses.
func (v *view) untilRetry(requeueAfter time.Duration) time.Duration {
	for _, r := range v.noted {
		if left := r.Until.Sub(v.Now); left > 0 {
			requeueAfter = min(requeueAfter, left)
		}
	}
	return requeueAfter
}

// unusedName is the name of a joiner that the API server has refused: no Pod has had it,
// and no list has it, not even an outdated one: then it is used up, as those of all Pods that
// were there (S7). Its claim may exist, and is used by the Pod that is created next.
func (v *view) unusedName() string {
	for i := range v.Rejections {
		r := &v.Rejections[i]
		if r.Kind == creatingPods && r.Role == Joiner && v.pods[r.Name] == nil && !v.isListedByAny(r.Name) {
			return r.Name
		}
	}
	return ""
}

// isListedByAny reports whether any member of this cluster that answers lists a name.
func (v *view) isListedByAny(name string) bool {
	return slices.ContainsFunc(v.Pods, func(p Pod) bool {
		return v.ours(&p.Answer) && slices.ContainsFunc(p.Answer.Members, func(m Member) bool { return m.Name == name })
	})
}

func (r *Rejection) reason() string {
	switch {
	case r.Volume:
		return v1beta2.ClusterReasonVolumeRejected
	case r.Role != "":
		return v1beta2.ClusterReasonPodRejected
	case r.Kind == ApplyService:
		return v1beta2.ClusterReasonServiceRejected
	case r.isOfBudget():
		return v1beta2.ClusterReasonPodDisruptionBudgetRejected
	}
	return v1beta2.ClusterReasonActionRejected
}

// Describe returns the reason and the message of a Rejection, as an event tells it.
func (r *Rejection) Describe() (reason, message string) {
	return r.reason(), tried(r)
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
	}
	return strings.TrimSpace(cmp.Or(attempts[r.Kind], r.Kind) + " " + r.Name)
}

// attempts say what actions on Pods and PVCs do to these. The name of the object follows if
// there is but one.
var attempts = map[string]string{
	"ChangeImage":          "change the image of Pod",
	"Defragment":           "annotate Pod",
	"DeleteClaim":          "delete PVC",
	"DeletePod":            "delete Pod",
	"DropSeed":             "delete Pod",
	"GrantStartPermit":     "annotate Pod",
	"GrowClaim":            "expand PVCs",
	"KeepClaims":           "change the owner of PVCs",
	"RecreatePod":          "delete Pod",
	"RevokeStartPermits":   "annotate Pods",
	"RevokeSurvivorPermit": "annotate Pod",
	"SetRoles":             "label Pods",
	"TakeClaims":           "change the owner of PVCs",
}

// rejections says what the API server refuses, in an order that does not change.
func (v *view) rejections() string { return tried(v.noted...) }

// tried says what was refused, what follows, and what a person can do who can't have the
// API server accept it.
func tried(refused ...*Rejection) string {
	var said []string
	meanwhile, instead := "", ""
	for _, r := range refused {
		said = append(said, fmt.Sprintf("cannot %s: %s", r.effect(), r.Words))
		if r.isOfChild(NoBudget) || r.Kind == ApplyBudget {
			meanwhile = ", and changes no member until then"
		}
		if r.Kind == ApplyBudget {
			instead = "; spec.podDisruptionBudget: false does without a budget"
		}
	}
	slices.SortFunc(said, cmp.Compare)
	said = slices.Compact(said)
	return fmt.Sprintf("%s; the operator retries at least every %s%s%s", strings.Join(said, "; "), longestPause, meanwhile, instead)
}
