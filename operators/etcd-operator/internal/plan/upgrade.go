package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// The rules of this file say which version members move to (S10). It is latched in the
// status before the first of them is changed, and recorded as the one that runs when
// all run it.

// goal is the version that members are to run now.
func (v *view) goal() string { return cmp.Or(v.Cluster.Target, v.Cluster.Version) }

// clusterVersion is etcd's cluster version: the highest that a member tells. It never
// goes down by itself, and a member of an earlier minor does not start.
func (v *view) clusterVersion() version {
	var highest version
	for _, m := range v.list {
		if a := v.answer(m); a != nil {
			if told := parseVersion(a.ClusterVersion); told.compare(highest) > 0 {
				highest = told
			}
		}
	}
	return highest
}

// runs is the version that a Pod's etcd runs, or ran last.
func (p *Pod) runs() string { return cmp.Or(p.From, p.Version) }

// newPodVersion is what a Pod that is made now is to run: the oldest version of those
// that serve, which the cluster version allows as long as they run. While nobody can
// tell, it is the newest that a member may have run: it goes on with the data of all.
func (v *view) newPodVersion() string {
	var found string
	if v.sure {
		for _, m := range v.list {
			if p := v.pods[m.Name]; v.answer(m) != nil && (found == "" || !parseVersion(p.runs()).atLeast(parseVersion(found))) {
				found = p.runs()
			}
		}
	}
	if found != "" {
		return found
	}
	found = v.Cluster.Version
	known := []string{v.Cluster.Target}
	for _, d := range v.Cluster.LastStatus.MemberDetails {
		known = append(known, d.Version)
	}
	for _, s := range known {
		if s != "" && !parseVersion(found).atLeast(parseVersion(s)) {
			found = s
		}
	}
	return found
}

// tooOld reports whether a Pod's etcd is of an earlier minor than the cluster version:
// it does not start in this cluster.
func (v *view) tooOld(p *Pod) bool {
	return parseVersion(p.Version).compareMinor(v.clusterVersion()) < 0
}

// turnVersion follows a user who has changed his mind while members move, and etcd if
// it has gone further than we knew. It needs no quorum: nothing is done to a member.
func turnVersion(v *view) *step {
	c := &v.Cluster
	if risen := v.risen(); risen != "" {
		return do(RecordVersion{Current: risen}, "UpgradeFinished", fmt.Sprintf("all members run etcd %s or later, and etcd's cluster version is that", risen))
	}
	if c.Target == "" {
		return nil
	}
	next, refusal := nextVersion(c.Version, c.WantedVersion)
	if refusal != "" || next == c.Target || !v.mayTurn(next) {
		return nil // see refuseVersion
	}
	return do(RecordVersion{c.Version, next}, "UpgradeTurned", fmt.Sprintf("members move to etcd %s, and not to %s any more", next, c.Target))
}

// risen is the oldest version that members run, if etcd's cluster version is beyond the
// one that they are to move to; empty otherwise. There is no way back from there.
func (v *view) risen() string {
	if !v.sure || v.clusterVersion().compareMinor(parseVersion(v.goal())) <= 0 {
		return ""
	}
	var oldest string
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if v.answer(m) == nil || p.From != "" || v.tooOld(p) {
			return ""
		}
		if oldest == "" || !parseVersion(p.Version).atLeast(parseVersion(oldest)) {
			oldest = p.Version
		}
	}
	return oldest
}

// mayTurn reports whether members may move to another version instead of Target. Back to
// an earlier minor they may only while etcd's cluster version is surely still that: a
// voter runs it, and no image that was changed before can still reach that one.
func (v *view) mayTurn(to string) bool {
	if parseVersion(to).compareMinor(parseVersion(v.Cluster.Target)) >= 0 {
		return true
	}
	old := func(s string) bool { return parseVersion(s).compareMinor(parseVersion(to)) <= 0 }
	return v.Now.Sub(v.Since) >= landing && slices.ContainsFunc(v.knownVoters(), func(m Member) bool {
		p := v.pods[m.Name]
		switch {
		case p == nil || !p.DeletingSince.IsZero():
			return false
		case p.From != "":
			return old(p.From)
		}
		return old(p.Version) && p.Answer.Reached && v.ours(&p.Answer) && old(p.Answer.Version) && old(p.Answer.ClusterVersion)
	})
}

// beginVersion latches the version to move to, if another one is wanted.
func beginVersion(v *view) *step {
	c := &v.Cluster
	next, refusal := nextVersion(c.Version, c.WantedVersion)
	if c.Target != "" || refusal != "" || next == c.Version {
		return nil
	}
	if why := v.unrest(nil); why != "" {
		return wait(soon, "Upgrading", "the version changes when all is well: "+why)
	}
	if parseVersion(next).compareMinor(parseVersion(c.Version)) != 0 && v.clusterVersion().compareMinor(parseVersion(c.Version)) != 0 {
		return wait(shortly, "Upgrading", "waiting for etcd's cluster version to be that of "+c.Version)
	}
	return do(RecordVersion{c.Version, next}, "UpgradeStarted", fmt.Sprintf("members move from etcd %s to %s, one at a time", c.Version, next))
}

// finishVersion records the version that all members have come to, once etcd itself
// has: it raises its cluster version within seconds.
func finishVersion(v *view) *step {
	c := &v.Cluster
	if c.Target == "" {
		return nil
	}
	if why := v.unrest(nil); why != "" {
		return wait(soon, "Upgrading", why)
	}
	if told := v.clusterVersion(); told.compareMinor(parseVersion(c.Target)) != 0 {
		return wait(soon, "Upgrading", fmt.Sprintf("all members run etcd %s; waiting for etcd's cluster version, which is %d.%d", c.Target, told.major, told.minor))
	}
	return do(RecordVersion{Current: c.Target}, "UpgradeFinished", "all members run etcd "+c.Target)
}

// refuseVersion says why a version that is wanted is not gone to.
func refuseVersion(v *view) *step {
	if why := v.refusal(); why != "" {
		return wait(idle, "VersionRefused", why)
	}
	return nil
}

// refusal is why members don't move to the version that is wanted, and what to write
// instead; empty if they do, or are there.
func (v *view) refusal() string {
	c := &v.Cluster
	next, why := nextVersion(c.Version, c.WantedVersion)
	if why == "" && c.Target != "" && next != c.Target && !v.mayTurn(next) {
		return fmt.Sprintf("members may not go back to etcd %s, since etcd's cluster version may be that of %s already: set spec.version to %s", next, c.Target, c.Target)
	}
	return why
}
