package facts

import (
	"fmt"
	"slices"
	"time"
)

// Missing is how many members are to be added, to reach size and to replace those
// that are lost or terminating, or are to be moved.
func (v *View) Missing() int {
	staying := 0
	for _, m := range v.List {
		if !v.IsTerminatingOrLost(m) {
			staying++
		}
	}
	return v.Cluster.Size + v.Surplus() - staying
}

// ToMove is the voter to be replaced next, and why: one without a volume whose Pod is
// not as the spec says, one whose node is to be emptied, or one whose volume goes with its
// Pod. Followers come first, the leader last; it is nil if there is none, and while a member
// is unmanaged.
func (v *Versions) ToMove() (next *Member, why string) {
	if slices.ContainsFunc(v.List, Member.IsUnmanaged) {
		return nil, "" // see AwaitUnmanaged
	}
	for i := range v.Voters {
		m := &v.Voters[i]
		if reason := v.WhyMove(m); reason != "" && (next == nil || next.ID == v.Leader) {
			next, why = m, reason
		}
	}
	return next, why
}

// WhyMove says why a member is to be replaced though nothing is wrong with it; empty if
// it is not.
func (v *Objects) WhyMove(m *Member) string {
	p := v.PodOf[m.Name]
	switch {
	case p == nil:
		return ""
	case p.Cordoned:
		return fmt.Sprintf("its node %s is cordoned", p.Node)
	case v.losesVolume(p):
		return "its PVC is being deleted"
	case v.HasOldTemplate(p) && !p.Persistent:
		return "its Pod is not up to date"
	}
	return ""
}

// Surplus is how many members more than size there are to be for now: one while a member
// is being replaced that is healthy. It begins once all members are healthy, and ends as soon as
// there is nothing left to replace; if a member is lost meanwhile, the new one replaces that.
func (v *View) Surplus() int {
	if m, _ := v.ToMove(); m == nil || len(v.Voters) < v.Cluster.Size || slices.ContainsFunc(v.Voters, v.IsTerminatingOrLost) {
		return 0
	}
	begun := v.Learners() > 0 || len(v.Voters) > v.Cluster.Size || len(v.Candidates()) > 0
	if begun || v.MoveBlocker() == "" {
		return 1
	}
	return 0
}

// MoveBlocker says why no member is added for the sake of another just now.
func (v *View) MoveBlocker() string {
	switch {
	case v.IsMovingOn():
		return "an upgrade is in progress"
	case v.IsRestarting():
		return "a member is being restarted"
	}
	return v.DisruptionBlocker(nil)
}

// IsOnlyReplacing reports whether the one member that is to be added is only for the sake of
// another that is to be replaced: there are as many as are wanted.
func (v *View) IsOnlyReplacing() bool { return v.Surplus() > 0 && v.Missing() <= v.Surplus() }

// SettleTime is for how long a member that has come back is ready before the next one
// goes: endpoints and clients have found it again.
const SettleTime = 2 * time.Second

// HasOldImage reports whether a Pod has another image than a member is to run.
func (v *Objects) HasOldImage(p *Pod) bool {
	return p.Version != v.Cluster.DesiredVersion() || p.Repository != v.Cluster.Repository
}

// NextToRestart is the voter that is to be restarted next: the one that is marked
// already, else one that is to get another image, else one whose Pod is to be recreated,
// which comes first if the image waits for an alarm; a follower first, the leader last. It
// is nil if there is none.
func (v *Versions) NextToRestart() *Member {
	getsImage := func(p *Pod) bool { return v.HasOldImage(p) && !v.IsBlockedByAlarm(p) }
	for _, needs := range []func(*Pod) bool{
		func(p *Pod) bool { return p.Role == Restarting && (getsImage(p) || v.IsToBeRecreated(p)) },
		getsImage,
		v.IsToBeRecreated,
		v.HasOldImage,
	} {
		var next *Member
		for i := range v.Voters {
			m := &v.Voters[i]
			if p := v.PodOf[m.Name]; p != nil && needs(p) && (next == nil || next.ID == v.Leader) {
				next = m
			}
		}
		if next != nil {
			return next
		}
	}
	return nil
}

