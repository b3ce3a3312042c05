package plan

import (
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Accept returns what is remembered once an action was carried out.
func Accept(all []facts.Rejection, a Action) []facts.Rejection {
	done := effects(a)
	return slices.DeleteFunc(slices.Clone(all), func(r facts.Rejection) bool {
		return slices.ContainsFunc(done, func(d facts.Rejection) bool { return r.SameEffect(&d) })
	})
}

// effects are what of an action may be refused, each by itself.
func effects(a Action) []facts.Rejection {
	x, ok := a.(CreatePods)
	if !ok {
		return []facts.Rejection{{Kind: KindOf(a), Name: a.traits().object}}
	}
	var all []facts.Rejection
	for _, p := range x.Pods {
		all = append(all, RejectedPod(p, false))
	}
	return all
}

// RejectedPod is the Rejection of a new Pod or of its volume.
func RejectedPod(p NewPod, volume bool) facts.Rejection {
	return facts.Rejection{Kind: facts.CreatingPods, Role: p.Role, Volume: volume, Name: p.Name}
}

// RejectedAction is the Rejection of an action other than CreatePods.
func RejectedAction(a Action) facts.Rejection { return effects(a)[0] }

// awaitRejected waits in place of a step that the API server refuses. Rules whose effect
// others do not rest on hold it back themselves, so that those act.
func awaitRejected(v *facts.View, s *step) *step {
	if s.action == nil {
		return s
	}
	for _, e := range effects(s.action) {
		if r := v.HeldBack(e); r != nil {
			return wait(idle, r.Reason(), v.RejectionsText()).as(Rejected).explains(v1beta2.ConditionDegraded)
		}
	}
	return s
}

// awaitAccepted waits for Pods of joiners that the API server refuses: nothing is done to
// members while some are missing (S6). Those that are to take the place of a member that
// serves are waited for in awaitMove.
func awaitAccepted(v *facts.View) *step {
	if v.Missing() <= len(v.Candidates()) || v.IsOnlyReplacing() {
		return nil
	}
	r := v.JoinersHeldBack()
	if r == nil {
		return nil
	}
	return wait(joinersPollInterval(v), r.Reason(), v.RejectionsText()).as(Rejected).explains(v1beta2.ConditionDegraded)
}

// untilRetry shortens a wait to the next try of what the API server refuses.
func untilRetry(v *facts.View, requeueAfter time.Duration) time.Duration {
	for _, r := range v.Noted {
		if left := r.Until.Sub(v.Now); left > 0 {
			requeueAfter = min(requeueAfter, left)
		}
	}
	return requeueAfter
}
