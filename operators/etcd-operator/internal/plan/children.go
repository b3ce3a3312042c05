package plan

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// This file knows what the API server has refused of the plain children of an EtcdCluster:
// its Services, its PodDisruptionBudget, and the labels of Pods and PVCs. They are brought to
// what they are to be before an action is carried out, so none is while one of them is
// refused: members need their addresses, and evictions their bound.

// The Kinds of Rejections of children.
const (
	ApplyService = "ApplyService"
	ApplyBudget  = "ApplyPodDisruptionBudget"
	DeleteBudget = "DeletePodDisruptionBudget"
	LabelMembers = "LabelMembers"
)

// isOfChild reports whether it is of a child that is brought to what it is to be together
// with a budget of so much (see Decision.Budget).
func (r *Rejection) isOfChild(budget int) bool {
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

// AcceptChildren returns what is remembered once the children were brought to what they are
// to be, but for those that were held back or refused, and for those of the same kind: the
// first of a kind that is refused stands for the others.
func AcceptChildren(all []Rejection, budget int, but ...Rejection) []Rejection {
	return slices.DeleteFunc(slices.Clone(all), func(r Rejection) bool {
		return r.isOfChild(budget) && !slices.ContainsFunc(but, func(b Rejection) bool { return b.Kind == r.Kind || b.Kind == LabelMembers })
	})
}

// childrenHeldBack are the refused children that are not to be tried yet. It notes for the
// status all that are wanted.
func (v *view) childrenHeldBack(s *step) []Rejection {
	if v.skipsChildren(s) {
		return nil
	}
	var held []Rejection
	for _, r := range v.Rejections {
		if !r.isOfChild(v.budget(s.action)) || (r.isOfBudget() && v.ForeignBudget != "") {
			continue
		}
		if h := v.heldBack(r); h != nil {
			held = append(held, *h)
		}
	}
	return held
}

// awaitChildren waits in place of an action while a child is held back.
func (v *view) awaitChildren(s *step) *step {
	held := v.childrenHeldBack(s)
	if len(held) > 0 && s.action != nil {
		s = wait(idle, held[0].reason(), v.rejections()).as(Rejected).explains(v1beta2.ConditionDegraded)
	}
	s.childrenHeldBack = held
	return s
}

func (r *Rejection) isOfBudget() bool { return r.Kind == ApplyBudget || r.Kind == DeleteBudget }

// budgetIsRefused reports whether the PodDisruptionBudget is not what it is to be.
func (v *view) budgetIsRefused() bool {
	return slices.ContainsFunc(v.noted, (*Rejection).isOfBudget)
}
