package simulate

import (
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what the oracle asks of actions on volumes that stay: adoption, retention and
// growth.

// adopts reports whether the user asks for volumes that were left, and nothing has begun.
func (k *check) adopts() bool {
	c := &k.o.Cluster
	return c.AdoptVolumes != "" && c.Bootstrap == nil && c.ClusterID == 0 && len(k.o.Pods) == 0 && len(k.o.Retained)+len(k.o.Claims) > 0
}

func (k *check) takeClaims(a action.TakeClaims) *Violation {
	if !k.adopts() || len(a.Claims) == 0 {
		return violation("S12", "volumes are taken, and nobody has asked for them")
	}
	if want := k.o.Cluster.AdoptVolumes; want != v1beta2.AdoptAny && want != a.From {
		return violation("S12", "volumes of %s are taken, and those of %s were asked for", a.From, want)
	}
	for _, r := range a.Claims {
		if !slices.ContainsFunc(k.o.Retained, func(c facts.Retained) bool {
			return c.Name == r.Name && c.UID == r.UID && c.Owner == a.From && !c.Deleting
		}) {
			return violation("S11", "volume %s is taken, and was not left by %s", r.Name, a.From)
		}
	}
	return nil
}

func (k *check) recordAdopted(a action.RecordBootstrap) *Violation {
	if c := &k.o.Cluster; c.Bootstrap != nil || !k.hasOrHadClaim(a.Member) || len(k.o.Pods) > 0 {
		return violation("S1", "a beginning on adopted volumes is recorded, and there are none, or another one")
	}
	if slices.ContainsFunc(k.o.Retained, func(r facts.Retained) bool {
		return !r.Deleting && (k.o.Cluster.AdoptVolumes == v1beta2.AdoptAny || k.o.Cluster.AdoptVolumes == r.Owner)
	}) {
		return violation("S1", "a beginning is recorded before all volumes are taken")
	}
	return nil
}

func (k *check) hasOrHadClaim(name string) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == name })
}

// latchAdopted: a quorum of the members that etcd lists answers with that id.
func (k *check) latchAdopted(a action.LatchClusterID) *Violation {
	list := k.list()
	voters, same := 0, 0
	for _, m := range list {
		if m.Learner {
			continue
		}
		voters++
		if an := k.answer(m); an != nil && an.ClusterID == a.ClusterID && len(an.Errors) == 0 && !an.Learner {
			same++
		}
	}
	if voters == 0 || same < quorum(voters) {
		return violation("S1", "cluster id %x is latched, which %d of %d voters report", a.ClusterID, same, voters)
	}
	return nil
}

func (k *check) keepClaims(a action.KeepClaims) *Violation {
	if a.Retain != k.o.Cluster.Retain || len(a.Claims) == 0 {
		return violation("S7", "volumes are kept against the policy")
	}
	if c := &k.o.Cluster; a.Version != "" && a.Version != c.Version && a.Version != c.Target {
		return violation("S10", "etcd %s is noted on volumes, which run %s", a.Version, c.Version)
	}
	r := k.o.Cluster.Recovery
	if a.Recovered && (r == nil || r.Phase != "Complete") {
		return violation("S13", "volume %s is no longer marked as made for a recovery, which is not complete", a.Claims[0].Name)
	}
	for _, ref := range a.Claims {
		if !slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool {
			return c.Name == ref.Name && c.UID == ref.UID && (c.Retained != a.Retain || c.Version != a.Version || a.Recovered && c.Reseed == r.Token)
		}) {
			return violation("S11", "no volume %s of uid %s was observed that is kept otherwise", ref.Name, ref.UID)
		}
	}
	return nil
}

func (k *check) growClaim(a action.GrowClaim) *Violation {
	i := slices.IndexFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name && c.UID == a.UID && c.Requested == a.From })
	if i < 0 || a.Size != k.o.Cluster.Storage || a.Size <= a.From {
		return violation("S11", "volume %s (%s) is to grow from %d to %d, and was not observed so", a.Name, a.UID, a.From, a.Size)
	}
	if c := &k.o.Claims[i]; c.Expansion == facts.ExpansionRefused {
		return violation("Volumes", "volume %s is to grow, and its class does not allow it", a.Name)
	}
	list := k.list()
	if v := k.settled(list); v != nil {
		return v
	}
	for _, m := range list {
		for _, c := range k.o.Claims {
			if c.Name == m.Name && !c.Deleting && c.Capacity > 0 && c.Capacity < c.Requested {
				return violation("S6", "volume %s is to grow while %s does", a.Name, c.Name)
			}
		}
		if !m.Learner && !k.healthy[m.ID] && m.Name != a.Name {
			return violation("S6", "volume %s is to grow while %s is not healthy", a.Name, m.Name)
		}
	}
	return nil
}

// broken reports whether a member's etcd has ended by itself, of its data, five times and for two
// minutes, since it served in this Pod with this image (S9).
func (k *check) broken(p *facts.Pod) bool {
	unready := p.UnreadySince // a crash loop counts by the kubelet's clock
	if !p.UnreadyDated.IsZero() {
		unready = p.UnreadyDated
	}
	code := p.LastExit.Code
	return p.LastExit.Damage != "" && (code == 1 || code == 2) && p.LastExit.Reason != "OOMKilled" && p.Restarts-p.ProvenRestarts >= 5 && p.ProvenImage == p.Repository+":v"+p.Version &&
		!p.UnreadySince.IsZero() && k.o.Now.Sub(unready) >= 2*time.Minute
}

// crowdsOut reports whether a broken member may have the place that a joiner has been
// waiting for, for the member timeout.
func (k *check) crowdsOut(name string) bool {
	p := k.pod(name)
	return p != nil && k.broken(p) && slices.ContainsFunc(k.o.Pods, func(j facts.Pod) bool {
		return j.Role == facts.Joiner && j.Node == "" && j.Unschedulable != "" && k.o.Now.Sub(j.Created) >= k.o.Cluster.MemberTimeout
	})
}

// volumeLost reports whether the volume of a Pod that does not run has been lost.
func (k *check) volumeLost(p *facts.Pod) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == p.Name && c.Lost }) &&
		!p.UnreadySince.IsZero() && k.o.Now.Sub(p.UnreadySince) >= k.o.Cluster.MemberTimeout
}
