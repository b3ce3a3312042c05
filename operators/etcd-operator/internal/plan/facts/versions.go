package facts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// IsDowngrading reports whether members move to an earlier minor.
func (c *Cluster) IsDowngrading() bool {
	return c.Target != "" && etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)) < 0
}

// Downgrade is the version that etcd is being downgraded to, as its members tell; zero if
// it is not.
func (v *Versions) Downgrade() etcdversion.Version {
	for _, m := range v.List {
		if a := v.Answer(m); a != nil && a.Downgrade != "" {
			return etcdversion.Parse(a.Downgrade)
		}
	}
	return etcdversion.Version{}
}

// isMixed reports whether voters run more than one minor.
func (v *Versions) isMixed() bool {
	minors := map[int]bool{}
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil {
			minors[etcdversion.Parse(p.Runs()).Minor] = true
		}
	}
	return len(minors) > 1
}

// ImageDowngradeBlocker says why a member may not get an image of an earlier minor yet; empty if it
// may, or is not to.
func (v *Versions) ImageDowngradeBlocker(p *Pod) string {
	desired := etcdversion.Parse(v.Cluster.DesiredVersion())
	later := etcdversion.Parse(p.Version).CompareMinor(desired) > 0
	if later && !v.Cluster.IsDowngrading() && !v.holdsVersion(desired) {
		return fmt.Sprintf("no other member still runs etcd %s, so etcd can raise its cluster version at any moment", desired)
	}
	if !v.Cluster.IsDowngrading() || !later {
		return ""
	}
	switch data := etcdversion.Parse(p.Answer.StorageVersion); {
	case data == (etcdversion.Version{}):
		return "it does not report its storage version"
	case data.CompareMinor(desired) > 0:
		return fmt.Sprintf("its storage version is still %s", data)
	case v.holdsVersion(desired):
		return ""
	case v.Downgrade().CompareMinor(desired) != 0:
		return "etcd's downgrade was cancelled, and no member on the earlier minor keeps etcd from raising its cluster version"
	case v.Now.Sub(v.Since) < Landing:
		return "an earlier request to cancel etcd's downgrade might still reach etcd; waiting until it has expired"
	}
	return ""
}

// holdsVersion reports whether a voter surely runs a minor, or an earlier one: etcd does
// not raise its cluster version beyond that.
func (v *Versions) holdsVersion(at etcdversion.Version) bool {
	return slices.ContainsFunc(v.Voters, func(m Member) bool {
		p, a := v.PodOf[m.Name], v.Answer(m)
		return p != nil && a != nil && p.From == "" && p.DeletingSince.IsZero() &&
			etcdversion.Parse(p.Version).CompareMinor(at) <= 0 && etcdversion.Parse(a.Version).CompareMinor(at) <= 0
	})
}

// DesiredVersion is the version that members are to run now.
func (c *Cluster) DesiredVersion() string { return cmp.Or(c.Target, c.Version) }

// ClusterVersion is etcd's cluster version: the highest that a member tells. It goes down
// by etcd's downgrade API alone, and a member of an earlier minor does not start.
func (v *Versions) ClusterVersion() etcdversion.Version {
	var highest etcdversion.Version
	for _, m := range v.List {
		if a := v.Answer(m); a != nil {
			if told := etcdversion.Parse(a.ClusterVersion); told.Compare(highest) > 0 {
				highest = told
			}
		}
	}
	return highest
}

// NewPodVersion is what a Pod that is made now is to run: the oldest version of those
// that serve, which the cluster version allows as long as they run. While nobody can
// tell, a Pod goes on with what it ran; on the way up with Target, since all may run
// that already, and any can. One that is recreated while the version waits for an alarm
// goes on with what it ran as well (S10), unless all others run a later minor already.
func (v *Versions) NewPodVersion(name string) string {
	c := &v.Cluster
	if c.ClusterID == 0 {
		return c.Version // who serves may be a seed that was given up
	}
	oldest, ran := v.OldestServing(), c.ran(name)
	if c.Target != "" && c.LastStatus.UpdatingMember == name && ran != "" && etcdversion.Parse(ran).CompareMinor(etcdversion.Parse(oldest)) >= 0 {
		return ran
	}
	if oldest != "" {
		if etcdversion.Parse(oldest).CompareMinor(etcdversion.Parse(c.Version)) < 0 && v.isMixed() {
			return c.Version // half-way down to an earlier minor
		}
		return oldest
	}
	if c.Target != "" && etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)) > 0 {
		return c.Target
	}
	return cmp.Or(ran, c.Version)
}

