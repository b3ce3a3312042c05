package action

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Accept returns what is remembered once an action was carried out.
func Accept(all []facts.Rejection, a Action) []facts.Rejection {
	done := Effects(a)
	return slices.DeleteFunc(slices.Clone(all), func(r facts.Rejection) bool {
		return slices.ContainsFunc(done, func(d facts.Rejection) bool { return r.SameEffect(&d) })
	})
}

// Effects are what of an action may be refused, each by itself.
func Effects(a Action) []facts.Rejection {
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
func RejectedAction(a Action) facts.Rejection { return Effects(a)[0] }
