package rollout

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file say which version members move to (S10). It is latched in the
// status before the first of them is changed, and recorded as the one that runs when
// all run it.

// RedirectUpgrade records another target version while members move to one: because the user
// has set another, or because etcd has raised its cluster version beyond the recorded one. It
// needs no quorum: nothing is done to a member.
func RedirectUpgrade(v *facts.View) *step.Step {
	c := &v.Cluster
	if isPartlyDowngraded(v) && v.HasQuorum() && isAwaitingMember(v) {
		return step.Do(action.RecordVersion{Current: c.Version, Target: c.Version, Index: redirectIndex(v), Size: c.UpgradeSize}, v1beta2.ClusterReasonUpgradeRedirected,
			fmt.Sprintf("downgrade paused so that a member can join: members return to etcd %s; it resumes afterwards", c.Version))
	}
	if observed := observedUpgrade(v); observed != "" {
		return step.Do(action.RecordVersion{Current: observed, Index: v.Applied}, v1beta2.ClusterReasonUpgradeFinished, fmt.Sprintf("all members run etcd %s or later, and etcd has raised its cluster version to it", observed))
	}
	if c.Target == "" || !etcdversion.Supported(c.Version) {
		return nil
	}
	next, refusal := v.Cluster.RedirectedVersion()
	if refusal != "" || next == c.Target || !v.CanRedirect(next) {
		return nil // see RefuseVersion
	}
	return step.Do(action.RecordVersion{Current: c.Version, Target: next, Index: redirectIndex(v), Size: c.UpgradeSize}, v1beta2.ClusterReasonUpgradeRedirected, fmt.Sprintf("members move to etcd %s instead of %s", next, c.Target))
}

// redirectIndex is VersionIndex for members that move to another version than planned: the
// current index if some of them might have run an earlier minor meanwhile. FinishVersion
// advances it further.
func redirectIndex(v *facts.View) uint64 {
	if v.Cluster.IsDowngrading() {
		return max(v.Applied, v.Cluster.VersionIndex, 1)
	}
	return v.Cluster.VersionIndex
}

// observedUpgrade is the oldest version that members run, if etcd's cluster version is that, and
// beyond both the one that is recorded and the one that they are to move to; empty
// otherwise. There is no way back from there by image.
func observedUpgrade(v *facts.View) string {
	told := v.ClusterVersion()
	if !v.Sure || told.CompareMinor(etcdversion.Parse(v.Cluster.DesiredVersion())) <= 0 || told.CompareMinor(etcdversion.Parse(v.Cluster.Version)) <= 0 {
		return ""
	}
	var oldest string
	for _, m := range v.Voters {
		p, a := v.PodOf[m.Name], v.Answer(m)
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

// BeginVersion latches the version to move to, if another one is wanted.
func BeginVersion(v *facts.View) *step.Step {
	c := &v.Cluster
	next, refusal := etcdversion.Next(c.Version, c.WantedVersion)
	if c.Target != "" || refusal != "" || next == c.Version {
		return nil
	}
	if why := v.DisruptionBlocker(nil); why != "" {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonUpgradePending, fmt.Sprintf("waiting to upgrade from etcd %s to %s: %s", c.Version, next, why)).Explains(v1beta2.ConditionUpgrading)
	}
	if len(v.Alarms) > 0 {
		return step.Wait(step.Shortly, v1beta2.ClusterReasonUpgradePending, fmt.Sprintf("waiting to upgrade from etcd %s to %s: %s", c.Version, next, v.AlarmText())).Explains(v1beta2.ConditionUpgrading)
	}
	if etcdversion.Parse(next).CompareMinor(etcdversion.Parse(c.Version)) != 0 && v.ClusterVersion().CompareMinor(etcdversion.Parse(c.Version)) != 0 {
		return step.Wait(step.Shortly, v1beta2.ClusterReasonUpgradePending, "waiting for etcd to raise its cluster version to that of "+c.Version).Explains(v1beta2.ConditionUpgrading)
	}
	if index := oldLog(v, next); index > 0 {
		return advancePastOldLog(v, next, index)
	}
	index := c.VersionIndex
	if to := etcdversion.Parse(next); to.Minor == 7 || (to.CompareMinor(etcdversion.Parse(c.Version)) == 0 && oldEntries(v) == 0) {
		index = 0 // what there was of etcd 3.5 is left behind
	}
	return step.Do(action.RecordVersion{Current: c.Version, Target: next, Index: index, Size: c.Size}, v1beta2.ClusterReasonUpgradeStarted, fmt.Sprintf("members move from etcd %s to %s, one at a time", c.Version, next))
}

// FinishVersion records the version that all members have come to, once etcd itself
// has: it raises its cluster version within seconds.
func FinishVersion(v *facts.View) *step.Step {
	c := &v.Cluster
	if c.Target == "" || v.NextToRestart() != nil {
		return nil
	}
	if why := v.DisruptionBlocker(nil); why != "" {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonUpgrading, fmt.Sprintf("waiting to complete the move to etcd %s: %s", c.Target, why))
	}
	if told := v.ClusterVersion(); told.CompareMinor(etcdversion.Parse(c.Target)) != 0 {
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("all members run etcd %s; waiting for etcd to change its cluster version, which is %s", c.Target, told))
	}
	if to := v.Downgrade(); to != (etcdversion.Version{}) {
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("all members run etcd %s; waiting for etcd to end its downgrade to %s", c.Target, to))
	}
	index := c.VersionIndex
	switch by := etcdversion.Parse(c.Target).CompareMinor(etcdversion.Parse(c.Version)); {
	case by > 0, by == 0 && index > 0: // members of an earlier minor may have run until now
		index = v.Applied
	case by < 0:
		index = 0 // what a later minor has run on holds nothing that could stop it another time
	}
	return step.Do(action.RecordVersion{Current: c.Target, Index: index}, v1beta2.ClusterReasonUpgradeFinished, "all members run etcd "+c.Target)
}

// RefuseVersion says why members do not move to the version in the spec.
func RefuseVersion(v *facts.View) *step.Step {
	if why := v.Refusal(); why != "" {
		return step.Wait(step.Idle, v1beta2.ClusterReasonVersionRefused, why).As(action.AwaitsUser)
	}
	return nil
}
