package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file give members another image, in place, or another Pod on their
// volume: one at a time, followers first, and only while all members are healthy (S6, S8, S10).

// settleTime is for how long a member that has come back is ready before the next one
// goes: endpoints and clients have found it again.
const settleTime = 2 * time.Second

// hasOldImage reports whether a Pod has another image than a member is to run.
func (v *view) hasOldImage(p *Pod) bool {
	return p.Version != v.Cluster.desiredVersion() || p.Repository != v.Cluster.Repository
}

// image is the image that members are to run.
func (c *Cluster) image() string { return fmt.Sprintf("%s:v%s", c.Repository, c.desiredVersion()) }

// nextToRestart is the voter that is to be restarted next: the one that is marked
// already, else one that is to get another image, else one whose Pod is to be recreated;
// a follower first, the leader last. It is nil if there is none.
func (v *view) nextToRestart() *Member {
	for _, needs := range []func(*Pod) bool{
		func(p *Pod) bool { return p.Role == Restarting && (v.hasOldImage(p) || v.isToBeRecreated(p)) },
		v.hasOldImage,
		v.isToBeRecreated,
	} {
		var next *Member
		for i := range v.voters {
			m := &v.voters[i]
			if p := v.pods[m.Name]; p != nil && needs(p) && (next == nil || next.ID == v.leader) {
				next = m
			}
		}
		if next != nil {
			return next
		}
	}
	return nil
}

// isUpgradingAny reports whether some member is to get another image, or is being restarted
// with it.
func (v *view) isUpgradingAny() bool {
	return slices.ContainsFunc(v.voters, func(m Member) bool {
		p := v.pods[m.Name]
		return p != nil && (v.hasOldImage(p) || p.From != "" || (p.Role == Restarting && !v.hasOldTemplate(p)))
	})
}

// isRestarting reports whether a member's container is about to be restarted, or has
// not been yet.
func (p *Pod) isRestarting() bool { return p.Role == Restarting || p.From != "" }

// isRestarting reports whether some member is.
func (v *view) isRestarting() bool {
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && p.isRestarting() {
			return true
		}
	}
	return false
}

// notSettled is what is waited for where all members are healthy, and not all tell the same list.
const notSettled = "the last membership change has not settled"

// disruptionBlocker says why no member may be restarted, but for what is done to prepare the next
// one; empty if all members are healthy.
func (v *view) disruptionBlocker(next *Member) string {
	switch {
	case !v.settled:
		return notSettled
	case len(v.list) > len(v.voters):
		return "the cluster has a learner"
	case len(v.voters) < v.Cluster.Size:
		return fmt.Sprintf("there are only %d of %d voters", len(v.voters), v.Cluster.Size)
	case len(v.healthy) < len(v.voters):
		return v.whoIsMissing()
	case len(v.alarmsOf(Corrupt)) > 0:
		return "alarm CORRUPT is raised"
	}
	for _, m := range v.voters {
		if why := v.podDisruptionBlocker(m, next != nil && next.ID == m.ID); why != "" {
			return fmt.Sprintf("member %s: %s", m.Name, why)
		}
	}
	return ""
}

// podDisruptionBlocker is what is not well with the Pod of a member that is healthy.
func (v *view) podDisruptionBlocker(m Member, isNext bool) string {
	p := v.pods[m.Name]
	switch {
	case !p.DeletingSince.IsZero():
		return "its Pod is being deleted"
	case p.Persistent && v.claims[m.Name] == nil:
		return "its PVC is missing"
	case !p.NodeLostSince.IsZero():
		return fmt.Sprintf("its node %s is not ready", p.Node)
	case p.From != "":
		return "its container has not been restarted yet"
	case !p.UnreadySince.IsZero():
		return "its Pod is not ready"
	case p.Role != Voter && !isNext:
		return fmt.Sprintf("its Pod is labelled %s", p.Role)
	case v.Now.Sub(p.ReadySince) < settleTime:
		return "it has only just become ready"
	}
	return ""
}

