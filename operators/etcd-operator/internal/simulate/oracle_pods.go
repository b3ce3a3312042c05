package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of actions on Pods and volumes.

func (k *check) createPods(a action.CreatePods) *Violation {
	c := &k.o.Cluster
	if len(a.Pods) == 0 {
		return violation("Decision", "creates no Pods")
	}
	if c.Bootstrap == nil && c.ClusterID == 0 {
		return violation("S1", "creates Pods before the bootstrap is recorded")
	}
	seen := map[string]bool{}
	for _, p := range a.Pods {
		switch {
		case p.Name == "" || seen[p.Name]:
			return violation("Decision", "creates Pod %q twice, or without a name", p.Name)
		case k.pod(p.Name) != nil:
			return violation("S7", "creates Pod %s while the old one exists", p.Name)
		case p.Role == facts.Voter || p.Role == facts.Learner:
			return violation("S1", "creates Pod %s as a %s", p.Name, p.Role)
		case p.Role == facts.Returning && !k.hasClaim(p.Name):
			return violation("S7", "creates Pod %s to return to a volume that it has not", p.Name)
		case c.ClusterID == 0 && c.Bootstrap != nil && c.Bootstrap.Adopted && p.Role != facts.Returning:
			return violation("S1", "creates Pod %s as a %s before the adopted volumes serve", p.Name, p.Role)
		case p.Role == facts.Seed && p.Recovery != nil:
			if v := k.survivorsSeed(&p); v != nil {
				return v
			}
		case p.Role == facts.Seed && (c.ClusterID != 0 || c.Bootstrap == nil || p.Name != c.Bootstrap.Member):
			return violation("S1", "creates seed %s, which is not the recorded one", p.Name)
		}
		seen[p.Name] = true
		if p.StartPermit != nil {
			if v := k.startPermit(p.Name, p.StartPermit); v != nil {
				return v
			}
		}
		if p.Role == facts.Joiner && !slices.Contains(k.o.FreshNames, p.Name) && !k.isUnused(p.Name) {
			return violation("S7", "creates joiner %s under a name that is not fresh", p.Name)
		}
	}
	return nil
}

// isUnused reports whether a name is known to have been nobody's: the API server has
// refused the joiner's Pod that was to have it, and it is in no list.
func (k *check) isUnused(name string) bool {
	refused := slices.ContainsFunc(k.o.Rejections, func(r facts.Rejection) bool { return r.Role == facts.Joiner && r.Name == name })
	return refused && !slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && p.Answer.Read && slices.ContainsFunc(p.Answer.Members, func(m facts.Member) bool { return m.Name == name })
	})
}

// startPermit checks a permit to start: for the recorded seed before the cluster id is
// latched, or for a member in the list that has never started (S2).
func (k *check) startPermit(name string, g *facts.StartPermit) *Violation {
	c := &k.o.Cluster
	if g.Attempt < 1 {
		return violation("S2", "%s gets a start permit of attempt %d", name, g.Attempt)
	}
	if g.New {
		if c.ClusterID != 0 || c.Bootstrap == nil || c.Bootstrap.Adopted || c.Bootstrap.Member != name || c.Bootstrap.Token != g.Token || !slices.Equal(g.Members, []string{name}) {
			return violation("S2", "%s may begin a cluster", name)
		}
		return nil
	}
	if c.ClusterID == 0 {
		return violation("S2", "%s may join before the cluster id is latched", name)
	}
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if !k.ours(a) || !a.Read || a.Learner {
			continue
		}
		var names []string
		unstarted := false
		for _, m := range a.Members {
			names = append(names, m.Name)
			unstarted = unstarted || (m.Name == name && !m.Started)
		}
		slices.Sort(names)
		if unstarted && slices.Equal(names, g.Members) {
			return nil
		}
	}
	return violation("S2", "%s may join %v, and no linearizable read says that it is a member that has never started, of those", name, g.Members)
}

func (k *check) setRoles(a action.SetRoles) *Violation {
	for _, r := range a.Roles {
		if v := k.podIs(r.Name, r.UID); v != nil {
			return v
		}
		if r.Role != facts.Voter {
			continue
		}
		p := k.pod(r.Name)
		if k.servesUnseen(p) || k.readyUnseen(p) {
			continue
		}
		if k.o.Cluster.ClusterID == 0 || p.Answer.ClusterID != k.o.Cluster.ClusterID || !p.Answer.Reached {
			return violation("S1", "%s is marked voter without an answer from the latched cluster", r.Name)
		}
		if p.Answer.Learner {
			return violation("Role", "%s is marked voter, and says itself that it is a learner: it refuses clients", r.Name)
		}
	}
	return nil
}

// servesUnseen reports whether a Pod is one of the latched cluster's voters although it
// refuses to say so: it was when that could be told last, and serves those whom etcd
// knows. No cluster but the one that users have reached has authentication enabled.
func (k *check) servesUnseen(p *facts.Pod) bool {
	return k.o.Cluster.ClusterID != 0 && p.Answer.Refused != "" && p.Answer.Read && (p.Role == facts.Returning || p.Role == facts.Restarting) &&
		k.isReportedVoter(p.Name)
}

