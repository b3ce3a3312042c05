package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file say which version members move to (S10). It is latched in the
// status before the first of them is changed, and recorded as the one that runs when
// all run it.

// desiredVersion is the version that members are to run now.
func (c *Cluster) desiredVersion() string { return cmp.Or(c.Target, c.Version) }

// clusterVersion is etcd's cluster version: the highest that a member tells. It goes down
// by etcd's downgrade API alone, and a member of an earlier minor does not start.
func (v *view) clusterVersion() etcdversion.Version {
	var highest etcdversion.Version
	for _, m := range v.list {
		if a := v.answer(m); a != nil {
			if told := etcdversion.Parse(a.ClusterVersion); told.Compare(highest) > 0 {
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
// tell, a Pod goes on with what it ran; on the way up with Target, since all may run
// that already, and any can.
func (v *view) newPodVersion(name string) string {
	c := &v.Cluster
	if c.ClusterID == 0 {
		return c.Version // who serves may be a seed that was given up
	}
	if oldest := v.oldestServing(); oldest != "" {
		if etcdversion.Parse(oldest).CompareMinor(etcdversion.Parse(c.Version)) < 0 && v.isMixed() {
			return c.Version // see isPartlyDowngraded
		}
		return oldest
	}
	if c.Target != "" && etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)) > 0 {
		return c.Target
	}
	last := c.Version
	for _, d := range c.LastStatus.MemberDetails {
		ran := etcdversion.Parse(d.Version)
		switch {
		case d.Name != name || d.Version == "":
		case c.Target == c.Version && ran.CompareMinor(etcdversion.Parse(c.Version)) < 0:
			// On the way back up all may run Version already, and it starts on any data.
		case c.Target != "" && ran.Compare(etcdversion.Parse(c.Target)) == 0:
			last = c.Target // what etcd tells lacks what a tag may have behind the patch
		case ran.Compare(etcdversion.Parse(c.Version)) != 0:
			last = d.Version
		}
	}
	return last
}

// oldestServing is the oldest version that a member who answers runs, if a quorum does.
func (v *view) oldestServing() string {
	var oldest string
	if !v.sure {
		return ""
	}
	for _, m := range v.list {
		if p := v.pods[m.Name]; v.answer(m) != nil && (oldest == "" || !etcdversion.Parse(p.runs()).AtLeast(etcdversion.Parse(oldest))) {
			oldest = p.runs()
		}
	}
	return oldest
}

// isIncompatible reports whether a Pod's etcd does not start in this cluster, as far as that is
// known. One that has never started is not to begin with what all who serve have left
// behind: the cluster version rises to theirs at any moment.
func (v *view) isIncompatible(p *Pod) bool {
	if oldest := v.oldestServing(); p.Role == Joiner && oldest != "" && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(oldest)) < 0 {
		return true
	}
	told := v.clusterVersion()
	return told != etcdversion.Version{} && !isCompatible(told, p.Version)
}

// isCompatible reports whether an etcd starts in a cluster of a cluster version: it is of that
// minor, or of the next.
func isCompatible(cluster etcdversion.Version, s string) bool {
	has := etcdversion.Parse(s)
	return has.CompareMinor(cluster) >= 0 && has.CompareMinor(etcdversion.Version{Major: cluster.Major, Minor: cluster.Minor + 1}) <= 0
}

// redirectUpgrade records another target version while members move to one: because the user
// has set another, or because etcd has raised its cluster version beyond the recorded one. It
// needs no quorum: nothing is done to a member.
func redirectUpgrade(v *view) *step {
	c := &v.Cluster
	if v.isPartlyDowngraded() && v.hasQuorum() && v.isAwaitingMember() {
		return do(RecordVersion{c.Version, c.Version, v.redirectIndex(), c.UpgradeSize}, v1beta2.ClusterReasonUpgradeRedirected,
			fmt.Sprintf("downgrade paused so that a member can join: members return to etcd %s; it resumes afterwards", c.Version))
	}
	if observed := v.observedUpgrade(); observed != "" {
		return do(RecordVersion{Current: observed, Index: v.applied}, v1beta2.ClusterReasonUpgradeFinished, fmt.Sprintf("all members run etcd %s or later, and etcd has raised its cluster version to it", observed))
	}
	if c.Target == "" || !supported(c.Version) {
		return nil
	}
	next, refusal := v.Cluster.redirectedVersion()
	if refusal != "" || next == c.Target || !v.canRedirect(next) {
		return nil // see refuseVersion
	}
	return do(RecordVersion{c.Version, next, v.redirectIndex(), c.UpgradeSize}, v1beta2.ClusterReasonUpgradeRedirected, fmt.Sprintf("members move to etcd %s instead of %s", next, c.Target))
}

// redirectIndex is VersionIndex for members that move to another version than planned: the
// current index if some of them might have run an earlier minor meanwhile. finishVersion
// advances it further.
func (v *view) redirectIndex() uint64 {
	if v.Cluster.isDowngrading() {
		return max(v.applied, v.Cluster.VersionIndex, 1)
	}
	return v.Cluster.VersionIndex
}

// redirectedVersion is the version that members can move to instead of Target. It is of the
// minor of Version or of Target: another minor is a new upgrade, once all members are healthy.
func (c *Cluster) redirectedVersion() (next, refusal string) {
	next, refusal = nextVersion(c.Version, c.WantedVersion)
	if to := etcdversion.Parse(next); to.CompareMinor(etcdversion.Parse(c.Target)) != 0 && to.CompareMinor(etcdversion.Parse(c.Version)) != 0 {
		next = c.Version
	}
	return next, refusal
}

// observedUpgrade is the oldest version that members run, if etcd's cluster version is that, and
// beyond both the one that is recorded and the one that they are to move to; empty
// otherwise. There is no way back from there by image.
func (v *view) observedUpgrade() string {
	told := v.clusterVersion()
	if !v.sure || told.CompareMinor(etcdversion.Parse(v.Cluster.desiredVersion())) <= 0 || told.CompareMinor(etcdversion.Parse(v.Cluster.Version)) <= 0 {
		return ""
	}
	var oldest string
	for _, m := range v.voters {
		p, a := v.pods[m.Name], v.answer(m)
		if a == nil || p.From != "" || etcdversion.Parse(a.Version).CompareMinor(etcdversion.Parse(p.Version)) != 0 {
			return ""
		}
		if oldest == "" || !etcdversion.Parse(p.Version).AtLeast(etcdversion.Parse(oldest)) {
			oldest = p.Version
		}
	}
	if etcdversion.Parse(oldest).CompareMinor(told) != 0 {
		return ""
	}
	return oldest
}

// canRedirect reports whether members may move to another version instead of Target. Back to
// an earlier minor they may only while etcd's cluster version is surely still that: a
// voter runs it, and no image that was changed before can still reach that one.
func (v *view) canRedirect(to string) bool {
	if etcdversion.Parse(to).CompareMinor(etcdversion.Parse(v.Cluster.Target)) >= 0 {
		return true
	}
	if v.clusterVersion().CompareMinor(etcdversion.Parse(to)) > 0 {
		return false
	}
	old := func(s string) bool { return etcdversion.Parse(s).CompareMinor(etcdversion.Parse(to)) <= 0 }
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
	if why := v.disruptionBlocker(nil); why != "" {
		return wait(v.blockerPollInterval(), v1beta2.ClusterReasonUpgradePending, fmt.Sprintf("waiting to upgrade from etcd %s to %s: %s", c.Version, next, why)).explains(v1beta2.ConditionUpgrading)
	}
	if len(v.alarms) > 0 {
		return wait(shortly, v1beta2.ClusterReasonUpgradePending, fmt.Sprintf("waiting to upgrade from etcd %s to %s: %s", c.Version, next, v.alarmText())).explains(v1beta2.ConditionUpgrading)
	}
	if etcdversion.Parse(next).CompareMinor(etcdversion.Parse(c.Version)) != 0 && v.clusterVersion().CompareMinor(etcdversion.Parse(c.Version)) != 0 {
		return wait(shortly, v1beta2.ClusterReasonUpgradePending, "waiting for etcd to raise its cluster version to that of "+c.Version).explains(v1beta2.ConditionUpgrading)
	}
	if index := v.oldLog(next); index > 0 {
		return v.advancePastOldLog(next, index)
	}
	index := c.VersionIndex
	if to := etcdversion.Parse(next); to.Minor == 7 || (to.CompareMinor(etcdversion.Parse(c.Version)) == 0 && v.oldEntries() == 0) {
		index = 0 // what there was of etcd 3.5 is left behind
	}
	return do(RecordVersion{c.Version, next, index, c.Size}, v1beta2.ClusterReasonUpgradeStarted, fmt.Sprintf("members move from etcd %s to %s, one at a time", c.Version, next))
}

// startsUpgrade reports whether a step latches the version to move to.
func (v *view) startsUpgrade(s *step) bool {
	record, ok := s.action.(RecordVersion)
	return ok && v.Cluster.Target == "" && record.Target != ""
}

// finishVersion records the version that all members have come to, once etcd itself
// has: it raises its cluster version within seconds.
func finishVersion(v *view) *step {
	c := &v.Cluster
	if c.Target == "" {
		return nil
	}
	if why := v.disruptionBlocker(nil); why != "" {
		return wait(v.blockerPollInterval(), v1beta2.ClusterReasonUpgrading, fmt.Sprintf("waiting to complete the move to etcd %s: %s", c.Target, why))
	}
	if told := v.clusterVersion(); told.CompareMinor(etcdversion.Parse(c.Target)) != 0 {
		return wait(fastPoll, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("all members run etcd %s; waiting for etcd to change its cluster version, which is %s", c.Target, told))
	}
	if to := v.downgrade(); to != (etcdversion.Version{}) {
		return wait(fastPoll, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("all members run etcd %s; waiting for etcd to end its downgrade to %s", c.Target, to))
	}
	index := c.VersionIndex
	switch by := etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)); {
	case by > 0, by == 0 && index > 0: // members of an earlier minor may have run until now
		index = v.applied
	case by < 0:
		index = 0 // what a later minor has run on holds nothing that could stop it another time
	}
	return do(RecordVersion{Current: c.Target, Index: index}, v1beta2.ClusterReasonUpgradeFinished, "all members run etcd "+c.Target)
}

// isChangingVersion reports whether members move to another version, or are about to.
func (c *Cluster) isChangingVersion() bool {
	next, refusal := nextVersion(c.Version, c.WantedVersion)
	return c.Target != "" || (refusal == "" && next != c.Version)
}

// refuseVersion says why members do not move to the version in the spec.
func refuseVersion(v *view) *step {
	if why := v.refusal(); why != "" {
		return wait(idle, v1beta2.ClusterReasonVersionRefused, why).as(AwaitsUser)
	}
	return nil
}

// refusal is why members don't move to the version that is wanted, and what to write
// instead; empty if they do, or are there.
func (v *view) refusal() string {
	c := &v.Cluster
	next, why := nextVersion(c.Version, c.WantedVersion)
	if c.Target != "" {
		next, why = v.Cluster.redirectedVersion()
	}
	if why == "" && c.Target != "" && next != c.Target && !v.canRedirect(next) {
		return fmt.Sprintf("cannot roll back to etcd %s: etcd's cluster version may already be that of %s; set spec.version to %s", next, c.Target, c.Target)
	}
	return why
}
