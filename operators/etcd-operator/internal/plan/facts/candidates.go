package facts

import (
	"fmt"
	"slices"
	"time"
)

// StrandedAge is for how long a joiner's Pod must not have come to run on its node before
// another one is tried elsewhere: longer than images take to be pulled and volumes to be
// attached, as a rule.
const StrandedAge = 5 * time.Minute

// IsStranded reports whether a Pod that is to join does not come to run on its node: its
// image can't be pulled there, or its containers are not made.
func (v *Objects) IsStranded(p *Pod) bool {
	held := p.Creating || p.Trouble != ""
	return held && p.Node != "" && !p.Answer.Waiting && !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) >= StrandedAge
}

// OutgrownPods counts the Pods that were to become members and that are to be deleted
// first, since the spec asks for other ones.
func (v *Losses) OutgrownPods() int {
	n := 0
	for i := range v.Pods {
		if p := &v.Pods[i]; p.Role == Joiner && v.HasOldTemplate(p) && !v.IsMember(p.Name) && p.DeletingSince.IsZero() && !v.IsDeletionRejected(p) {
			n++
		}
	}
	return n
}

// LacksPod reports whether a volume that may be a member's is to get its Pod.
func (v *Losses) LacksPod(c *Claim) bool {
	if v.PodOf[c.Name] != nil || v.DoubtOf[c.Name] != nil || c.Deleting || v.IsOld(c.Name) || v.Cluster.IsStrayClaim(c) || c.Name == v.UnusedName() {
		return false
	}
	return !v.Sure || v.canHaveData(c.Name)
}

// UnusedName is the name of a joiner that the API server has refused: no Pod has had it,
// and no list has it, not even an outdated one: then it is used up, as those of all Pods that
// were there (S7). Its claim may exist, and is used by the Pod that is created next.
func (v *Objects) UnusedName() string {
	for i := range v.Rejections {
		r := &v.Rejections[i]
		if r.Kind == CreatingPods && r.Role == Joiner && v.PodOf[r.Name] == nil && !v.isListedByAny(r.Name) {
			return r.Name
		}
	}
	return ""
}

// isListedByAny reports whether any member of this cluster that answers lists a name.
func (v *Objects) isListedByAny(name string) bool {
	return slices.ContainsFunc(v.Pods, func(p Pod) bool {
		return v.Ours(&p.Answer) && slices.ContainsFunc(p.Answer.Members, func(m Member) bool { return m.Name == name })
	})
}

// Candidates are the Pods that wait to become members, the readiest first.
func (v *Losses) Candidates() []*Pod {
	var found []*Pod
	for i := range v.Pods {
		if p := &v.Pods[i]; v.IsCandidate(p) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *Pod) int { return rank(a) - rank(b) })
	return found
}

// rank orders candidates: those that can join, those that run, those that are
// scheduled, the rest.
func rank(p *Pod) int {
	switch {
	case p.CanJoin():
		return 0
	case p.Answer.Waiting:
		return 1
	case p.Node != "":
		return 2
	}
	return 3
}

// IsCandidate reports whether a Pod may still become a member: it never was one.
func (v *Losses) IsCandidate(p *Pod) bool {
	return v.IsUnstarted(p) && !v.isUnusable(p) && !v.FewerLearners(p)
}

// IsUnstarted reports whether a Pod waits that was made to become a member, and never was one:
// there is nothing to lose with it.
func (v *Losses) IsUnstarted(p *Pod) bool {
	isEnding := p.Finished || !p.DeletingSince.IsZero() || v.NodeLost(p)
	hadPermit := p.StartPermit != nil || p.Answer.Reached || p.Answer.Refused != "" || p.Answer.Attempt > 0
	return p.Role == Joiner && !v.IsMember(p.Name) && !isEnding && !hadPermit
}

// isUnusable reports whether a Pod that was to become a member is not to any more: it lacks its
// volume, or finds no node for it, or the spec asks for another one. See HasLowLimit, too.
func (v *Losses) isUnusable(p *Pod) bool {
	return v.PVCMissing(p) || v.refusesData(p) || v.isOnRetiredVolume(p) || v.isTiedToOldVolume(p) || v.IsIncompatible(p) || v.HasOldTemplate(p)
}

// refusesData reports whether a joiner's launcher found data on its volume, for example on a local volume that
// was not wiped. Another Pod with another volume is tried only after a while, because each volume might hold
// data.
func (v *Objects) refusesData(p *Pod) bool {
	return p.Answer.Refusing && v.Now.Sub(p.ExistsSince()) >= OldPodAge
}

// isTiedToOldVolume reports whether a Pod finds no node, and has the volume of an earlier Pod of its name: a
// person has recreated it, and that volume may be bound to a node that is gone.
func (v *Losses) isTiedToOldVolume(p *Pod) bool {
	c := v.ClaimOf[p.Name]
	return p.Persistent && p.Node == "" && p.Unschedulable != "" && v.IsExpired(p.ExistsSince()) && c != nil && p.Created.Sub(c.Created) > cacheLag
}

// LowLimitAge is how old a Pod that HasLowLimit gets before another one is tried: whatever
// has given it that limit might do the same to all Pods.
const LowLimitAge = time.Minute

// HasLowLimit reports whether a Pod that is to join would, if its etcd did not allow fewer
// learners than that of a member: it would come to another member list (S3).
func (v *Losses) HasLowLimit(p *Pod) bool {
	return v.IsUnstarted(p) && !v.isUnusable(p) && v.FewerLearners(p)
}

// LowLimits are the Pods that HasLowLimit, in their order.
func (v *Losses) LowLimits() []*Pod {
	var found []*Pod
	for i := range v.Pods {
		if p := &v.Pods[i]; v.HasLowLimit(p) {
			found = append(found, p)
		}
	}
	return found
}

// LowLimitText says why such a Pod does not join, and what to do.
func LowLimitText(p *Pod) string {
	return fmt.Sprintf("Pod %s cannot join: its etcd allows %d learners (ETCD_MAX_LEARNERS), fewer than that of a member; another Pod follows; if it is the same, find what changes the environment of Pods, such as an admission webhook, or run the operator's release that made the members", p.Name, p.Learners)
}

// isOnRetiredVolume reports whether a Pod runs on a volume that is not the cluster's: one that
// a restore has retired.
func (v *Objects) isOnRetiredVolume(p *Pod) bool {
	return p.Persistent && v.ClaimOf[p.Name] == nil && v.Now.Sub(p.ExistsSince()) > cacheLag
}
