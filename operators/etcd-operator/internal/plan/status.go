package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

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
	case c.Paused || c.Deleting || c.Fence.By != "" || s.Outcome == action.Existed:
		// Nobody was asked: the last report stands.
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
	case s.Outcome == action.Existed && v.Cluster.LastStatus.Phase == v1beta2.PhaseRunning:
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
		if !v.IsMember(p.Name) && v.Serves(p) {
			st.Members.Ready = append(st.Members.Ready, p.Name)
			continue
		}
		if !v.IsMember(p.Name) && p.DeletingSince.IsZero() {
			st.Members.Unready = append(st.Members.Unready, p.Name)
		}
	}
	st.ReadyMembers = fmt.Sprintf("%d/%d", len(st.Members.Ready), ownSize(v))
}

// maxMemberName is how long a host name may be (RFC 1035); a member's name is part of one.
const maxMemberName = 253

// isListed reports whether a name is taken: the schema lists each once. A second member
// of a name, which people can add, is listed by its id.
func isListed(details []v1beta2.MemberDetail, name string) bool {
	return slices.ContainsFunc(details, func(d v1beta2.MemberDetail) bool { return d.Name == name })
}

// conditions are in a fixed order: what a person wants to know first comes first.
func conditions(v *facts.View, s *step.Step) []metav1.Condition {
	all := []metav1.Condition{available(v, s), progressing(v, s), degraded(v, s), scaling(v), recovering(v, s), upgradingCondition(v, s), isPaused(v)}
	for _, c := range []*metav1.Condition{resizing(v), orphaned(v), unmanaged(v), consistent(v, s), certificates(v), knownVulnerability(v), spaceLow(v)} {
		if c != nil { // there is something to say of it
			all = append(all, *c)
		}
	}
	if v.ForeignBudget != "" && s.Explained != v1beta2.ConditionNameConflict {
		all = append(all, condition(v, v1beta2.ConditionNameConflict, true, v1beta2.ClusterReasonNameConflict, fmt.Sprintf(
			"%s belongs to others, so members can be evicted at the same time; remove it, or set spec.podDisruptionBudget: false", v.ForeignBudget)))
	}
	if slices.Contains(onlyExplained, s.Explained) {
		all = append(all, condition(v, s.Explained, true, s.Reason, s.Message))
	}
	if a := v.Refused(); a != nil {
		all = append(all, condition(v, a.Kind(), true, a.Kind(), v.Cluster.WhatIsMissing(a)))
	}
	tellOnce(all, s.Explained)
	return all
}

// aParagraph is how long a message is that no two conditions tell.
const aParagraph = 150

// tellOnce has one condition tell a paragraph, and the general ones point to it: told is by the one
// that the step explains, else by one about a single topic, else by the first of these.
func tellOnce(all []metav1.Condition, explained string) {
	general := []string{v1beta2.ConditionAvailable, v1beta2.ConditionDegraded, v1beta2.ConditionProgressing, v1beta2.ConditionRecovering}
	rank := func(c *metav1.Condition) int {
		if c.Type == explained {
			return -2
		}
		return slices.Index(general, c.Type) // -1 for a topic
	}
	var ranked []*metav1.Condition
	for i := range all {
		ranked = append(ranked, &all[i])
	}
	slices.SortStableFunc(ranked, func(a, b *metav1.Condition) int { return cmp.Compare(rank(a), rank(b)) })
	for i, c := range ranked {
		for _, told := range ranked[:i] {
			if rank(c) >= 0 {
				c.Message = pointTo(told, c.Message)
			}
		}
	}
}

// pointTo is a message without the paragraph that a condition tells already.
func pointTo(told *metav1.Condition, message string) string {
	before, after, isRepeated := strings.Cut(message, told.Message)
	if !isRepeated || len(told.Message) < aParagraph || (before != "" && !strings.HasSuffix(before, ": ")) {
		return message
	}
	return before + "see the condition " + told.Type + after
}

