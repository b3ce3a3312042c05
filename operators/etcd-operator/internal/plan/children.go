package plan

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// childrenHeldBack are the refused children that are not to be tried yet. It notes for the
// status all that are wanted.
func childrenHeldBack(v *facts.View, s *step) []facts.Rejection {
	if skipsChildren(v, s) {
		return nil
	}
	var held []facts.Rejection
	for _, r := range v.Rejections {
		if !r.IsOfChild(budget(v, s.action)) || (r.IsOfBudget() && v.ForeignBudget != "") {
			continue
		}
		if h := v.HeldBack(r); h != nil {
			held = append(held, *h)
		}
	}
	return held
}

// awaitChildren waits in place of an action while a child is held back.
func awaitChildren(v *facts.View, s *step) *step {
	held := childrenHeldBack(v, s)
	if len(held) > 0 && s.action != nil {
		s = wait(idle, held[0].Reason(), v.RejectionsText()).as(Rejected).explains(v1beta2.ConditionDegraded)
	}
	s.childrenHeldBack = held
	return s
}

// budgetIsRefused reports whether the PodDisruptionBudget is not what it is to be.
func budgetIsRefused(v *facts.View) bool {
	return slices.ContainsFunc(v.Noted, (*facts.Rejection).IsOfBudget)
}