// blockerPollInterval is how soon to look again at what is not well: soon while a member that
// was restarted comes back or settles.
func (v *view) blockerPollInterval() time.Duration {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil {
			continue
		}
		comesBack := !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) < newPodAge
		if settles := v.Now.Sub(p.ReadySince) < settleTime; comesBack || settles {
			return fastPoll
		}
	}
	return shortly
}

// restartMethod is how a member is restarted.
type restartMethod struct {
	action Action
	// reason is that of all of its steps. The others say what is done, such as "restart
	// member a", "started the restart of member a" and "its restart".
	reason, do, done, noun string
}

// restartsInNewPod reports whether a member is restarted in another Pod. That gets the
// repository of the spec too, but not another version: that comes before.
func (v *view) restartsInNewPod(p *Pod) bool {
	return v.isToBeRecreated(p) && p.Version == v.Cluster.desiredVersion()
}

// restartOf is how a member is restarted next.
func (v *view) restartOf(p *Pod) restartMethod {
	if v.restartsInNewPod(p) {
		pod := "Pod " + p.Name
		return restartMethod{RecreatePod{p.Name, p.UID}, v1beta2.ClusterReasonUpdatingMembers, "recreate " + pod, "deleted " + pod + " to recreate it", "its Pod is recreated"}
	}
	with := fmt.Sprintf("member %s with %s", p.Name, v.Cluster.image())
	return restartMethod{ChangeImage{p.Name, p.UID, v.Cluster.Repository, v.Cluster.desiredVersion()}, v1beta2.ClusterReasonUpgradingMember, "restart " + with, "started the restart of " + with, "its restart with " + v.Cluster.image()}
}

// restartMember takes the next member from its clients, from its leadership, and then
// gives it another image, or deletes its Pod for another one.
func restartMember(v *view) *step {
	m := v.nextToRestart()
	if m == nil {
		return nil
	}
	p := v.pods[m.Name]
	how := v.restartOf(p)
	reason := how.reason
	if why := v.unfitToStart(); why != "" {
		return wait(idle, reason, fmt.Sprintf("waiting to %s: certificates are not valid: %s", how.do, why))
	}
	if why := v.disruptionBlocker(m); why != "" {
		return wait(v.blockerPollInterval(), reason, fmt.Sprintf("waiting to %s: %s", how.do, why))
	}
	if v.isBlockedByAlarm(p) {
		return wait(shortly, reason, fmt.Sprintf("waiting to %s: %s", how.do, v.alarmText()))
	}
	if told := v.clusterVersion(); !isCompatible(told, v.Cluster.desiredVersion()) {
		return wait(shortly, reason, fmt.Sprintf("waiting to %s: etcd's cluster version is %s", how.do, told))
	}
	if why := v.imageDowngradeBlocker(p); why != "" {
		return wait(shortly, reason, fmt.Sprintf("waiting to %s: %s", how.do, why))
	}
	if s := cmp.Or(v.drain(m, Restarting, reason, how.noun), v.awaitUnrouted(m, reason, how.noun)); s != nil {
		return s
	}
	message := how.done
	if v.restartsInNewPod(p) {
		message = v.updateProgress(message)
	}
	return do(how.action, reason, message)
}

