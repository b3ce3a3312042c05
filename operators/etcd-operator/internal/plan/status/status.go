package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// tlsStatus is what the status tells of certificates: whom to trust is kept while it is
// not known.
func tlsStatus(v *facts.View) *v1beta2.TLSStatus {
	t := &v.Cluster.TLS
	if !t.Wanted {
		return nil
	}
	st := &v1beta2.TLSStatus{Trust: cmp.Or(t.Trust, v.Cluster.RecordedTrust()), Rotation: t.Rotation, Pending: t.IsPending()}
	st.Certificate, st.CA = validityStatus(t.Leaf), validityStatus(t.CA)
	for _, v := range []*v1beta2.Validity{st.Certificate, st.CA} {
		if v != nil && (st.NotAfter == nil || v.NotAfter.Before(st.NotAfter)) {
			st.NotAfter = v.NotAfter.DeepCopy()
		}
	}
	return st
}

// validityStatus is a validity as the API server keeps it; nil if none is known.
func validityStatus(v facts.Validity) *v1beta2.Validity {
	if !v.IsKnown() {
		return nil
	}
	return &v1beta2.Validity{NotBefore: metav1.NewTime(v.NotBefore.Truncate(time.Second)), NotAfter: metav1.NewTime(v.NotAfter.Truncate(time.Second))}
}

// budgetIsRefused reports whether the PodDisruptionBudget is not what it is to be.
func budgetIsRefused(v *facts.View) bool {
	return slices.ContainsFunc(v.Noted, (*facts.Rejection).IsOfBudget)
}

// consistencyStatus carries on what the last comparison has shown, without those who are
// members no more.
func consistencyStatus(v *facts.View) *v1beta2.ConsistencyStatus {
	last := v.Cluster.LastStatus.Consistency
	if last == nil || !v.Settled || len(last.DifferingMembers) == 0 {
		return last
	}
	now := last.DeepCopy()
	now.DifferingMembers = slices.DeleteFunc(now.DifferingMembers, func(id string) bool {
		return !slices.ContainsFunc(v.List, func(m facts.Member) bool { return fmt.Sprintf("%016x", m.ID) == id })
	})
	return now
}

// maintenanceStatus carries on what is latched, and latches since when the schedule counts and
// why there is little space, so that this does not come and go (see shortage).
func maintenanceStatus(v *facts.View) *v1beta2.MaintenanceStatus {
	st, why := requestStatus(v, scheduleStatus(v)), shortage(v)
	if why == lastShortage(v) {
		return st
	}
	if st == nil {
		st = &v1beta2.MaintenanceStatus{}
	}
	st = st.DeepCopy()
	st.Shortage = why
	if *st == (v1beta2.MaintenanceStatus{}) {
		return nil
	}
	return st
}

// requestStatus passes over what the annotations ask for before the cluster begins: they were
// copied from another EtcdCluster, with its manifest.
func requestStatus(v *facts.View, st *v1beta2.MaintenanceStatus) *v1beta2.MaintenanceStatus {
	m := &v.Cluster.Maintenance
	if v.Cluster.ClusterID != 0 || (m.DefragmentRequest == m.DefragmentAnswered && m.LeaderRequest == m.LeaderAnswered) {
		return st
	}
	if st == nil {
		st = &v1beta2.MaintenanceStatus{}
	}
	st = st.DeepCopy()
	st.DefragmentRequest, st.LeaderRequest, st.LeaderRefused = m.DefragmentRequest, m.LeaderRequest, ""
	return st
}

// scheduleStatus latches since when the schedule counts: what was due before it was written is
// not made up for.
func scheduleStatus(v *facts.View) *v1beta2.MaintenanceStatus {
	c := &v.Cluster
	last := c.LastStatus.Maintenance
	text := c.Maintenance.Schedule.String()
	if (last == nil && text == "") || (last != nil && last.Schedule == text) || c.Fence.By != "" || c.Paused || c.Deleting {
		return last
	}
	st := v1beta2.MaintenanceStatus{}
	if last != nil {
		st = *last.DeepCopy()
	}
	st.Schedule, st.ScheduleSince = text, nil
	if text != "" {
		since := metav1.NewTime(v.Now.Truncate(time.Second))
		st.ScheduleSince = &since
	}
	return &st
}

// quorumLostSince is since when a majority's data has been lost in every Observation. It
// is latched in the status: an operator that starts goes on counting.
func quorumLostSince(v *facts.View, s *step.Step) *metav1.Time {
	c := &v.Cluster
	_, over := s.Action.(action.AdoptSurvivor)
	unobserved := c.Paused || c.Deleting || c.Fence.By != "" || v.Cluster.NoClientCertificate()
	if over || unobserved || c.ClusterID == 0 || v.HasQuorum() || v.QuorumLost() == "" {
		return nil
	}
	if since := c.LastStatus.QuorumLostSince; since != nil {
		return since
	}
	now := metav1.NewTime(v.Now.Truncate(time.Second))
	return &now
}