// IsRestarting reports whether some member is.
func (v *Versions) IsRestarting() bool {
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && p.IsRestarting() {
			return true
		}
	}
	return false
}

// notSettled is what is waited for where all members are healthy, and not all tell the same list.
const notSettled = "the last membership change has not settled"

// DisruptionBlocker says why no member may be restarted, but for what is done to prepare the next
// one; empty if all members are healthy.
func (v *View) DisruptionBlocker(next *Member) string {
	switch {
	case !v.Settled:
		return notSettled
	case len(v.List) > len(v.Voters):
		return "the cluster has a learner"
	case len(v.Voters) < v.Cluster.Size:
		return fmt.Sprintf("there are only %d of %d voters", len(v.Voters), v.Cluster.Size)
	case len(v.Healthy) < len(v.Voters):
		return v.WhoIsMissing()
	case len(v.AlarmsOf(Corrupt)) > 0:
		return "alarm CORRUPT is raised"
	}
	for _, m := range v.Voters {
		if why := v.podDisruptionBlocker(m, next != nil && next.ID == m.ID); why != "" {
			return fmt.Sprintf("member %s: %s", m.Name, why)
		}
	}
	return ""
}

// podDisruptionBlocker is what is not well with the Pod of a member that is healthy.
func (v *Objects) podDisruptionBlocker(m Member, isNext bool) string {
	p := v.PodOf[m.Name]
	switch {
	case !p.DeletingSince.IsZero():
		return "its Pod is being deleted"
	case p.Persistent && v.DoubtOf[m.Name] != nil:
		return v.DoubtOf[m.Name].Advice
	case p.Persistent && v.ClaimOf[m.Name] == nil:
		return "its PVC is missing"
	case !p.NodeLostSince.IsZero():
		return fmt.Sprintf("its node %s is not ready", p.Node)
	case p.From != "":
		return "its container has not been restarted yet"
	case !p.UnreadySince.IsZero():
		return "its Pod is not ready"
	case p.Role != Voter && !isNext:
		return fmt.Sprintf("its Pod is labelled %s", p.Role)
	case v.Now.Sub(p.ReadySince) < SettleTime:
		return "it has only just become ready"
	}
	return ""
}

// RestartsInNewPod reports whether a member is restarted in another Pod. That gets the
// repository of the spec too, but not another version: that comes before, unless an alarm
// is in its way, which what the user has changed may end (a quota that was raised).
func (v *Versions) RestartsInNewPod(p *Pod) bool {
	return v.IsToBeRecreated(p) && (p.Version == v.Cluster.DesiredVersion() || v.IsBlockedByAlarm(p))
}

// UnfitToStart says why a member that is restarted may not come back; empty if nothing is
// known to be in its way. One whose Secret is gone runs on, and starts no more.
func (v *Objects) UnfitToStart() string {
	if t := &v.Cluster.TLS; t.Problem != "" && t.Problem != CertificatesPending {
		return t.Message
	}
	return ""
}

// Upgraded counts the voters that run what they are to run: "2 of 3".
func (v *Versions) Upgraded() string {
	n := 0
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && !v.HasOldImage(p) && p.From == "" && v.Healthy[m.ID] {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(v.Voters))
}

// IsBlockedByAlarm reports whether a Pod gets no other version as long as an alarm is raised
// (S10).
func (v *Versions) IsBlockedByAlarm(p *Pod) bool {
	return p.Version != v.Cluster.DesiredVersion() && len(v.Alarms) > 0
}

// IsMovingOn reports whether members move to another version, and no alarm stops that.
func (v *Versions) IsMovingOn() bool { return v.Cluster.Target != "" && len(v.Alarms) == 0 }

// ExpansionBlocker says why a volume does not grow now; empty if it may.
func (v *View) ExpansionBlocker(next *Claim) string {
	why := v.DisruptionBlocker(nil)
	if why == "" || !v.Settled || len(v.Healthy) < len(v.Voters)-1 {
		return why
	}
	for _, m := range v.Voters {
		if m.Name == next.Name && !v.Healthy[m.ID] && v.Loss(m) == "" {
			return ""
		}
	}
	return why
}
