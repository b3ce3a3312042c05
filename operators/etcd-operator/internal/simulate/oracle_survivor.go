package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of a cluster that begins anew with a survivor's data (S13).

// standTime is for how long the loss must have been seen.
const standTime = 30 * time.Second

func (k *check) recordSurvivor(a action.RecordSurvivor) *Violation {
	c, r := &k.o.Cluster, &a.Recovery
	switch {
	case c.ClusterID == 0 || r.ClusterID != c.ClusterID:
		return violation("S13", "a survivor of cluster %x is chosen, and %x is latched", r.ClusterID, c.ClusterID)
	case c.Recovery != nil && c.Recovery.Phase != "Complete":
		return violation("S13", "a survivor is chosen while a recovery is under way")
	case !c.Survive && c.Recover != fmt.Sprintf("%016x", c.ClusterID):
		return violation("S13", "a survivor is chosen, and nobody has asked for it")
	case c.QuorumLostSince.IsZero() || k.o.Now.Sub(c.QuorumLostSince) < standTime || k.o.Now.Sub(k.o.Since) < deadline:
		return violation("S13", "a survivor is chosen %s after the loss, %s after something may have been begun", k.o.Now.Sub(c.QuorumLostSince), k.o.Now.Sub(k.o.Since))
	case r.Seed == "" || r.Token == "" || k.pod(r.Seed) != nil || k.hasClaim(r.Seed) || c.Bootstrap != nil && (c.Bootstrap.Token == r.Token || c.Bootstrap.Member == r.Seed):
		return violation("S13", "the seed gets the name %q and the token %q", r.Seed, r.Token)
	case r.BeginsAt <= r.Revision || r.BeginsAt <= c.LastStatus.HighestRevision:
		return violation("S13", "the cluster is to begin at revision %d", r.BeginsAt)
	}
	chosen := k.pod(r.Survivor)
	if chosen == nil || chosen.UID != r.SurvivorUID || !k.ours(&chosen.Answer) || chosen.Answer.Committed != r.Committed || chosen.Answer.MemberID != r.MemberID {
		return violation("S13", "survivor %s is not what answers", r.Survivor)
	}
	for i := range k.o.Pods {
		if v := k.holder(&k.o.Pods[i], r); v != nil {
			return v
		}
	}
	for _, claim := range k.o.Claims {
		if k.pod(claim.Name) == nil && claim.Reseed == "" {
			return violation("S13", "a survivor is chosen, and volume %s has no Pod", claim.Name)
		}
	}
	return nil
}

// holder checks that a Pod has no data, or has answered and knows of no more than the
// chosen one.
func (k *check) holder(p *facts.Pod, r *facts.Recovery) *Violation {
	a := &p.Answer
	switch {
	case isEmpty(p), p.Role == facts.Joiner && p.StartPermit == nil && !a.Reached, p.Role == facts.Seed && p.Reseed != "" && !k.ours(a):
		return nil
	case p.Finished && !(p.Persistent && slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == p.Name })):
		return nil
	case p.Persistent && p.Node == "" && !k.anyClaim(p.Name):
		return nil
	case !a.Reached || !k.ours(a):
		return violation("S13", "a survivor is chosen, and %s, which might hold data, has not answered", p.Name)
	case a.Read || a.Leader != 0:
		return violation("S13", "a survivor is chosen, and %s has a leader", p.Name)
	case slices.ContainsFunc(a.Alarms, func(x facts.Alarm) bool { return x.Kind == facts.Corrupt }):
		return violation("S13", "a survivor is chosen, and %s tells of CORRUPT", p.Name)
	case a.Committed > r.Committed || a.Committed == r.Committed && a.Revision > r.Revision:
		return violation("S13", "%s is chosen with index %d, and %s has %d", r.Survivor, r.Committed, p.Name, a.Committed)
	case !slices.Contains(r.Survivors, p.Name) || !slices.Contains(r.Members, p.Name):
		return violation("S13", "%s answers, and is not among the survivors", p.Name)
	}
	voters, left := 0, 0
	for _, m := range a.Members {
		if m.Learner {
			continue
		}
		voters++
		if slices.ContainsFunc(k.o.Pods, func(q facts.Pod) bool { return k.ours(&q.Answer) && q.Answer.MemberID == m.ID }) {
			left++
		}
	}
	if voters > 0 && left >= quorum(voters) {
		return violation("S13", "a survivor is chosen, and %d of %d voters answer", left, voters)
	}
	return nil
}

func (k *check) anyClaim(name string) bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == name })
}

// isReseeding reports whether a seed is being made, of the cluster that is latched.
func (k *check) isReseeding() bool {
	r := k.o.Cluster.Recovery
	return r != nil && r.Phase == "Seeding" && r.ClusterID == k.o.Cluster.ClusterID && k.o.Cluster.ClusterID != 0
}

// servesAgain reports whether a member of the old cluster serves.
func (k *check) servesAgain() bool {
	return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return k.ours(&p.Answer) && p.Answer.Read })
}

func (k *check) survivorsSeed(p *action.NewPod) *Violation {
	r := k.o.Cluster.Recovery
	switch {
	case !k.isReseeding() || p.Recovery != r || p.Name != r.Seed || p.StartPermit != nil:
		return violation("S13", "seed %s is made, which is not the recorded one", p.Name)
	case k.servesAgain():
		return violation("S13", "seed %s is made, and the old cluster serves", p.Name)
	}
	return k.marked()
}

