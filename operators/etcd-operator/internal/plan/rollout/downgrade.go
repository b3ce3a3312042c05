package rollout

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
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

// EnableDowngrade has etcd lower its cluster version, once, while all members are healthy, and
// waits for it.
func EnableDowngrade(v *facts.View) *step.Step {
	const reason = v1beta2.ClusterReasonLoweringClusterVersion
	to, told := etcdversion.Parse(v.Cluster.Target), v.ClusterVersion()
	if !v.Cluster.IsDowngrading() || to.Minor < etcdversion.OldestByDowngrade || told.CompareMinor(to) <= 0 {
		return nil
	}
	if v.Downgrade().CompareMinor(to) == 0 {
		return step.Wait(step.FastPoll, reason, fmt.Sprintf("waiting for etcd to lower its cluster version from %s to %s", told, to))
	}
	if why := v.DisruptionBlocker(v.NextToRestart()); why != "" {
		return step.Wait(step.BlockerPollInterval(v), reason, fmt.Sprintf("waiting to enable etcd's downgrade to %s: %s", to, why))
	}
	return step.Do(action.EnableDowngrade{To: to.String() + ".0"}, reason, fmt.Sprintf("asked etcd to lower its cluster version from %s to %s", told, to))
}

// CancelDowngrade ends a downgrade that is not wanted any more, or that keeps a member
// from joining.
func CancelDowngrade(v *facts.View) *step.Step {
	to := v.Downgrade()
	if to == (etcdversion.Version{}) || canReachEarlierMinor(v) {
		return nil
	}
	why := ""
	switch desired := etcdversion.Parse(v.Cluster.DesiredVersion()); {
	case desired.CompareMinor(to) != 0:
		why = "members move to etcd " + desired.String()
	case isAwaitingMember(v):
		why = "a member has to join, and etcd accepts none during a downgrade"
	default:
		return nil
	}
	return step.Do(action.CancelDowngrade{}, v1beta2.ClusterReasonDowngradeCancelled, fmt.Sprintf("cancelled etcd's downgrade to %s: %s", to, why))
}

// isAwaitingMember reports whether a member is to join. One that is only to replace another waits
// until all members have moved.
func isAwaitingMember(v *facts.View) bool {
	waits := v.IsMovingOn() && v.IsOnlyReplacing()
	return v.Missing() > 0 && !waits || slices.ContainsFunc(v.List, func(m facts.Member) bool { return !m.Started })
}

// isPartlyDowngraded reports whether members go down a minor, and not all that have Pods run it.
func isPartlyDowngraded(v *facts.View) bool {
	desired := etcdversion.Parse(v.Cluster.DesiredVersion())
	return v.Cluster.IsDowngrading() && slices.ContainsFunc(v.Voters, func(m facts.Member) bool {
		p := v.PodOf[m.Name]
		return p != nil && etcdversion.Parse(p.Runs()).CompareMinor(desired) > 0
	})
}

// canReachEarlierMinor reports whether some member that runs, or something that is under way, may
// get an image of an earlier minor at any moment: it would not start if etcd raised its
// cluster version before. One that does not run holds that back by itself.
func canReachEarlierMinor(v *facts.View) bool {
	if v.Now.Sub(v.Since) < facts.Landing {
		return true
	}
	return slices.ContainsFunc(v.Pods, func(p facts.Pod) bool {
		lower := p.From != "" && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(p.From)) < 0
		return lower && (p.Answer.Reached || p.Trouble == "")
	})
}