// ran is the version that a member ran when it was last told of; empty if nothing tells, and
// on the way back up of one that had gone down: all may run Version already, and it starts on
// any data.
func (c *Cluster) ran(name string) string {
	i := slices.IndexFunc(c.LastStatus.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Name == name && d.Version != "" })
	if i < 0 {
		return ""
	}
	told := c.LastStatus.MemberDetails[i].Version
	switch ran := etcdversion.Parse(told); {
	case c.Target == c.Version && ran.CompareMinor(etcdversion.Parse(c.Version)) < 0:
		return ""
	case c.Target != "" && ran.Compare(etcdversion.Parse(c.Target)) == 0:
		return c.Target // what etcd tells lacks what a tag may have behind the patch
	case ran.Compare(etcdversion.Parse(c.Version)) == 0:
		return c.Version
	}
	return told
}

// OldestServing is the oldest version that a member who answers runs, if a quorum does.
func (v *Versions) OldestServing() string {
	var oldest string
	if !v.Sure {
		return ""
	}
	for _, m := range v.List {
		if p := v.PodOf[m.Name]; v.Answer(m) != nil && (oldest == "" || !etcdversion.Parse(p.Runs()).AtLeast(etcdversion.Parse(oldest))) {
			oldest = p.Runs()
		}
	}
	return oldest
}

// IsIncompatible reports whether a Pod's etcd does not start in this cluster, as far as that is
// known. One that has never started is not to begin with what all who serve have left
// behind: the cluster version rises to theirs at any moment.
func (v *Versions) IsIncompatible(p *Pod) bool {
	if oldest := v.OldestServing(); p.Role == Joiner && oldest != "" && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(oldest)) < 0 {
		return true
	}
	told := v.ClusterVersion()
	return told != etcdversion.Version{} && !IsCompatible(told, p.Version)
}

// IsCompatible reports whether an etcd starts in a cluster of a cluster version: it is of that
// minor, or of the next.
func IsCompatible(cluster etcdversion.Version, s string) bool {
	has := etcdversion.Parse(s)
	return has.CompareMinor(cluster) >= 0 && has.CompareMinor(etcdversion.Version{Major: cluster.Major, Minor: cluster.Minor + 1}) <= 0
}

// RedirectedVersion is the version that members can move to instead of Target. It is of the
// minor of Version or of Target: another minor is a new upgrade, once all members are healthy.
func (c *Cluster) RedirectedVersion() (next, refusal string) {
	next, refusal = etcdversion.Next(c.Version, c.WantedVersion)
	if to := etcdversion.Parse(next); to.CompareMinor(etcdversion.Parse(c.Target)) != 0 && to.CompareMinor(etcdversion.Parse(c.Version)) != 0 {
		next = c.Version
	}
	return next, refusal
}

// CanRedirect reports whether members may move to another version instead of Target. Back to
// an earlier minor they may only while etcd's cluster version is surely still that: a
// voter runs it, and no image that was changed before can still reach that one.
func (v *Versions) CanRedirect(to string) bool {
	if etcdversion.Parse(to).CompareMinor(etcdversion.Parse(v.Cluster.Target)) >= 0 {
		return true
	}
	if v.ClusterVersion().CompareMinor(etcdversion.Parse(to)) > 0 {
		return false
	}
	old := func(s string) bool { return etcdversion.Parse(s).CompareMinor(etcdversion.Parse(to)) <= 0 }
	return v.Now.Sub(v.Since) >= Landing && slices.ContainsFunc(v.KnownVoters(), func(m Member) bool {
		p := v.PodOf[m.Name]
		switch {
		case p == nil || !p.DeletingSince.IsZero():
			return false
		case p.From != "":
			return old(p.From)
		}
		return old(p.Version) && p.Answer.Reached && v.Ours(&p.Answer) && old(p.Answer.Version) && old(p.Answer.ClusterVersion)
	})
}

// IsChangingVersion reports whether members move to another version, or are about to.
func (c *Cluster) IsChangingVersion() bool {
	next, refusal := etcdversion.Next(c.Version, c.WantedVersion)
	return c.Target != "" || (refusal == "" && next != c.Version)
}

// Refusal is why members don't move to the version that is wanted, and what to write
// instead; empty if they do, or are there.
func (v *Versions) Refusal() string {
	c := &v.Cluster
	next, why := etcdversion.Next(c.Version, c.WantedVersion)
	if c.Target != "" {
		next, why = v.Cluster.RedirectedVersion()
	}
	if why == "" && c.Target != "" && next != c.Target && !v.CanRedirect(next) {
		return fmt.Sprintf("cannot roll back to etcd %s: etcd's cluster version may already be that of %s; set spec.version to %s", next, c.Target, c.Target)
	}
	return why
}