// marked: no Pod of the old cluster gets clients.
func (k *check) marked() *Violation {
	for _, p := range k.o.Pods {
		if p.Name != k.o.Cluster.Recovery.Seed && p.Role == facts.Voter {
			return violation("S13", "the cluster begins anew, and %s gets clients", p.Name)
		}
	}
	return nil
}

func (k *check) adoptSurvivor(a action.AdoptSurvivor) *Violation {
	r := k.o.Cluster.Recovery
	if !k.isReseeding() || a.Token != r.Token || a.Name != r.Seed {
		return violation("S13", "seed %s is adopted, which is not the recorded one", a.Name)
	}
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	an := &p.Answer
	switch {
	case p.Finished || !p.DeletingSince.IsZero() || p.Reseed != r.Token:
		return violation("S13", "seed %s is adopted, and ends, or is another Pod", a.Name)
	case p.SurvivorPermit:
		return violation("S13", "seed %s is adopted with the permit to be recreated", a.Name)
	case !an.Read || an.ClusterID != a.ClusterID || a.ClusterID == 0 || a.ClusterID == r.ClusterID:
		return violation("S13", "cluster id %x is latched, and seed %s reports %x", a.ClusterID, a.Name, an.ClusterID)
	case len(an.Members) != 1 || an.Members[0].ID != an.MemberID || an.Members[0].Name != a.Name:
		return violation("S13", "seed %s is adopted, and is not all of its cluster", a.Name)
	case k.servesAgain():
		return violation("S13", "seed %s is adopted, and the old cluster serves", a.Name)
	case k.o.Cluster.Persistent && !k.anyClaim(a.Name):
		return violation("S7", "seed %s is adopted without a volume", a.Name)
	}
	for _, q := range k.o.Pods {
		if b := &q.Answer; k.ours(b) && (b.Committed > r.Committed || b.Leader != 0) {
			return violation("S13", "seed %s is adopted, and %s knows of index %d and leader %x", a.Name, q.Name, b.Committed, b.Leader)
		}
	}
	return k.marked()
}

func (k *check) revokeSurvivorPermit(a action.RevokeSurvivorPermit) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	if !k.isReseeding() || a.Name != k.o.Cluster.Recovery.Seed {
		return violation("S13", "the survivor permit of %s is revoked, which is no survivor's seed", a.Name)
	}
	return nil
}

// dropSeed: what is deleted was made for a recovery, and never adopted (S7).
func (k *check) dropSeed(a action.DropSeed) *Violation {
	if b := k.o.Cluster.Bootstrap; a.Token == "" || b != nil && b.Token == a.Token {
		return violation("S7", "%s is deleted as a seed of token %q", a.Name, a.Token)
	}
	if a.PodUID != "" {
		if v := k.podIs(a.Name, a.PodUID); v != nil {
			return v
		}
		if p := k.pod(a.Name); p.Reseed != a.Token || p.Role != facts.Seed || k.ours(&p.Answer) {
			return violation("S7", "Pod %s is deleted as a seed, and is another", a.Name)
		}
		return nil
	}
	if k.pod(a.Name) != nil || !slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name && c.UID == a.ClaimUID && c.Reseed == a.Token }) {
		return violation("S7", "volume %s is deleted as a seed's, and is another", a.Name)
	}
	return nil
}

func (k *check) endRecovery(a action.EndRecovery) *Violation {
	r := k.o.Cluster.Recovery
	switch {
	case r == nil || a.Token != r.Token:
		return violation("S13", "recovery %q is ended, which is not the recorded one", a.Token)
	case !a.Complete && r.Phase != "Seeding":
		return violation("S13", "a recovery is aborted whose seed was adopted")
	case a.Complete && (r.Phase != "Growing" || slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool { return k.isOld(p.Name) }) || k.hasOldClaim()):
		return violation("S13", "a recovery is complete, and something is left of the old cluster")
	}
	return nil
}

// hasOldClaim reports whether a volume of the cluster that was lost is there.
func (k *check) hasOldClaim() bool {
	return slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return k.isOld(c.Name) })
}

// isOld reports whether a name is of the cluster that was lost, and not in the new one.
func (k *check) isOld(name string) bool {
	r := k.o.Cluster.Recovery
	return r != nil && r.Phase == "Growing" && slices.Contains(r.Members, name) && !k.listed(name)
}

// listed reports whether a member list that was read has a name.
func (k *check) listed(name string) bool {
	return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && p.Answer.Read && slices.ContainsFunc(p.Answer.Members, func(m facts.Member) bool { return m.Name == name })
	})
}

// keeps: a Pod of the old cluster whose data goes with it is kept while fewer than size
// voters are healthy. settled was asked before.
func (k *check) keeps(p *facts.Pod) *Violation {
	empty := isEmpty(p) || p.Finished || p.Persistent && k.anyClaim(p.Name) || p.Persistent && p.Node == ""
	if k.isOld(p.Name) && !empty && len(k.healthy) < k.o.Cluster.Size {
		return violation("S13", "Pod %s of the old cluster is deleted, and %d of %d voters are healthy", p.Name, len(k.healthy), k.o.Cluster.Size)
	}
	return nil
}
