package facts

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Status is the record as the status has it.
func (r *Recovery) Status() *v1beta2.RecoveryStatus {
	return &v1beta2.RecoveryStatus{
		Phase: r.Phase, ClusterID: HexID(r.ClusterID),
		Survivor: r.Survivor, SurvivorUID: r.SurvivorUID, MemberID: HexID(r.MemberID),
		CommittedIndex: int64(r.Committed), Revision: r.Revision, BeginsAt: r.BeginsAt,
		Seed: r.Seed, Token: r.Token, Version: r.Version, Survivors: r.Survivors, Members: r.Members,
	}
}

// HexID is an id of etcd's as the status has it.
func HexID(id uint64) string { return fmt.Sprintf("%016x", id) }

// IsReseeding reports whether a seed is being made of a survivor's snapshot.
func (c *Cluster) IsReseeding() bool {
	r := c.Recovery
	return r != nil && r.Phase == v1beta2.RecoverySeeding
}

// IsRegrowing reports whether the cluster has begun anew and has not grown to its size
// since.
func (c *Cluster) IsRegrowing() bool {
	r := c.Recovery
	return r != nil && r.Phase == v1beta2.RecoveryGrowing
}

// IsRecoveredClaim reports whether a volume is marked as made for a recovery of which nothing is
// left to do: no volume has data from before it.
func (c *Cluster) IsRecoveredClaim(claim *Claim) bool {
	r := c.Recovery
	return r != nil && r.Phase == v1beta2.RecoveryComplete && r.Token == claim.Reseed
}

// IsStrayClaim reports the same of a volume.
func (c *Cluster) IsStrayClaim(claim *Claim) bool { return c.IsStrayToken(claim.Reseed) }

// IsStrayToken reports whether a token is of a recovery whose seed was never adopted, and is
// not the one that is being made.
func (c *Cluster) IsStrayToken(token string) bool {
	if token == "" || (c.Bootstrap != nil && c.Bootstrap.Token == token) {
		return false
	}
	// Of an earlier recovery that was adopted a member's Pod may still have the token.
	return c.Recovery == nil || c.Recovery.Token != token
}

// IsOld reports whether a name is of a member of the cluster that was lost, while the new
// one has not grown to its size.
func (v *Members) IsOld(name string) bool {
	return v.Cluster.IsRegrowing() && !v.IsMember(name) && slices.Contains(v.Cluster.Recovery.Members, name)
}

// IsKept reports whether a Pod of an old member might hold data, and is kept: until the new
// cluster has size healthy voters.
func (v *Losses) IsKept(p *Pod) bool {
	empty := p.IsEmpty() || v.HasEnded(p) || v.PVCMissing(p)
	return v.IsOld(p.Name) && !empty && !v.HasRegrown()
}

// HasRegrown reports whether there are size voters, all of them healthy.
func (v *Members) HasRegrown() bool {
	return v.Settled && len(v.Voters) >= v.Cluster.Size && len(v.List) == len(v.Voters) && len(v.Healthy) == len(v.Voters)
}