func condition(v *facts.View, kind string, is bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: v.Cluster.Generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// available says whether a quorum serves reads and writes.
func available(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionAvailable
	switch {
	case isUnqueried(v):
		return unqueried(v, kind)
	case v.Cluster.Fence.By != "" && 2*len(readyVoters(v)) > v.Cluster.LastStatus.Size && v.Cluster.ClusterID != 0:
		// They serve until the restore's seed is ready to take their place.
		return condition(v, kind, true, v1beta2.ClusterReasonServing, fmt.Sprintf("a quorum serves: Pods %s are ready (their probe is a linearizable read); lost members are not replaced meanwhile: %s", strings.Join(readyVoters(v), ", "), s.Message))
	case v.Cluster.ClusterID == 0 || v.Cluster.Fence.By != "":
		return condition(v, kind, false, s.Reason, s.Message)
	case v.Cluster.NoClientCertificate():
		return availableByReadiness(v)
	case v.Sure && len(v.Alarms) > 0:
		return condition(v, kind, false, alarmReason(v), v.AlarmAdvice())
	case v.HasQuorum():
		return condition(v, kind, true, v1beta2.ClusterReasonServing, tolerance(v))
	case v.Sure:
		return condition(v, kind, true, v1beta2.ClusterReasonServing, "a quorum serves, though the operator cannot reach all of its members")
	case slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return p.ServesUnseen() }):
		return condition(v, kind, true, v1beta2.ClusterReasonServing, "a quorum serves; the operator knows no more, since etcd's authentication refuses it")
	}
	return condition(v, kind, false, s.Reason, s.Message)
}

// isUnqueried reports whether the operator knows nothing of the members, since it does not query
// those of a cluster that it is not to touch.
func isUnqueried(v *facts.View) bool { return (v.Cluster.Paused || v.Cluster.Deleting) && !v.Sure }

// unqueried is a condition of which such an operator knows nothing.
func unqueried(v *facts.View, kind string) metav1.Condition {
	reason, why := v1beta2.ClusterReasonPaused, "while spec.paused is true"
	if v.Cluster.Deleting {
		reason, why = v1beta2.ClusterReasonDeleting, "while the EtcdCluster is being deleted"
	}
	c := condition(v, kind, false, reason, "unknown: members are not queried "+why)
	c.Status = metav1.ConditionUnknown
	return c
}

// unknownHealth is a condition of which an operator without a client certificate knows nothing.
func unknownHealth(v *facts.View, kind string) metav1.Condition {
	c := condition(v, kind, false, v.Cluster.NoClientCertificateReason(), v.Cluster.NoClientCertificateText())
	c.Status = metav1.ConditionUnknown
	return c
}

// tolerance says how many more members may fail, counted from those that are healthy now,
// and warns of a size that gains nothing.
func tolerance(v *facts.View) string {
	all, healthy := len(v.Voters), len(v.Healthy)
	who := fmt.Sprintf("%d voters serve", all)
	switch {
	case healthy < all:
		who = fmt.Sprintf("%d of %d voters serve", healthy, all)
	case all == 1:
		who = "1 voter serves"
	}
	msg := fmt.Sprintf("%s reads and writes; %d of them can fail", who, healthy-quorum.Majority(all))
	switch {
	case healthy > quorum.Majority(all):
	case healthy < all:
		msg = who + " reads and writes; the cluster tolerates no failure until more voters are healthy"
	default:
		msg = who + " reads and writes; the cluster tolerates no failure"
	}
	if v.Cluster.Size%2 == 0 {
		msg += fmt.Sprintf("; %d members tolerate no more failures than %d do: use an odd size", v.Cluster.Size, v.Cluster.Size-1)
	}
	return msg
}

func progressing(v *facts.View, s *step.Step) metav1.Condition {
	if isRoutine(v, s) {
		s = step.Rest(v)
	}
	moving := s.Outcome != action.UpToDate && !s.Outcome.AwaitsUser()
	return condition(v, v1beta2.ConditionProgressing, moving, s.Reason, cmp.Or(s.Brief, s.Message))
}