// Of is what the Observation implies, and the step that is taken on it.
// Conditions carry no times: those are set when they are written. Whatever changes
// all the time is left to metrics, so that an idle cluster writes nothing.
func Of(v *facts.View, s *step.Step) v1beta2.ClusterStatus {
	c := &v.Cluster
	st := v1beta2.ClusterStatus{
		Phase:              phase(v, s),
		ControlPaused:      c.Paused,
		ObservedGeneration: c.Generation,
		Size:               len(v.List),
		ServiceName:        c.LastStatus.ServiceName,
		ClientPort:         c.LastStatus.ClientPort,
		MinAvailable:       minAvailable(v, s),
		Selector:           c.LastStatus.Selector,
		CurrentVersion:     c.LastStatus.CurrentVersion,
		TargetVersion:      c.Target,
		VersionIndex:       c.LastStatus.VersionIndex,
		UpgradeSize:        c.UpgradeSize,
		UpdatingMember:     updatingMember(v, s),
		Bootstrap:          c.LastStatus.Bootstrap,
		ClusterID:          c.LastStatus.ClusterID,
		FencedBy:           c.LastStatus.FencedBy,
		AdoptedSeed:        c.LastStatus.AdoptedSeed,
		AwaitsQuorum:       s.Outcome == action.NoQuorum || s.Outcome == action.QuorumLost,
		QuorumLostSince:    quorumLostSince(v, s),
		Recovery:           c.LastStatus.Recovery,
		HighestRevision:    highestRevision(v, s),
		Written:            c.LastStatus.Written || seenRevision(v) > firstRevision,
		Leader:             v.Name(v.Leader),
		Alarms:             v.AlarmStatus(),
		Maintenance:        maintenanceStatus(v),
		Consistency:        consistencyStatus(v),
		TLS:                tlsStatus(v),
	}
	if st.Phase == v1beta2.PhaseFailed {
		st.Reason = cmp.Or(s.Brief, s.Message)
	}
	listMembers(v, &st)
	last := &c.LastStatus
	if record, ok := s.Action.(action.RecordVersion); ok {
		st.TargetVersion, st.UpgradeSize = record.Target, record.Size
	}
	switch {
	case c.Existed != "" && len(last.Members.Ready)+len(last.Members.Unready) == 0:
		// Who is seen now may be all that shows that there was a cluster (S1).
	case c.Paused || c.Deleting || c.Fence.By != "" || c.Existed != "":
		// Nobody was asked, or it shows that there was a cluster: the last report stands.
		st.Size, st.Leader, st.MemberDetails, st.Members, st.ReadyMembers = last.Size, last.Leader, last.MemberDetails, last.Members, last.ReadyMembers
		st.Alarms = last.Alarms
	case len(v.List) == 0 && c.ClusterID != 0:
		// Nobody could tell: who the members are is as it was.
		st.Size, st.MemberDetails, st.Alarms = last.Size, last.MemberDetails, last.Alarms
	}
	_, acknowledging := s.Action.(action.AcknowledgeFence)
	switch {
	case action.Adopts(s.Action) != "":
		st.TargetVersion, st.UpgradeSize = "", 0
		listSeed(v, &st, action.Adopts(s.Action))
	case c.Bootstrap == nil && (acknowledging || c.Fence.By != ""):
		st.TargetVersion = c.Version // who restores it has to know
	}
	st.Conditions = conditions(v, s)
	return st
}

// minAvailable is that of the budget, as it is once the step is taken.
func minAvailable(v *facts.View, s *step.Step) int {
	if v.ForeignBudget != "" {
		return 0
	}
	if budget := step.Budget(v, s.Action); !budgetIsRefused(v) && budget != facts.KeepBudget && !step.SkipsChildren(v, s) {
		return budget
	}
	return v.Cluster.LastStatus.MinAvailable
}

// listSeed makes the adopted seed the one member: those of the old cluster are none
// any more, and what is lost must never be told by them.
func listSeed(v *facts.View, st *v1beta2.ClusterStatus, name string) {
	p := v.PodOf[name]
	st.Size, st.Leader = 1, name
	st.MemberDetails = []v1beta2.MemberDetail{{
		Name: name, ID: fmt.Sprintf("%016x", p.Answer.MemberID), Role: v1beta2.MemberVoter, Version: p.Answer.Version, Node: p.Node,
	}}
	st.Members = v1beta2.MembersStatus{Ready: []string{name}}
	st.ReadyMembers = fmt.Sprintf("1/%d", v.Cluster.Size)
}

