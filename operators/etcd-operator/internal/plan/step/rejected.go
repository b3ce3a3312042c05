package step

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file limits what a rejection holds up. A rule whose action is held back is skipped, and the next rule is
// tried. If a later rule relies on the effect, the runbook marks the rule as Required.

// First returns the step of the first rule that has one. It skips steps whose action is held back by a
// rejection.
func First(v *facts.View, rules ...Rule) *Step {
	for _, r := range rules {
		if s := Try(v, r(v)); s != nil {
			return s
		}
	}
	return nil
}

// Try returns a step without the effects that rejections hold back. It returns nil if no effect is left, or if
// the step needs a child of the EtcdCluster that is rejected. It notes the rejections for the status. It
// returns a step without an action unchanged.
func Try(v *facts.View, s *Step) *Step {
	if s == nil || s.Action == nil {
		return s
	}
	if needsHeldBackChild(v, s) {
		return nil
	}
	possible := action.Without(s.Action, v.IsHeldBack)
	if possible == nil {
		return nil
	}
	s.Action = possible
	return s
}

// Required makes the runbook wait for a rule whose action is held back, because later rules rely on the effect.
func Required(r Rule) Rule {
	return func(v *facts.View) *Step {
		s := r(v)
		if s == nil {
			return nil
		}
		if possible := Try(v, s); possible != nil {
			return possible
		}
		return AwaitRejected(v)
	}
}

// AwaitRejected returns a step that waits for the next try of the held-back effects that rules asked for; nil
// if there are none.
func AwaitRejected(v *facts.View) *Step {
	if len(v.Noted) == 0 {
		return nil
	}
	return Wait(Idle, v.Noted[0].Reason(), v.RejectionsText()).As(action.Rejected).Explains(v1beta2.ConditionDegraded)
}

// needsHeldBackChild reports whether a step waits for a child of the EtcdCluster, or for its status. Children
// are retried before an action, and the status after it. So a step that needs the status waits until the status
// is written.
func needsHeldBackChild(v *facts.View, s *Step) bool {
	if s.needs == nil {
		return false
	}
	waits := false
	for _, r := range v.Rejections {
		if s.needs(&r) && (r.IsOfStatus() || isWantedChild(v, s, &r)) {
			waits = v.IsHeldBack(r) || (r.IsOfStatus() && v.IsStatusRejected()) || waits
		}
	}
	return waits
}

// HeldBackChildren returns the rejected children of the EtcdCluster whose next try is not due yet. It notes for
// the status all rejected children that the cluster needs.
func HeldBackChildren(v *facts.View, s *Step) []facts.Rejection {
	if SkipsChildren(v, s) {
		return nil
	}
	var held []facts.Rejection
	for _, r := range v.Rejections {
		if !isWantedChild(v, s, &r) {
			continue
		}
		if h := v.HeldBack(r); h != nil {
			held = append(held, *h)
		}
	}
	return held
}

// isWantedChild reports whether a rejection is of a child that the cluster needs. The budget depends on the step.
func isWantedChild(v *facts.View, s *Step, r *facts.Rejection) bool {
	return r.IsOfChild(Budget(v, s.Action)) && (!r.IsOfBudget() || v.ForeignBudget == "")
}

// UntilRetry shortens a wait so that it ends at the next try of a rejected effect.
func UntilRetry(v *facts.View, requeueAfter time.Duration) time.Duration {
	for _, r := range v.Noted {
		if left := r.Until.Sub(v.Now); left > 0 {
			requeueAfter = min(requeueAfter, left)
		}
	}
	return requeueAfter
}