// degraded says which members are not healthy.
func degraded(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionDegraded
	if v.Cluster.Deleting {
		return unqueried(v, kind)
	}
	if a := v.Refused(); a != nil && s.Outcome == action.Unauthorized {
		c := condition(v, kind, false, s.Reason, "member health is unknown: "+s.Message)
		c.Status = metav1.ConditionUnknown
		return c
	}
	if v.Cluster.NoClientCertificate() && v.Cluster.ClusterID != 0 {
		return unknownHealth(v, kind)
	}
	if s.Outcome.IsDegraded() {
		return condition(v, kind, true, s.Reason, cmp.Or(s.Brief, s.Message))
	}
	if v.Cluster.IsReseeding() {
		return condition(v, kind, true, v1beta2.ClusterReasonRecoveringFromSurvivor, s.Message)
	}
	if len(v.Noted) > 0 {
		said := v.RejectionsText()
		if len(v.Healthy) < len(v.Voters) {
			said += "; " + whoIsUnhealthy(v)
		}
		return condition(v, kind, true, v.Noted[0].Reason(), said)
	}
	if advice := strandedSeedAdvice(v); advice != "" {
		s.PodStuck = true
		return condition(v, kind, true, v1beta2.ClusterReasonSeedUnhealthy, advice)
	}
	if v.Cluster.ClusterID == 0 {
		return condition(v, kind, false, v1beta2.ClusterReasonCreating, "the cluster has not served yet")
	}
	if isUnqueried(v) {
		return unqueried(v, kind)
	}
	if len(v.List) == 0 {
		return condition(v, kind, true, s.Reason, s.Message)
	}
	if len(v.Alarms) > 0 {
		said := v.AlarmAdvice()
		if v.Sure {
			said = facts.SeeAvailable(v.WritesRefused())
		}
		if len(v.Healthy) < len(v.Voters) {
			said += "; " + whoIsUnhealthy(v)
		}
		return condition(v, kind, true, alarmReason(v), said)
	}
	if len(v.Healthy) < len(v.Voters) {
		isUnpulled := func(m facts.Member) bool {
			p := v.PodOf[m.Name]
			return p != nil && !v.Healthy[m.ID] && p.ImageUnavailable
		}
		return unhealthy(v, s, slices.ContainsFunc(v.Voters, isUnpulled), v1beta2.ClusterReasonMembersUnhealthy, whoIsUnhealthy(v))
	}
	if c := consistency(v, s); c.Result == v1beta2.ResultNoMajority {
		return condition(v, kind, true, string(c.Result), facts.NoMajorityText(c.Revision))
	}
	var troubled []string
	for _, p := range v.Candidates() {
		if v.IsOnlyReplacing() {
			break // nobody misses it; see awaitMove
		}
		if why := strings.TrimSpace(p.Trouble + p.Unschedulable); why != "" {
			troubled = append(troubled, p.Name+": "+v.Progress(p))
		}
	}
	if len(troubled) > 0 {
		return unhealthy(v, s, slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool { return p.ImageUnavailable }), v1beta2.ClusterReasonJoinersUnhealthy, strings.Join(troubled, "; "))
	}
	return condition(v, kind, false, v1beta2.ClusterReasonAllHealthy, "all voters are healthy")
}

// unhealthy is Degraded for a reason, or for that of an image that cannot be pulled.
func unhealthy(v *facts.View, s *step.Step, unpulled bool, reason, said string) metav1.Condition {
	if unpulled {
		s.PodStuck = true
		reason = v1beta2.ClusterReasonImageNotPulled
		said += "; set spec.version or spec.repository to an image that the nodes can pull"
	}
	return condition(v, v1beta2.ConditionDegraded, true, reason, said)
}

// whoIsUnhealthy is WhoIsMissing, and what a person can do where the operator does nothing.
func whoIsUnhealthy(v *facts.View) string {
	if v.HasQuorum() {
		return v.WhoIsMissing()
	}
	return v.WhoIsMissing() + v.DifferingAdvice()
}

func scaling(v *facts.View) metav1.Condition {
	const kind = v1beta2.ConditionScaling
	n := len(v.Voters)
	switch {
	case v.Cluster.ClusterID == 0:
		return condition(v, kind, false, v1beta2.ClusterReasonCreating, fmt.Sprintf("no member serves yet; %d wanted", v.Cluster.Size))
	case v.Sure && v.Cluster.Target != "" && (v.WantedSize > v.Cluster.Size || v.WantedSize < n):
		return condition(v, kind, true, v1beta2.ClusterReasonWaitingForUpgrade, fmt.Sprintf("%d voters; scaling to %d once all members run %s", n, v.WantedSize, v.Cluster.Target))
	case !v.Sure || n == v.Cluster.Size:
		return condition(v, kind, false, v1beta2.ClusterReasonAtSize, fmt.Sprintf("size is %d", ownSize(v)))
	case n == v.Cluster.Size+v.Surplus():
		return condition(v, kind, false, v1beta2.ClusterReasonAtSize, fmt.Sprintf("size is %d, plus one member that replaces another", v.Cluster.Size))
	case n < v.Cluster.Size:
		return condition(v, kind, true, v1beta2.ClusterReasonScalingUp, fmt.Sprintf("%d of %d voters", n, v.Cluster.Size))
	}
	return condition(v, kind, true, v1beta2.ClusterReasonScalingDown, fmt.Sprintf("%d voters, %d wanted", n, v.Cluster.Size))
}

