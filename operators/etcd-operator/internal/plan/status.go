package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// status is what the Observation implies, and the step that is taken on it.
// Conditions carry no times: those are set when they are written. Whatever changes
// all the time is left to metrics, so that an idle cluster writes nothing.
func (v *view) status(s *step) v1beta2.ClusterStatus {
	c := &v.Cluster
	st := v1beta2.ClusterStatus{
		Phase:              v.phase(s),
		ControlPaused:      c.Paused,
		ObservedGeneration: c.Generation,
		Size:               len(v.list),
		ServiceName:        c.LastStatus.ServiceName,
		ClientPort:         c.LastStatus.ClientPort,
		MinAvailable:       v.minAvailable(s),
		Selector:           c.LastStatus.Selector,
		CurrentVersion:     c.LastStatus.CurrentVersion,
		TargetVersion:      c.Target,
		VersionIndex:       c.LastStatus.VersionIndex,
		UpgradeSize:        c.UpgradeSize,
		Bootstrap:          c.LastStatus.Bootstrap,
		ClusterID:          c.LastStatus.ClusterID,
		FencedBy:           c.LastStatus.FencedBy,
		AdoptedSeed:        c.LastStatus.AdoptedSeed,
		QuorumLostSince:    v.quorumLostSince(s),
		Recovery:           c.LastStatus.Recovery,
		HighestRevision:    v.highestRevision(),
		Leader:             v.name(v.leader),
		Alarms:             v.alarmStatus(),
		Maintenance:        v.maintenanceStatus(),
		Consistency:        v.consistencyStatus(),
		TLS:                v.tlsStatus(),
	}
	if st.Phase == v1beta2.PhaseFailed {
		st.Reason = s.message
	}
	v.listMembers(&st)
	last := &c.LastStatus
	if record, ok := s.action.(RecordVersion); ok {
		st.TargetVersion, st.UpgradeSize = record.Target, record.Size
	}
	switch {
	case c.Paused || c.Deleting || c.Fence.By != "" || s.reason == "ClusterExisted":
		// Nobody was asked: the last report stands.
		st.Size, st.Leader, st.MemberDetails, st.Members, st.ReadyMembers = last.Size, last.Leader, last.MemberDetails, last.Members, last.ReadyMembers
		st.Alarms = last.Alarms
	case len(v.list) == 0 && c.ClusterID != 0:
		// Nobody could tell: who the members are is as it was.
		st.Size, st.MemberDetails, st.Alarms = last.Size, last.MemberDetails, last.Alarms
	}
	if survivor, ok := s.action.(AdoptSurvivor); ok {
		st.TargetVersion = ""
		v.listSeed(&st, survivor.Name)
	}
	seed, adopting := s.action.(AdoptSeed)
	_, acknowledging := s.action.(AcknowledgeFence)
	switch {
	case adopting:
		st.TargetVersion, st.UpgradeSize = "", 0
		v.listSeed(&st, seed.Name)
	case c.Bootstrap == nil && (acknowledging || c.Fence.By != ""):
		st.TargetVersion = c.Version // who restores it has to know
	}
	st.Conditions = v.conditions(s)
	return st
}

// minAvailable is that of the budget, as it is once the step is taken.
func (v *view) minAvailable(s *step) int {
	if v.ForeignBudget != "" {
		return 0
	}
	if budget := v.budget(s.action); budget != KeepBudget && !v.handsOff(s) {
		return budget
	}
	return v.Cluster.LastStatus.MinAvailable
}

// listSeed makes the adopted seed the one member: those of the old cluster are none
// any more, and what is lost must never be told by them.
func (v *view) listSeed(st *v1beta2.ClusterStatus, name string) {
	p := v.pods[name]
	st.Size, st.Leader = 1, name
	st.MemberDetails = []v1beta2.MemberDetail{{
		Name: name, ID: fmt.Sprintf("%016x", p.Answer.MemberID), Role: v1beta2.MemberVoter, Version: p.Answer.Version, Node: p.Node,
	}}
	st.Members = v1beta2.MembersStatus{Ready: []string{name}}
	st.ReadyMembers = fmt.Sprintf("1/%d", v.Cluster.Size)
}

// The steps in which the highest revision is latched: small for a small cluster, so that
// what is shown of a new one is near to what it has, and large for one that is written to
// all the time, so that it seldom changes.
const (
	leastRevisionStep = 1_000
	revisionStep      = 1_000_000
)

