package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file take members down one minor, by etcd's downgrade API (S10). Etcd
// first lowers its cluster version, then each member brings its data to it, and then its
// image is changed as on the way up (restart.go). Etcd ends the downgrade itself when all
// members run the earlier minor.
//
// While it is downgraded etcd takes no new members: none joins a cluster whose cluster
// version is not the next one above its own minor (etcdserver.allowedVersionRange). And
// etcd 3.5 must not replay a log in which several learners were added at once: it would
// leave out all but one of them (S3). The snapshot that etcd forces as it lowers its
// cluster version keeps members from that, and those who join from a leader that was
// restarted since. So if a member is to join half-way all go up again first, and it joins
// with the later minor; the downgrade then starts again, with another snapshot, once
// all members are healthy.

// oldestByDowngrade is the earliest minor that etcd's downgrade API leads to: etcd 3.5
// does not lower its cluster version.
const oldestByDowngrade = 5

// earlierMinor is nextVersion for a wanted version of an earlier minor.
func earlierMinor(a, b etcdversion.Version, runs, wanted string) (next, refusal string) {
	newest := etcdversion.OfMinor(b.Minor)
	switch {
	case b.Minor < oldestByDowngrade:
		return runs, fmt.Sprintf("cannot roll back further than %s, the oldest that etcd's downgrade API leads to: the cluster runs %s; set spec.version to %s",
			etcdversion.OfMinor(oldestByDowngrade), runs, cmp.Or(etcdversion.OfMinor(a.Minor-1), runs))
	case newest == "" || etcdversion.OfMinor(a.Minor) == "":
		return runs, fmt.Sprintf("cannot roll back from etcd %s to %s: no path is known; set spec.version to %s", runs, wanted, runs)
	case a.Minor-b.Minor > 1:
		return runs, fmt.Sprintf("cannot roll back more than one minor at a time: the cluster runs %s; set spec.version to %s first, then to %s", runs, etcdversion.OfMinor(a.Minor-1), wanted)
	case !b.AtLeast(etcdversion.Parse(newest)):
		return runs, fmt.Sprintf("cannot roll back from etcd %s to %s: %s is the oldest patch that members can go back to; set spec.version to %s", runs, wanted, newest, newest)
	case !a.AtLeast(etcdversion.Parse(etcdversion.OfMinor(a.Minor))):
		return etcdversion.OfMinor(a.Minor), ""
	}
	return wanted, ""
}

// isDowngrading reports whether members move to an earlier minor.
func (c *Cluster) isDowngrading() bool {
	return c.Target != "" && etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)) < 0
}

// downgrade is the version that etcd is being downgraded to, as its members tell; zero if
// it is not.
func (v *view) downgrade() etcdversion.Version {
	for _, m := range v.list {
		if a := v.answer(m); a != nil && a.Downgrade != "" {
			return etcdversion.Parse(a.Downgrade)
		}
	}
	return etcdversion.Version{}
}

// enableDowngrade has etcd lower its cluster version, once, while all members are healthy, and
// waits for it.
func enableDowngrade(v *view) *step {
	const reason = v1beta2.ClusterReasonLoweringClusterVersion
	to, told := etcdversion.Parse(v.Cluster.Target), v.clusterVersion()
	if !v.Cluster.isDowngrading() || to.Minor < oldestByDowngrade || told.CompareMinor(to) <= 0 {
		return nil
	}
	if v.downgrade().CompareMinor(to) == 0 {
		return wait(fastPoll, reason, fmt.Sprintf("waiting for etcd to lower its cluster version from %s to %s", told, to))
	}
	if why := v.disruptionBlocker(v.nextToRestart()); why != "" {
		return wait(v.blockerPollInterval(), reason, fmt.Sprintf("waiting to enable etcd's downgrade to %s: %s", to, why))
	}
	return do(EnableDowngrade{to.String() + ".0"}, reason, fmt.Sprintf("asked etcd to lower its cluster version from %s to %s", told, to))
}

// cancelDowngrade ends a downgrade that is not wanted any more, or that keeps a member
// from joining.
func cancelDowngrade(v *view) *step {
	to := v.downgrade()
	if to == (etcdversion.Version{}) || v.canReachEarlierMinor() {
		return nil
	}
	why := ""
	switch desired := etcdversion.Parse(v.Cluster.desiredVersion()); {
	case desired.CompareMinor(to) != 0:
		why = "members move to etcd " + desired.String()
	case v.isAwaitingMember():
		why = "a member has to join, and etcd accepts none during a downgrade"
	default:
		return nil
	}
	return do(CancelDowngrade{}, v1beta2.ClusterReasonDowngradeCancelled, fmt.Sprintf("cancelled etcd's downgrade to %s: %s", to, why))
}

