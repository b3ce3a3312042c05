package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// QuorumLost describes the loss of a majority's data; empty if it is not lost as far as the members or the status
// show. A membership change at the last moment might be unknown. While no member answers and the status cannot be
// written, the voters in the status are outdated: nothing is concluded from them.
func (v *Losses) QuorumLost() string {
	if v.Sure || (len(v.List) == 0 && v.IsStatusRejected()) {
		return ""
	}
	voters := v.KnownVoters()
	if len(voters) == 0 && v.canAnyHoldData() {
		return ""
	}
	var lost []string
	for _, m := range voters {
		if v.dataGone(m) {
			lost = append(lost, m.Name)
		}
	}
	switch {
	case len(voters) == 0:
		return "no member is left, and no data"
	case len(voters)-len(lost) >= quorum.Majority(len(voters)):
		return ""
	}
	return fmt.Sprintf("the data of %d of %d voters is lost: %s", len(lost), len(voters), strings.Join(lost, ", "))
}

// TerminatingVolumesAdvice says how a user gives up the data of voters whose PVC is being deleted and whose Pod does
// not run; empty if there is none. Kubernetes deletes such a volume as soon as its Pod is gone, so without a quorum
// the operator never deletes the Pod.
func (v *Losses) TerminatingVolumesAdvice() string {
	var said string
	for _, m := range v.KnownVoters() {
		if p := v.PodOf[m.Name]; p != nil && p.DeletingSince.IsZero() && v.losesVolume(p) && v.Stuck(p) != "" {
			said += fmt.Sprintf("; only to give up the data of %s, whose PVC is being deleted: kubectl -n %s delete pod %s", p.Name, v.Cluster.Namespace, p.Name)
		}
	}
	return said
}

// canAnyHoldData reports whether any Pod or volume may hold a member's data.
func (v *Losses) canAnyHoldData() bool {
	return slices.ContainsFunc(v.Pods, func(p Pod) bool { return !v.IsCandidate(&p) && !p.IsEmpty() }) ||
		slices.ContainsFunc(v.Claims, func(c Claim) bool { return v.PodOf[c.Name] == nil }) ||
		slices.ContainsFunc(v.Doubtful, func(c Doubtful) bool { return v.PodOf[c.Name] == nil })
}

// WhoIsMissing says of each member that is not healthy why it is not.
func (v *Losses) WhoIsMissing() string {
	var said []string
	for _, m := range v.List {
		if v.Healthy[m.ID] {
			continue
		}
		said = append(said, v.NameOrID(m.ID)+": "+v.WhyUnhealthy(m))
	}
	if len(v.List) == 0 {
		for i := range v.Pods {
			p := &v.Pods[i]
			said = append(said, p.Name+": "+v.Progress(p))
		}
		for _, d := range v.Doubtful {
			if v.PodOf[d.Name] == nil {
				said = append(said, d.Name+": "+d.Advice)
			}
		}
	}
	switch {
	case len(said) > 0:
		return strings.Join(said, "; ")
	case len(v.List) > 0:
		return notSettled
	}
	return "no member answers"
}

// WhyUnhealthy says in words what is wrong with a member.
func (v *Losses) WhyUnhealthy(m Member) string {
	if why := v.Loss(m); why != "" {
		return why
	}
	p := v.PodOf[m.Name]
	if d := v.DoubtOf[m.Name]; d != nil && (p == nil || p.Finished || p.Node == "") {
		return d.Advice
	}
	if p == nil {
		if m.IsUnmanaged() {
			return "the operator manages no Pod for it, so its health is unknown"
		}
		if r := v.returnHeldBack(m); r != nil {
			return "its Pod is missing and cannot be created: " + r.Words
		}
		return "its Pod is missing"
	}
	a := v.Answer(m)
	switch {
	case v.IsCrashing(p):
		return v.doubt(m, p)
	case v.seemsWiped(m, p):
		return v.WhyEmptinessUncertain(p)
	case a == nil && p.Answer.Reached:
		return fmt.Sprintf("etcd of another cluster (%016x) answers in its place", p.Answer.ClusterID)
	case a == nil:
		return v.Progress(p)
	case a.Refused != "":
		return "etcd's authentication refuses the operator"
	case v.Cluster.Differs(m.ID):
		return "its data differs from that of the majority"
	case v.IsCorrupt(m.ID):
		return "alarm CORRUPT names it: its data differs from that of the others"
	case a.Leader == 0:
		return "it has no leader"
	case len(a.Errors) > 0:
		return fmt.Sprintf("etcd reports %q", strings.Join(a.Errors, ", "))
	}
	return "it is catching up"
}

