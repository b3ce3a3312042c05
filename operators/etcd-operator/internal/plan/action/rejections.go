package action

import (
	"cmp"
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Accept returns the rejections that are still remembered after an action succeeded, and before the status is
// written.
func Accept(all []facts.Rejection, a Action) []facts.Rejection {
	done := Effects(a)
	return slices.DeleteFunc(slices.Clone(all), func(r facts.Rejection) bool {
		return !r.IsOfStatus() && slices.ContainsFunc(done, r.SameEffect)
	})
}

// Effects returns each effect of an action that can be rejected. If the action is recorded in the status, its
// last effect is the write of the status.
func Effects(a Action) []facts.Rejection {
	var all []facts.Rejection
	switch x := a.(type) {
	case CreatePods:
		for _, p := range x.Pods {
			all = append(all, RejectedPod(p, false))
		}
	case SetRoles:
		for _, p := range x.Roles {
			all = append(all, RejectionOf(a, p.Name))
		}
	case RevokeStartPermits:
		for _, p := range x.Pods {
			all = append(all, RejectionOf(a, p.Name))
		}
	case KeepClaims:
		for _, p := range x.Claims {
			all = append(all, RejectionOf(a, p.Name))
		}
	default:
		all = append(all, RejectionOf(a, cmp.Or(a.traits().object, a.traits().member)))
	}
	if Records(a) {
		all = append(all, facts.Rejection{Kind: facts.WritingStatus})
	}
	return all
}

// Without returns an action without the effects that are held back, or nil if none is left. It omits only
// effects on existing Pods: new Pods are created together, or not at all.
func Without(a Action, heldBack func(facts.Rejection) bool) Action {
	switch x := a.(type) {
	case SetRoles:
		x.Roles = slices.DeleteFunc(slices.Clone(x.Roles), func(p PodRole) bool { return heldBack(RejectionOf(a, p.Name)) })
		if len(x.Roles) > 0 {
			return x
		}
	case RevokeStartPermits:
		x.Pods = slices.DeleteFunc(slices.Clone(x.Pods), func(p PodRef) bool { return heldBack(RejectionOf(a, p.Name)) })
		if len(x.Pods) > 0 {
			return x
		}
	default:
		if !slices.ContainsFunc(Effects(a), heldBack) {
			return a
		}
	}
	return nil
}

// RejectedPod returns the Rejection of a new Pod, or of its PVC if volume is true.
func RejectedPod(p NewPod, volume bool) facts.Rejection {
	return facts.Rejection{Kind: facts.CreatingPods, Role: p.Role, Volume: volume, Name: p.Name}
}

// RejectionOf returns the Rejection of an action's effect on one object.
func RejectionOf(a Action, name string) facts.Rejection {
	return facts.Rejection{Kind: KindOf(a), Name: name}
}