// isAwaitingMember reports whether a member is to join.
func (v *view) isAwaitingMember() bool {
	return v.missing() > 0 || slices.ContainsFunc(v.list, func(m Member) bool { return !m.Started })
}

// isPartlyDowngraded reports whether members go down a minor, and not all that have Pods run it.
func (v *view) isPartlyDowngraded() bool {
	desired := etcdversion.Parse(v.Cluster.desiredVersion())
	return v.Cluster.isDowngrading() && slices.ContainsFunc(v.voters, func(m Member) bool {
		p := v.pods[m.Name]
		return p != nil && etcdversion.Parse(p.runs()).CompareMinor(desired) > 0
	})
}

// isMixed reports whether voters run more than one minor.
func (v *view) isMixed() bool {
	minors := map[int]bool{}
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil {
			minors[etcdversion.Parse(p.runs()).Minor] = true
		}
	}
	return len(minors) > 1
}

// canReachEarlierMinor reports whether some member that runs, or something that is under way, may
// get an image of an earlier minor at any moment: it would not start if etcd raised its
// cluster version before. One that does not run holds that back by itself.
func (v *view) canReachEarlierMinor() bool {
	if v.Now.Sub(v.Since) < landing {
		return true
	}
	return slices.ContainsFunc(v.Pods, func(p Pod) bool {
		lower := p.From != "" && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(p.From)) < 0
		return lower && (p.Answer.Reached || p.Trouble == "")
	})
}

// imageDowngradeBlocker says why a member may not get an image of an earlier minor yet; empty if it
// may, or is not to.
func (v *view) imageDowngradeBlocker(p *Pod) string {
	desired := etcdversion.Parse(v.Cluster.desiredVersion())
	later := etcdversion.Parse(p.Version).CompareMinor(desired) > 0
	if later && !v.Cluster.isDowngrading() && !v.holdsVersion(desired) {
		return fmt.Sprintf("no other member still runs etcd %s, so etcd can raise its cluster version at any moment", desired)
	}
	if !v.Cluster.isDowngrading() || !later {
		return ""
	}
	switch data := etcdversion.Parse(p.Answer.StorageVersion); {
	case data == (etcdversion.Version{}):
		return "it does not report its storage version"
	case data.CompareMinor(desired) > 0:
		return fmt.Sprintf("its storage version is still %s", data)
	case v.holdsVersion(desired):
		return ""
	case v.downgrade().CompareMinor(desired) != 0:
		return "etcd's downgrade was cancelled, and no member on the earlier minor keeps etcd from raising its cluster version"
	case v.Now.Sub(v.Since) < landing:
		return "an earlier request to cancel etcd's downgrade might still reach etcd; waiting until it has expired"
	}
	return ""
}

// holdsVersion reports whether a voter surely runs a minor, or an earlier one: etcd does
// not raise its cluster version beyond that.
func (v *view) holdsVersion(at etcdversion.Version) bool {
	return slices.ContainsFunc(v.voters, func(m Member) bool {
		p, a := v.pods[m.Name], v.answer(m)
		return p != nil && a != nil && p.From == "" && p.DeletingSince.IsZero() &&
			etcdversion.Parse(p.Version).CompareMinor(at) <= 0 && etcdversion.Parse(a.Version).CompareMinor(at) <= 0
	})
}

// downgradeProgress says what members that go down a minor wait for; empty if for nothing.
func (v *view) downgradeProgress() string {
	if !v.Cluster.isDowngrading() {
		return ""
	}
	to, told := etcdversion.Parse(v.Cluster.Target), v.clusterVersion()
	if told.CompareMinor(to) > 0 {
		return fmt.Sprintf("; waiting for etcd to lower its cluster version from %s to %s", told, to)
	}
	if m := v.nextToRestart(); m != nil {
		if why := v.imageDowngradeBlocker(v.pods[m.Name]); why != "" {
			return fmt.Sprintf("; %s: %s", m.Name, why)
		}
	}
	return ""
}
