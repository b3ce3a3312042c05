package step

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// childrenHeldBack are the refused children that are not to be tried yet. It notes for the
// status all that are wanted.
func childrenHeldBack(v *facts.View, s *Step) []facts.Rejection {
	if SkipsChildren(v, s) {
		return nil
	}
	var held []facts.Rejection
	for _, r := range v.Rejections {
		if !r.IsOfChild(Budget(v, s.Action)) || (r.IsOfBudget() && v.ForeignBudget != "") {
			continue
		}
		if h := v.HeldBack(r); h != nil {
			held = append(held, *h)
		}
	}
	return held
}

// AwaitChildren waits in place of an action while a child is held back.
func AwaitChildren(v *facts.View, s *Step) *Step {
	held := childrenHeldBack(v, s)
	if len(held) > 0 && s.Action != nil {
		s = Wait(Idle, held[0].Reason(), v.RejectionsText()).As(action.Rejected).Explains(v1beta2.ConditionDegraded)
	}
	s.ChildrenHeldBack = held
	return s
}

// AwaitRejected waits in place of a step that the API server refuses. Rules whose effect
// others do not rest on hold it back themselves, so that those act.
func AwaitRejected(v *facts.View, s *Step) *Step {
	if s.Action == nil {
		return s
	}
	for _, e := range action.Effects(s.Action) {
		if r := v.HeldBack(e); r != nil {
			return Wait(Idle, r.Reason(), v.RejectionsText()).As(action.Rejected).Explains(v1beta2.ConditionDegraded)
		}
	}
	return s
}

// UntilRetry shortens a wait to the next try of what the API server refuses.
func UntilRetry(v *facts.View, requeueAfter time.Duration) time.Duration {
	for _, r := range v.Noted {
		if left := r.Until.Sub(v.Now); left > 0 {
			requeueAfter = min(requeueAfter, left)
		}
	}
	return requeueAfter
}