// recovering says which lost members are being brought back or replaced.
func recovering(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionRecovering
	switch {
	case v.Cluster.ClusterID == 0:
		return condition(v, kind, false, v1beta2.ClusterReasonNothingToRecover, "no member is lost")
	case isUnqueried(v):
		return unqueried(v, kind)
	case v.Cluster.IsReseeding() || v.Cluster.IsRegrowing():
		return condition(v, kind, true, v1beta2.ClusterReasonRecoveringFromSurvivor, recoveryStory(v, s))
	case v.Cluster.NoClientCertificate():
		return unknownHealth(v, kind)
	}
	lost := lostMember(v)
	if s.Outcome != action.QuorumLost { // its message names them all
		s.MemberLost = lost
	}
	switch {
	case s.Explained == kind:
		return condition(v, kind, true, s.Reason, s.Message)
	case lost != "" && !v.HasQuorum():
		return condition(v, kind, true, v1beta2.ClusterReasonNoQuorum, lost)
	case lost != "":
		return condition(v, kind, true, v1beta2.ClusterReasonReplacingDeadMember, lost)
	case s.Outcome == action.QuorumLost:
		return condition(v, kind, false, s.Reason, s.Brief)
	}
	return condition(v, kind, false, v1beta2.ClusterReasonNothingToRecover, "no member is lost")
}

// lostMember says which member is lost, why, and what becomes of it; empty if none is.
func lostMember(v *facts.View) string {
	for _, m := range v.List {
		why := v.Loss(m)
		switch {
		case why == "":
		case v.HasQuorum():
			return fmt.Sprintf("member %s is lost: %s; the operator replaces it", v.NameOrID(m.ID), why)
		default:
			return fmt.Sprintf("member %s is lost: %s; it cannot be replaced without a quorum", v.NameOrID(m.ID), why)
		}
	}
	return ""
}

func upgradingCondition(v *facts.View, s *step.Step) metav1.Condition {
	const kind = v1beta2.ConditionUpgrading
	c := &v.Cluster
	refusal := ""
	if c.Bootstrap != nil {
		refusal = v.Refusal()
	}
	pending := pendingUpgrade(v, s)
	switch {
	case startsUpgrade(v, s):
		return condition(v, kind, true, v1beta2.ClusterReasonUpgrading, s.Message)
	case pending != nil:
		return *pending
	case c.Target != "" && refusal != "":
		return condition(v, kind, true, v1beta2.ClusterReasonVersionRefused, fmt.Sprintf("%s members run %s; %s", v.Upgraded(), v.Cluster.Image(), refusal))
	case c.Target != "" || isUpgradingAny(v):
		return condition(v, kind, true, v1beta2.ClusterReasonUpgrading, fmt.Sprintf("%s members run %s%s", v.Upgraded(), v.Cluster.Image(), cmp.Or(restartTrouble(v), downgradeProgress(v))))
	case refusal != "":
		return condition(v, kind, false, v1beta2.ClusterReasonVersionRefused, refusal)
	}
	if c.ClusterID == 0 {
		return condition(v, kind, false, v1beta2.ClusterReasonCreating, fmt.Sprintf("no member serves yet; starting with etcd %s", c.Version))
	}
	return condition(v, kind, false, v1beta2.ClusterReasonAtVersion, "the version is "+c.Version)
}

// restartTrouble says of the members that are being restarted why they do not run, in the
// kubelet's words.
func restartTrouble(v *facts.View) string {
	var said string
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && p.IsRestarting() && p.Trouble != "" {
			said += fmt.Sprintf("; %s: %s", m.Name, p.Trouble)
		}
	}
	if said != "" {
		said += "; set spec.version (or spec.repository) to what ran before"
	}
	return said
}

func isPaused(v *facts.View) metav1.Condition {
	if v.Cluster.Paused {
		return condition(v, v1beta2.ConditionPaused, true, v1beta2.ClusterReasonPaused, "reconciliation paused by spec.paused: etcd keeps running, but no lost member is replaced; set spec.paused: false to resume")
	}
	return condition(v, v1beta2.ConditionPaused, false, v1beta2.ClusterReasonNotPaused, "reconciliation is active")
}