// highestRevision is a revision beyond all that clients have seen. It is latched one
// to two steps ahead, and again when only half a step is left: seldom, and never too
// late, as long as fewer revisions than that are made between two Observations. (Whoever
// begins anew goes 1e9 beyond it.)
func (v *view) highestRevision() int64 {
	last := v.Cluster.LastStatus.HighestRevision
	var seen int64
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; v.Cluster.ClusterID != 0 && v.ours(a) {
			seen = max(seen, a.Revision)
		}
	}
	step := int64(leastRevisionStep)
	for step < revisionStep && step < seen {
		step *= 10
	}
	if seen == 0 || seen+step/2 <= last {
		return last
	}
	return (seen + 2*step - 1) / step * step
}

func (v *view) phase(s *step) v1beta2.ClusterPhase {
	switch {
	case s.reason == "ClusterExisted" && v.Cluster.LastStatus.Phase == v1beta2.PhaseRunning:
		return v1beta2.PhaseRunning // which shows that it existed
	case s.reason == "QuorumLost" || s.reason == "ClusterExisted":
		return v1beta2.PhaseFailed
	case v.Cluster.ClusterID != 0:
		return v1beta2.PhaseRunning
	}
	return v1beta2.PhaseCreating
}

// listMembers fills in who the members are and which of them serve.
func (v *view) listMembers(st *v1beta2.ClusterStatus) {
	for _, m := range v.list {
		d := v1beta2.MemberDetail{Name: m.Name, ID: fmt.Sprintf("%016x", m.ID), Role: v1beta2.MemberVoter, Unmanaged: m.leftAlone()}
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
		if p := v.pods[m.Name]; p != nil {
			d.Node, d.Version = p.Node, p.runs()
		}
		if a := v.answer(m); a != nil {
			d.Version = a.Version
		}
		st.MemberDetails = append(st.MemberDetails, d)
		p := v.pods[m.Name]
		if v.healthy[m.ID] || (p != nil && v.serves(p)) {
			st.Members.Ready = append(st.Members.Ready, m.Name)
		} else {
			st.Members.Unready = append(st.Members.Unready, m.Name)
		}
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !v.isMember(p.Name) && v.serves(p) {
			st.Members.Ready = append(st.Members.Ready, p.Name)
			continue
		}
		if !v.isMember(p.Name) && p.DeletingSince.IsZero() {
			st.Members.Unready = append(st.Members.Unready, p.Name)
		}
	}
	st.ReadyMembers = fmt.Sprintf("%d/%d", len(st.Members.Ready), v.ownSize())
}

// maxMemberName is how long a host name may be (RFC 1035); a member's name is part of one.
const maxMemberName = 253

// isListed reports whether a name is taken: the schema lists each once. A second member
// of a name, which people can add, is listed by its id.
func isListed(details []v1beta2.MemberDetail, name string) bool {
	return slices.ContainsFunc(details, func(d v1beta2.MemberDetail) bool { return d.Name == name })
}

// conditions are in a fixed order: what a person wants to know first comes first.
func (v *view) conditions(s *step) []metav1.Condition {
	all := []metav1.Condition{v.available(s), v.progressing(s), v.degraded(s), v.scaling(), v.recovering(s), v.upgrading(s), v.isPaused()}
	for _, c := range []*metav1.Condition{v.resizing(), v.orphaned(), v.unmanaged(), v.consistent(), v.certificates(), v.knownVulnerability(), v.spaceLow()} {
		if c != nil { // there is something to say of it
			all = append(all, *c)
		}
	}
	if v.ForeignBudget != "" && s.reason != v1beta2.ConditionNameConflict {
		all = append(all, v.condition(v1beta2.ConditionNameConflict, true, v1beta2.ConditionNameConflict, fmt.Sprintf(
			"%s belongs to others, so nothing protects the members from being evicted at the same time; remove it, or set spec.podDisruptionBudget: false", v.ForeignBudget)))
	}
	for _, special := range []string{v1beta2.ConditionNameConflict, v1beta2.ConditionVersionUnsupported} {
		if s.reason == special {
			all = append(all, v.condition(special, true, s.reason, s.message))
		}
	}
	if a := v.refused(); a != nil {
		all = append(all, v.condition(a.kind(), true, a.kind(), v.whatIsMissing(a)))
	}
	return all
}

func (v *view) condition(kind string, is bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: v.Cluster.Generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// available says whether a quorum serves reads and writes.
func (v *view) available(s *step) metav1.Condition {
	const kind = v1beta2.ConditionAvailable
	switch {
	case v.Cluster.Paused && !v.sure:
		c := v.condition(kind, false, "Paused", "members are not asked while spec.paused is true")
		c.Status = metav1.ConditionUnknown
		return c
	case v.Cluster.ClusterID == 0 || v.Cluster.Fence.By != "":
		return v.condition(kind, false, s.reason, s.message)
	case v.blind():
		return v.availableUnseen()
	case v.sure && len(v.alarms) > 0:
		return v.condition(kind, false, v.alarmReason(), v.alarmAdvice())
	case v.hasQuorum():
		return v.condition(kind, true, "Serving", v.tolerance())
	case v.sure:
		return v.condition(kind, true, "Serving", "a quorum serves, though the operator does not reach all of it")
	case slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.servesUnseen() }):
		return v.condition(kind, true, "Serving", "a quorum serves, and etcd's authentication keeps the operator from knowing more")
	}
	return v.condition(kind, false, s.reason, s.message)
}