// highestRevision is a revision beyond all that clients have seen. What a cluster begins
// with again is reached as soon as it is adopted: another restore may begin before the next
// look.
func highestRevision(v *facts.View, s *step.Step) int64 {
	seen := seenRevision(v)
	if p := v.PodOf[action.Adopts(s.Action)]; p != nil {
		seen = max(seen, p.Answer.Revision)
	}
	return v1beta2.LatchRevision(v.Cluster.LastStatus.HighestRevision, seen)
}

// seenRevision is the highest that members of this cluster have reported; 0 if none has.
func seenRevision(v *facts.View) int64 {
	var seen int64
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; v.Cluster.ClusterID != 0 && v.Ours(a) {
			seen = max(seen, a.Revision)
		}
	}
	return seen
}

// firstRevision is that of an etcd that nothing was ever written to.
const firstRevision = 1

func phase(v *facts.View, s *step.Step) v1beta2.ClusterPhase {
	switch {
	case v.Cluster.Existed != "" && v.Cluster.LastStatus.Phase == v1beta2.PhaseRunning:
		return v1beta2.PhaseRunning // which shows that it existed
	case s.Outcome == action.QuorumLost || s.Outcome == action.Existed:
		return v1beta2.PhaseFailed
	case v.Cluster.ClusterID != 0:
		return v1beta2.PhaseRunning
	}
	return v1beta2.PhaseCreating
}

// listMembers fills in who the members are and which of them serve.
func listMembers(v *facts.View, st *v1beta2.ClusterStatus) {
	for _, m := range v.List {
		if isNoSign(v, v.PodOf[m.Name]) {
			continue
		}
		d := v1beta2.MemberDetail{Name: m.Name, ID: fmt.Sprintf("%016x", m.ID), Role: v1beta2.MemberVoter, Unmanaged: m.IsUnmanaged()}
		if d.Name == "" || len(d.Name) > maxMemberName || isListed(st.MemberDetails, d.Name) {
			d.Name = d.ID
		}
		if isListed(st.MemberDetails, d.Name) {
			continue // an id twice is no member list of etcd's
		}
		switch {
		case !m.Started:
			d.Role = v1beta2.MemberUnstarted
		case m.Learner:
			d.Role = v1beta2.MemberLearner
		}
		if p := v.PodOf[m.Name]; p != nil {
			d.Node, d.Version = p.Node, p.Runs()
		}
		if a := v.Answer(m); a != nil {
			d.Version = a.Version
		}
		st.MemberDetails = append(st.MemberDetails, d)
		p := v.PodOf[m.Name]
		if v.Healthy[m.ID] || (p != nil && v.Serves(p)) {
			st.Members.Ready = append(st.Members.Ready, m.Name)
		} else {
			st.Members.Unready = append(st.Members.Unready, m.Name)
		}
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		switch {
		case v.IsMember(p.Name), isNoSign(v, p):
		case v.Serves(p):
			st.Members.Ready = append(st.Members.Ready, p.Name)
		case p.DeletingSince.IsZero():
			st.Members.Unready = append(st.Members.Unready, p.Name)
		}
	}
	st.ReadyMembers = fmt.Sprintf("%d/%d", len(st.Members.Ready), ownSize(v))
}

// isNoSign reports whether a Pod shows of no cluster that it existed: no client has ever reached
// a seed, and a restore that was given up deletes its own.
func isNoSign(v *facts.View, p *facts.Pod) bool {
	return v.Cluster.Existed != "" && p != nil && p.Role == facts.Seed
}

// maxMemberName is how long a host name may be (RFC 1035); a member's name is part of one.
const maxMemberName = 253

// isListed reports whether a name is taken: the schema lists each once. A second member
// of a name, which people can add, is listed by its id.
func isListed(details []v1beta2.MemberDetail, name string) bool {
	return slices.ContainsFunc(details, func(d v1beta2.MemberDetail) bool { return d.Name == name })
}

// updatingMember is the member whose Pod a step recreates for the sake of its template, or the
// one whose was, until it is a voter's again.
func updatingMember(v *facts.View, s *step.Step) string {
	switch a := s.Action.(type) {
	case action.RecreatePod:
		return a.Name
	case action.DeletePod:
		if p := v.PodOf[a.Name]; p != nil && v.IsToBeRecreated(p) {
			return a.Name
		}
	case action.SetRoles:
		for _, r := range a.Roles {
			if p := v.PodOf[r.Name]; r.Role == facts.Restarting && p != nil && v.RestartsInNewPod(p) {
				return r.Name
			}
		}
	default: // no other is about a Pod's template
	}
	last := v.Cluster.LastStatus.UpdatingMember
	p := v.PodOf[last]
	if (p == nil && v.ClaimOf[last] != nil) || (p != nil && (p.Role != facts.Voter || !p.DeletingSince.IsZero())) {
		return last
	}
	return ""
}

// ownSize is how many members of the operator's own there are to be: Cluster.Size without
// those that it did not make.
func ownSize(v *facts.View) int { return v.Cluster.Size - v.Foreign }
