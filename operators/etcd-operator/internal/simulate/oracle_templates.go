package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of Pods that are recreated, and of members that are replaced
// although nothing is wrong with them (S4, S6, S7, S8).

func (k *check) recreatePod(a action.RecreatePod) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	switch {
	case p.Template == "" || p.Template == k.o.Cluster.Template:
		return violation("S6", "Pod %s is recreated, and is as the spec says", a.Name)
	case !p.Persistent || !k.hasClaim(a.Name):
		return violation("S7", "Pod %s is recreated, and has no volume", a.Name)
	}
	if v := k.wholly(a.Name); v != nil {
		return v
	}
	switch {
	case p.Role != facts.Restarting || p.Routed:
		return violation("S6", "%s is restarted while clients are sent to it", a.Name)
	case p.Answer.MemberID == k.leader && len(k.voters) > 1:
		return violation("S8", "%s is restarted, and it leads", a.Name)
	}
	return nil
}

// displaced reports whether a member is to be replaced although it is healthy.
func (k *check) displaced(m facts.Member) bool {
	p := k.pod(m.Name)
	return p != nil && !m.Learner && (p.Cordoned || k.losesClaim(p) || (!p.Persistent && p.Template != "" && p.Template != k.o.Cluster.Template))
}

// losesClaim reports whether the claim that a Pod uses is being deleted: it goes with the Pod.
func (k *check) losesClaim(p *facts.Pod) bool {
	return p.Persistent && slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == p.Name && c.Deleting })
}

// surplus checks an addition beyond the size: one is allowed, for the sake of a voter that
// is to be replaced, while all members are healthy, and of a Pod that may stay where it is.
func (k *check) surplus(members []facts.Member, joiner *facts.Pod) *Violation {
	if len(members) < k.o.Cluster.Size {
		return nil
	}
	if !slices.ContainsFunc(members, k.displaced) {
		return violation("S6", "there are %d members, %d are wanted, and none is to be replaced", len(members), k.o.Cluster.Size)
	}
	if len(members) > k.o.Cluster.Size {
		return violation("S6", "a member is added to %d, and %d are wanted", len(members), k.o.Cluster.Size)
	}
	if joiner.Cordoned {
		return violation("S6", "%s takes a place, on a node that is to be emptied", joiner.Name)
	}
	return k.wholly("")
}