// repairImage gives a Pod that can't run its image another one, when another one is to
// run: an image that can't be pulled, or that does not start, and that the user has
// taken back. It needs no quorum, since nothing runs there. A member that was never
// changed keeps its version until its turn.
func repairImage(v *view) *step {
	for i := range v.Pods {
		p := &v.Pods[i]
		desired := v.Cluster.desiredVersion()
		if p.Role == Joiner {
			desired = v.newPodVersion(p.Name)
		}
		broken := p.Trouble != "" && !p.Answer.Reached && !p.Answer.Waiting && !p.Finished && p.DeletingSince.IsZero() && !v.isOld(p.Name)
		if unchanged := p.From == "" && p.Version == v.Cluster.Version; broken && unchanged && !v.isIncompatible(p) {
			desired, broken = p.Version, p.ImageUnavailable // its turn has not come: all that it may lack is the repository
		}
		if p.Role != Joiner && v.Cluster.isDowngrading() && etcdversion.Parse(p.Version).CompareMinor(etcdversion.Parse(desired)) > 0 {
			desired = v.Cluster.Version // nobody can tell whether its data is fit for an earlier minor yet
		}
		if !broken || (p.Version == desired && p.Repository == v.Cluster.Repository) {
			continue
		}
		return do(ChangeImage{p.Name, p.UID, v.Cluster.Repository, desired}, v1beta2.ClusterReasonRepairingImage,
			fmt.Sprintf("changed the image of Pod %s, which does not run (%s), to etcd %s of %s", p.Name, p.Trouble, desired, v.Cluster.Repository))
	}
	return nil
}

// returnToService lets clients find a member again that runs what it is to run.
func returnToService(v *view) *step {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || p.Role != Restarting || p.From != "" || !v.healthy[m.ID] || v.hasOldImage(p) || v.isToBeRecreated(p) || v.Cluster.wasUpdating() {
			continue
		}
		return do(SetRoles{[]PodRole{{p.Name, p.UID, Voter}}}, v1beta2.ClusterReasonMemberUpgraded, fmt.Sprintf("member %s runs %s (%s members)", m.Name, v.Cluster.image(), v.upgraded())).announced()
	}
	return nil
}

// upgraded counts the voters that run what they are to run: "2 of 3".
func (v *view) upgraded() string {
	n := 0
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && !v.hasOldImage(p) && p.From == "" && v.healthy[m.ID] {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(v.voters))
}

// shouldServeAgain reports whether a member that was marked for a restart, and that is not
// changed yet, is to serve clients again, because something else comes first.
func (v *view) shouldServeAgain(m Member) bool {
	next := v.nextToRestart()
	if next == nil || next.ID != m.ID || len(v.voters) < v.Cluster.Size || len(v.list) > len(v.voters) || v.isBlockedByAlarm(v.pods[m.Name]) {
		return true
	}
	for _, o := range v.voters {
		p := v.pods[o.Name]
		if p == nil || !p.DeletingSince.IsZero() || !p.UnreadySince.IsZero() || !p.NodeLostSince.IsZero() {
			return true
		}
	}
	return false
}

// awaitRestart waits for the member that is being restarted.
func awaitRestart(v *view) *step {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || !p.isRestarting() || (v.healthy[m.ID] && p.From == "") || (v.hasOldTemplate(p) && !p.DeletingSince.IsZero()) {
			continue
		}
		why := "its container has not been restarted yet"
		if !v.healthy[m.ID] {
			why = v.whyUnhealthy(m)
		}
		return wait(v.restartPollInterval(p), v1beta2.ClusterReasonUpgradingMember, fmt.Sprintf("waiting for member %s to restart with %s:v%s: %s", m.Name, p.Repository, p.Version, why))
	}
	return nil
}

// isBlockedByAlarm reports whether a Pod gets no other version as long as an alarm is raised
// (S10).
func (v *view) isBlockedByAlarm(p *Pod) bool {
	return p.Version != v.Cluster.desiredVersion() && len(v.alarms) > 0
}

// restartPollInterval is how soon to look again at a Pod whose container is restarted.
func (v *view) restartPollInterval(p *Pod) time.Duration {
	switch down := v.Now.Sub(p.UnreadySince); {
	case p.UnreadySince.IsZero():
		return fastPoll
	case down > oldPodAge:
		return slowly
	case p.Trouble != "" || down > newPodAge:
		return shortly
	}
	return fastPoll
}