// tolerance says how many more members may fail, counted from those that are healthy now,
// and warns of a size that gains nothing.
func (v *view) tolerance() string {
	all, healthy := len(v.voters), len(v.healthy)
	who := fmt.Sprintf("%d voters serve", all)
	switch {
	case healthy < all:
		who = fmt.Sprintf("%d of %d voters serve", healthy, all)
	case all == 1:
		who = "1 voter serves"
	}
	msg := fmt.Sprintf("%s reads and writes; %d of them may fail", who, healthy-quorum(all))
	switch {
	case healthy > quorum(all):
	case healthy < all:
		msg = who + " reads and writes; the cluster tolerates no failure until more voters are healthy"
	default:
		msg = who + " reads and writes; the cluster tolerates no failure"
	}
	if v.Cluster.Size%2 == 0 {
		msg += fmt.Sprintf("; an even size of %d tolerates no more failures than %d", v.Cluster.Size, v.Cluster.Size-1)
	}
	return msg
}

func (v *view) progressing(s *step) metav1.Condition {
	if v.isRoutine(s) {
		s = rest(v)
	}
	moving := s.reason != "AsDesired" && !Blocked(s.reason)
	return v.condition(v1beta2.ConditionProgressing, moving, s.reason, s.message)
}

// blocked are the reasons for which nothing moves until somebody else does something.
var blocked = map[string]bool{
	"Paused": true, "NameConflict": true, "LegacyMembers": true, "VersionUnsupported": true,
	CertificatesMissing: true, CertificatesInvalid: true, "ClusterExisted": true, "QuorumLost": true, "Fenced": true,
	"CredentialsMissing": true, "CredentialsInvalid": true,
}

// lookedAfter are those of them for which Services and what else needs no word of etcd's
// are kept as they are to be.
var lookedAfter = map[string]bool{
	"QuorumLost": true, "CredentialsMissing": true, "CredentialsInvalid": true, CertificatesMissing: true, CertificatesInvalid: true,
}

// Blocked reports whether a reason is one for which nothing moves until somebody
// does something.
func Blocked(reason string) bool {
	return blocked[reason] || IsRejected(reason) || slices.Contains([]string{
		"VersionRefused", "ScheduleInvalid", "Corrupt", "GrowthRefused", waitingForSnapshot, v1beta2.ReasonUnmanagedMembers,
	}, reason)
}

// degraded says which members are not healthy.
func (v *view) degraded(s *step) metav1.Condition {
	const kind = v1beta2.ConditionDegraded
	if a := v.refused(); a != nil && s.reason == a.kind() {
		c := v.condition(kind, false, s.reason, "which members are healthy is not known: "+s.message)
		c.Status = metav1.ConditionUnknown
		return c
	}
	if v.blind() && v.Cluster.ClusterID != 0 {
		c := v.condition(kind, false, v.blindReason(), "which members are healthy is not known: "+v.blindness())
		c.Status = metav1.ConditionUnknown
		return c
	}
	if blocked[s.reason] && s.reason != "Paused" {
		return v.condition(kind, true, s.reason, s.message)
	}
	if v.reseeding() {
		return v.condition(kind, true, recoveringReason, s.message)
	}
	if len(v.noted) > 0 {
		said := v.rejections()
		if len(v.healthy) < len(v.voters) {
			said += "; " + v.whoIsMissing()
		}
		return v.condition(kind, true, v.noted[0].reason(), said)
	}
	if v.Cluster.ClusterID == 0 {
		return v.condition(kind, false, creatingReason, "the cluster has not served yet")
	}
	if len(v.list) == 0 {
		return v.condition(kind, true, s.reason, s.message)
	}
	if len(v.alarms) > 0 {
		said := v.alarmAdvice()
		if len(v.healthy) < len(v.voters) {
			said += "; " + v.whoIsMissing()
		}
		return v.condition(kind, true, v.alarmReason(), said)
	}
	if len(v.healthy) < len(v.voters) {
		return v.condition(kind, true, "MembersUnhealthy", v.whoIsMissing())
	}
	if c := &v.Cluster.Consistency; c.Result == v1beta2.ResultNoMajority {
		return v.condition(kind, true, string(c.Result), noMajorityText(c.Revision))
	}
	var troubled []string
	for _, p := range v.candidates() {
		if v.extra() {
			break // nobody misses it; see awaitMove
		}
		if why := strings.TrimSpace(p.Trouble + p.Unschedulable); why != "" {
			troubled = append(troubled, p.Name+": "+v.progress(p))
		}
	}
	if len(troubled) > 0 {
		return v.condition(kind, true, "JoinersUnhealthy", strings.Join(troubled, "; "))
	}
	return v.condition(kind, false, "AllHealthy", "all voters are healthy")
}

