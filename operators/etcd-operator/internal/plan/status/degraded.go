package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// strandedSeedAdvice says what a person can do about a seed that does not come to run on a
// node which is there; empty if it does, or may soon. It is not given up: until its Pod is
// gone its kubelet may start it after all, with the permit to begin that it has (S2), and
// nobody knows whether another place would do. A person who deletes the Pod has the seed
// begin anew under the same name once its kubelet has let go of it. Nothing is lost by that:
// no client is sent to a seed before the cluster id is latched (S1).
func strandedSeedAdvice(v *facts.View) string {
	b := v.Cluster.Bootstrap
	if !v.Cluster.IsBootstrapping() || b == nil {
		return ""
	}
	seed := v.PodOf[b.Member]
	if seed == nil || seed.Answer.Reached || seed.Answer.Refused != "" || seed.Finished || !seed.DeletingSince.IsZero() || !v.IsStranded(seed) {
		return ""
	}
	why, mend := seed.Trouble, "correct spec.version, spec.repository or spec.pod if one of them is wrong"
	if why == "" { // an edit alone changes nothing: it may still be on its way
		why, mend = "its containers are not created, as when a volume or a Secret is missing", "see the events of the Pod, and correct what they name"
	}
	objects := "pod"
	if v.ClaimOf[seed.Name] != nil {
		objects = "pvc,pod" // in this order, as in giveUpCommand
	}
	return fmt.Sprintf("the first member, %s, does not run on node %s: %s; %s; to start over (on another node if you cordon %s first): "+
		"kubectl -n %s delete %s %s; no data is lost: the cluster has not served yet",
		seed.Name, seed.Node, why, mend, seed.Node, v.Cluster.Namespace, objects, seed.Name)
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
	if said := v.DoubtText(); said != "" {
		return condition(v, kind, true, v1beta2.ClusterReasonMembersUnhealthy, said)
	}
	if c := consistency(v, s); c.Result == v1beta2.ResultNoMajority {
		return condition(v, kind, true, string(c.Result), facts.NoMajorityText(c.Revision))
	}
	var troubled []string
	for _, p := range v.Candidates() {
		if v.IsOnlyReplacing() {
			break // nobody misses it; see AwaitMove
		}
		if why := strings.TrimSpace(p.Trouble + p.Unschedulable); why != "" {
			troubled = append(troubled, p.Name+": "+v.Progress(p))
		}
	}
	for _, p := range v.LowLimits() {
		if !v.IsOnlyReplacing() {
			troubled = append(troubled, facts.LowLimitText(p))
		}
	}
	if len(troubled) > 0 {
		return unhealthy(v, s, slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool { return p.ImageUnavailable }), v1beta2.ClusterReasonJoinersUnhealthy, strings.Join(troubled, "; "))
	}
	if n := len(v.Voters); n < v.WantedSize {
		return condition(v, kind, false, v1beta2.ClusterReasonBelowSize, fmt.Sprintf("all voters are healthy, but the cluster has only %d of %d", n, v.WantedSize))
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

// recoveryStory says how far a recovery is.
func recoveryStory(v *facts.View, s *step.Step) string {
	r := v.Cluster.Recovery
	if v.Cluster.IsReseeding() {
		return s.Message
	}
	story := fmt.Sprintf("the cluster was rebuilt from %s (revision %d) and has %d of %d voters; Pods and PVCs of the old cluster are kept until all new members are healthy",
		r.Survivor, r.Revision, len(v.Voters), v.Cluster.Size)
	for i := range v.Pods {
		if p := &v.Pods[i]; v.IsKept(p) && !v.OnVolume(p) && slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool { return p.Unschedulable != "" }) {
			story += fmt.Sprintf("; Pod %s of the old cluster may block a new member, and holds its data: add a node, or delete the Pod", p.Name)
		}
	}
	return story
}