// isReportedVoter reports whether a name is that of a voter as some member tells the
// list, or as the status did last.
func (k *check) isReportedVoter(name string) bool {
	for i := range k.o.Pods {
		a := &k.o.Pods[i].Answer
		if k.ours(a) && slices.ContainsFunc(a.Members, func(m facts.Member) bool { return m.Name == name && !m.Learner }) {
			return true
		}
	}
	st, b := &k.o.Cluster.LastStatus, k.o.Cluster.Bootstrap
	voters := slices.DeleteFunc(slices.Clone(st.MemberDetails), func(d v1beta2.MemberDetail) bool { return d.Role != v1beta2.MemberVoter })
	return slices.ContainsFunc(voters, func(d v1beta2.MemberDetail) bool { return d.Name == name }) || (len(voters) == 0 && b != nil && (b.Member == name || b.Adopted))
}

func (k *check) grantStartPermit(a action.GrantStartPermit) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	if p := k.pod(a.Name); !p.Answer.Waiting || a.StartPermit.Attempt <= p.Answer.Attempt {
		return violation("S2", "%s gets a start permit of attempt %d, and does not wait for it", a.Name, a.StartPermit.Attempt)
	}
	return k.startPermit(a.Name, &a.StartPermit)
}

func (k *check) revokeStartPermits(a action.RevokeStartPermits) *Violation {
	for _, p := range a.Pods {
		if v := k.podIs(p.Name, p.UID); v != nil {
			return v
		}
	}
	return nil
}

func (k *check) deletePod(a action.DeletePod) *Violation {
	if v := k.podIs(a.Name, a.UID); v != nil {
		return v
	}
	p := k.pod(a.Name)
	if len(a.Members) > 0 {
		if v := k.settled(a.Members); v != nil {
			return v
		}
		if slices.ContainsFunc(a.Members, func(m facts.Member) bool { return m.Name == a.Name }) {
			return violation("S7", "Pod %s is deleted as nobody's, and is in the list", a.Name)
		}
		return k.keeps(p)
	}
	switch {
	case k.o.Cluster.ClusterID == 0 && k.o.Cluster.Bootstrap != nil && (!p.Answer.Reached || p.Finished || a.Name != k.o.Cluster.Bootstrap.Member):
		return nil // a seed is tried again, or was given up
	case k.isNoMember(a.Name, true):
		return nil // as a quorum says
	case isEmpty(p), p.Answer.Waiting && k.hasClaim(a.Name):
		return nil // there is no data in it, or a learner's that has just begun: it makes room
	case p.Answer.Reached && !k.ours(&p.Answer):
		return nil // of a seed that was given up
	case p.Role == facts.Joiner && p.StartPermit == nil && !p.Answer.Reached && p.Answer.Attempt == 0:
		return nil // it never started, and makes room
	case p.Answer.Learner && k.hasClaim(a.Name) && slices.ContainsFunc(k.o.Pods, func(o facts.Pod) bool { return o.Unschedulable != "" }):
		return nil // it has no vote, its data stays on its claim, and it makes room for a voter
	case p.Answer.Reached && !p.Finished && !p.Answer.Learner && !k.isNoMember(a.Name, false):
		// A learner, or one that was removed, may give way to a voter.
		return violation("S6", "Pod %s is deleted, and its member answers", a.Name)
	case p.Finished && slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name }):
		return nil // it keeps no claim alive any more
	case !p.Persistent || !k.hasClaim(a.Name):
		return violation("S7", "Pod %s is deleted, which may be a member's, and its data with it", a.Name)
	}
	return nil
}

// isNoMember reports whether a member's list, read linearizably or as that member
// knows it, lacks a name.
func (k *check) isNoMember(name string, read bool) bool {
	return slices.ContainsFunc(k.o.Pods, func(p facts.Pod) bool {
		return k.ours(&p.Answer) && (p.Answer.Read || !read) && len(p.Answer.Members) > 0 &&
			!slices.ContainsFunc(p.Answer.Members, func(m facts.Member) bool { return m.Name == name })
	})
}

func (k *check) deleteClaim(a action.DeleteClaim) *Violation {
	if !slices.ContainsFunc(k.o.Claims, func(c facts.Claim) bool { return c.Name == a.Name && c.UID == a.UID }) {
		return violation("S11", "no volume %s of uid %s was observed", a.Name, a.UID)
	}
	if v := k.settled(a.Members); v != nil {
		return v
	}
	if slices.ContainsFunc(a.Members, func(m facts.Member) bool { return m.Name == a.Name }) {
		return violation("S7", "volume %s is deleted, and it is a member's", a.Name)
	}
	if k.pod(a.Name) != nil {
		return violation("S7", "volume %s is deleted, and a Pod uses it", a.Name)
	}
	if k.isOld(a.Name) && len(k.healthy) < k.o.Cluster.Size {
		return violation("S13", "volume %s of the old cluster is deleted, and %d of %d voters are healthy", a.Name, len(k.healthy), k.o.Cluster.Size)
	}
	return nil
}