// creatingReason is the reason of what cannot be said before the cluster has served.
const creatingReason = "Creating"

func (v *view) scaling() metav1.Condition {
	const kind = v1beta2.ConditionScaling
	n := len(v.voters)
	switch {
	case v.Cluster.ClusterID == 0:
		return v.condition(kind, false, creatingReason, fmt.Sprintf("no member serves yet, and %d are wanted", v.Cluster.Size))
	case v.sure && v.Cluster.Target != "" && (v.wantedSize > v.Cluster.Size || v.wantedSize < n):
		return v.condition(kind, true, "WaitingForUpgrade", fmt.Sprintf("%d voters, %d wanted when all members run %s", n, v.wantedSize, v.Cluster.Target))
	case !v.sure || n == v.Cluster.Size:
		return v.condition(kind, false, "AtSize", fmt.Sprintf("size is %d", v.ownSize()))
	case n == v.Cluster.Size+v.surplus():
		return v.condition(kind, false, "AtSize", fmt.Sprintf("size is %d; there is one member more while another one is replaced", v.Cluster.Size))
	case n < v.Cluster.Size:
		return v.condition(kind, true, "ScalingUp", fmt.Sprintf("%d of %d voters", n, v.Cluster.Size))
	}
	return v.condition(kind, true, "ScalingDown", fmt.Sprintf("%d voters, %d wanted", n, v.Cluster.Size))
}

// recovering says which lost members are being brought back or replaced.
func (v *view) recovering(s *step) metav1.Condition {
	const kind = v1beta2.ConditionRecovering
	if v.Cluster.ClusterID == 0 {
		return v.condition(kind, false, "NothingToRecover", "no member is lost")
	}
	if v.reseeding() || v.growingAnew() {
		return v.condition(kind, true, recoveringReason, v.recoveryStory(s))
	}
	if s.reason == "RestartingMember" || s.reason == "ReplacingDeadMember" {
		return v.condition(kind, true, s.reason, s.message)
	}
	for _, m := range v.list {
		if why := v.loss(m); why != "" {
			return v.condition(kind, true, "ReplacingDeadMember", fmt.Sprintf("member %s is lost: %s", m.Name, why))
		}
	}
	return v.condition(kind, false, "NothingToRecover", "no member is lost")
}

func (v *view) upgrading(s *step) metav1.Condition {
	const kind = v1beta2.ConditionUpgrading
	c := &v.Cluster
	refusal := ""
	if c.Bootstrap != nil {
		refusal = v.refusal()
	}
	pending := v.pendingUpgrade(s)
	switch {
	case s.reason == "UpgradeStarted":
		return v.condition(kind, true, "Upgrading", s.message)
	case pending != nil:
		return *pending
	case c.Target != "" && refusal != "":
		return v.condition(kind, true, "VersionRefused", fmt.Sprintf("%s members run %s; %s", v.upgraded(), v.image(), refusal))
	case c.Target != "" || v.upgradesSome():
		return v.condition(kind, true, "Upgrading", fmt.Sprintf("%s members run %s%s", v.upgraded(), v.image(), cmp.Or(v.heldUp(), v.lowering())))
	case refusal != "":
		return v.condition(kind, false, "VersionRefused", refusal)
	}
	if c.ClusterID == 0 {
		return v.condition(kind, false, creatingReason, fmt.Sprintf("no member serves yet; etcd %s is to run", c.Version))
	}
	return v.condition(kind, false, "AtVersion", "the version is "+c.Version)
}

// heldUp says of the members that are being restarted why they do not run, in the
// kubelet's words.
func (v *view) heldUp() string {
	var said string
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && p.isRestarting() && p.Trouble != "" {
			said += fmt.Sprintf("; %s: %s", m.Name, p.Trouble)
		}
	}
	if said != "" {
		said += "; set spec.version (or spec.repository) to what runs"
	}
	return said
}

func (v *view) isPaused() metav1.Condition {
	if v.Cluster.Paused {
		return v.condition(v1beta2.ConditionPaused, true, "Paused", "spec.paused is true: the operator holds still, etcd runs on")
	}
	return v.condition(v1beta2.ConditionPaused, false, "NotPaused", "the operator looks after the cluster")
}