// Loss says why a member is lost for good, or nothing if it is not, as far as can
// be known (S9).
func (v *Losses) Loss(m Member) string {
	p := v.PodOf[m.Name]
	switch {
	case m.IsUnmanaged():
		return "" // what runs there is not known
	case p == nil && v.hasNoClaim(m.Name):
		return "its Pod and its data are gone"
	case p == nil && m.Learner && !m.Started && v.DoubtOf[m.Name] == nil:
		return "it never started and its Pod is gone"
	case p == nil:
		return ""
	case v.HasEnded(p):
		return "its Pod has ended, and the data with it"
	case v.IsWiped(m, p):
		return "its disk is empty although it had data"
	case v.Cluster.Differs(m.ID) && v.CorruptIsKnown():
		return "its data differs from that of the majority"
	case v.IsCorrupt(m.ID) && v.CorruptIsKnown():
		return "alarm CORRUPT names it: its data differs from that of the others"
	case v.IsDamaged(m, p):
		return fmt.Sprintf("etcd crash-loops because its data is damaged: %s (%d exits, the last with code %d, since it last served)", cmp.Or(p.LastExit.Damage, "it differs from that of the other members"), p.Restarts-p.ProvenRestarts, p.LastExit.Code)
	case v.Answer(m) != nil || p.Answer.Refused != "":
		return ""
	case v.NodeLost(p):
		return "its node has been unavailable for " + v.Cluster.MemberTimeout.String()
	case v.volumeLost(p):
		return "its PersistentVolume no longer exists"
	case v.losesVolume(p) && v.Stuck(p) != "" && v.IsExpired(p.UnreadySince):
		return fmt.Sprintf("it does not run (%s), and its PVC is being deleted", v.Stuck(p))
	case p.Node == "" && p.Unschedulable != "" && v.IsExpired(p.ExistsSince()):
		return "its Pod is unschedulable: " + p.Unschedulable
	case !m.Started && v.IsIncompatible(p):
		return fmt.Sprintf("it has etcd %s, which cannot join this cluster", p.Version)
	case !m.Started && v.FewerLearners(p):
		return fmt.Sprintf("it allows only %d learners, fewer than the others", p.Learners)
	case m.Learner && v.HasOldTemplate(p) && v.Stuck(p) != "" && (!m.Started || !v.OnVolume(p)):
		return fmt.Sprintf("it does not run (%s), and the spec asks for another Pod", v.Stuck(p))
	case m.Learner && p.Trouble != "" && v.IsExpired(p.ExistsSince()):
		// Such as one that lost its disk after it had joined: the leader takes it to
		// have more than it has, and it crashes for ever. It has no vote to lose.
		return "it is a learner that never became ready: " + p.Trouble
	}
	return ""
}

// IsWiped reports whether the launcher of a member that has had data finds none. A
// launcher that has a start permit left, or whose Pod has never been seen with data, may
// have started since it was asked.
func (v *Objects) IsWiped(m Member, p *Pod) bool {
	return p.IsEmpty() && v.seemsWiped(m, p)
}

// IsTerminatingOrLost reports whether a member is lost, or will be as soon as its Pod has ended:
// time to get a replacement ready.
func (v *Losses) IsTerminatingOrLost(m Member) bool {
	if v.Loss(m) != "" {
		return true
	}
	p := v.PodOf[m.Name]
	return p != nil && !p.Persistent && !p.DeletingSince.IsZero()
}
