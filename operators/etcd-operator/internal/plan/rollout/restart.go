package rollout

import (
	"cmp"
	"fmt"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file give members another image, in place, or another Pod on their
// volume: one at a time, followers first, and only while all members are healthy (S6, S8, S10).

// restartMethod is how a member is restarted.
type restartMethod struct {
	action action.Action
	// reason is that of all of its steps. The others say what is done, such as "restart
	// member a", "started the restart of member a" and "its restart".
	reason, do, done, noun string
}

// restartOf is how a member is restarted next.
func restartOf(v *facts.View, p *facts.Pod) restartMethod {
	if v.RestartsInNewPod(p) {
		pod := "Pod " + p.Name
		return restartMethod{action.RecreatePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonUpdatingMembers, "recreate " + pod, "deleted " + pod + " to recreate it", "its Pod is recreated"}
	}
	with := fmt.Sprintf("member %s with %s", p.Name, v.Cluster.Image())
	return restartMethod{action.ChangeImage{Name: p.Name, UID: p.UID, Repository: v.Cluster.Repository, Version: v.Cluster.DesiredVersion()}, v1beta2.ClusterReasonUpgradingMember, "restart " + with, "started the restart of " + with, "its restart with " + v.Cluster.Image()}
}

// imageBlocker says why a member may not get the image of another version now; empty if it may.
func imageBlocker(v *facts.View, p *facts.Pod) string {
	if v.IsBlockedByAlarm(p) {
		return v.AlarmText()
	}
	if told := v.ClusterVersion(); !facts.IsCompatible(told, v.Cluster.DesiredVersion()) {
		return fmt.Sprintf("etcd's cluster version is %s", told)
	}
	return v.ImageDowngradeBlocker(p)
}

// RestartMember takes the next member from its clients, from its leadership, and then
// gives it another image, or deletes its Pod for another one.
func RestartMember(v *facts.View) *step.Step {
	m := v.NextToRestart()
	if m == nil || v.RestartHeldBack(v.PodOf[m.Name]) {
		return nil
	}
	p := v.PodOf[m.Name]
	how := restartOf(v, p)
	reason := how.reason
	if why := v.UnfitToStart(); why != "" {
		return step.Wait(step.Idle, reason, fmt.Sprintf("waiting to %s: certificates are not valid: %s", how.do, why))
	}
	if why := v.DisruptionBlocker(m); why != "" {
		return step.Wait(step.BlockerPollInterval(v), reason, fmt.Sprintf("waiting to %s: %s", how.do, why))
	}
	if why := imageBlocker(v, p); why != "" && !v.RestartsInNewPod(p) {
		return step.Wait(step.Shortly, reason, fmt.Sprintf("waiting to %s: %s", how.do, why))
	}
	if s := cmp.Or(step.Drain(v, m, facts.Restarting, reason, how.noun), step.AwaitUnrouted(v, m, reason, how.noun)); s != nil {
		return s
	}
	message := how.done
	if v.RestartsInNewPod(p) {
		message = v.UpdateProgress(message)
	}
	return step.Do(how.action, reason, message)
}

// RepairImage gives a Pod that can't run its image another one, when another one is to
// run: an image that can't be pulled, or that does not start, and that the user has
// taken back. It needs no quorum, since nothing runs there. A member that was never
// changed keeps its version until its turn.
func RepairImage(v *facts.View) *step.Step {
	for i := range v.Pods {
		p := &v.Pods[i]
		desired := v.Cluster.DesiredVersion()
		if p.Role == facts.Joiner {
			desired = v.NewPodVersion(p.Name)
		}
		broken := p.Trouble != "" && !p.Answer.Reached && !p.Answer.Waiting && !p.Finished && p.DeletingSince.IsZero() && !v.IsOld(p.Name)
		if unchanged := p.From == "" && p.Version == v.Cluster.Version; broken && unchanged && !v.IsIncompatible(p) {
			desired, broken = p.Version, p.ImageUnavailable // its turn has not come: all that it may lack is the repository
		}
		if p.Role != facts.Joiner && v.Cluster.IsDowngrading() && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(desired)) > 0 {
			desired = v.Cluster.Version // nobody can tell whether its data is fit for an earlier minor yet
		}
		if !broken || (p.Version == desired && p.Repository == v.Cluster.Repository) {
			continue
		}
		s := step.Do(action.ChangeImage{Name: p.Name, UID: p.UID, Repository: v.Cluster.Repository, Version: desired}, v1beta2.ClusterReasonRepairingImage,
			fmt.Sprintf("changed the image of Pod %s, which does not run (%s), to etcd %s of %s", p.Name, p.Trouble, desired, v.Cluster.Repository))
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// ReturnToService lets clients find a member again that runs what it is to run.
func ReturnToService(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || p.Role != facts.Restarting || p.From != "" || !v.Healthy[m.ID] || v.HasOldImage(p) || v.IsToBeRecreated(p) || v.Cluster.WasUpdating() {
			continue
		}
		s := step.Do(action.SetRoles{Roles: []action.PodRole{{Name: p.Name, UID: p.UID, Role: facts.Voter}}}, v1beta2.ClusterReasonMemberUpgraded,
			fmt.Sprintf("member %s runs %s (%s members)", m.Name, v.Cluster.Image(), v.Upgraded())).Announced()
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// AwaitRestart waits for the member that is being restarted.
func AwaitRestart(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || !p.IsRestarting() || (v.Healthy[m.ID] && p.From == "") || (v.HasOldTemplate(p) && !p.DeletingSince.IsZero()) {
			continue
		}
		why := "its container has not been restarted yet"
		if !v.Healthy[m.ID] {
			why = v.WhyUnhealthy(m)
		}
		return step.Wait(step.RestartPollInterval(v, p), v1beta2.ClusterReasonUpgradingMember, fmt.Sprintf("waiting for member %s to restart with %s:v%s: %s", m.Name, p.Repository, p.Version, why))
	}
	return nil
}
