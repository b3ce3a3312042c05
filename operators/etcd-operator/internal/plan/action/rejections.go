package action

import (
	"cmp"
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Accept returns what is remembered once an action was carried out, and before the status is
// written.
func Accept(all []facts.Rejection, a Action) []facts.Rejection {
	done := Effects(a)
	return slices.DeleteFunc(slices.Clone(all), func(r facts.Rejection) bool {
		return !r.IsOfStatus() && slices.ContainsFunc(done, r.SameEffect)
	})
}

// Effects returns the effects of an action that can be rejected, each by itself. An action that
// is recorded in the status has the status as its last effect.
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

// Without returns an action without the effects that are held back; nil if none is left. Only
// effects on Pods that exist are left out: new Pods are created together, or not at all.
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

// RejectedPod returns the Rejection of a new Pod or of its PVC.
func RejectedPod(p NewPod, volume bool) facts.Rejection {
	return facts.Rejection{Kind: facts.CreatingPods, Role: p.Role, Volume: volume, Name: p.Name}
}

// RejectionOf returns the Rejection of what an action does to one object.
func RejectionOf(a Action, name string) facts.Rejection {
	return facts.Rejection{Kind: KindOf(a), Name: name}
}
