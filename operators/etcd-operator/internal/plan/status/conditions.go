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

// isRoutine reports whether a step is a comparison that finds all as it is to be: the status
// of an idle cluster is written once for it, with the result.
func isRoutine(v *facts.View, s *step.Step) bool {
	switch a := s.Action.(type) {
	case action.CompareData:
		return len(a.Members) == len(v.Voters)
	case action.RecordConsistency:
		return a.Result == v1beta2.ResultConsistent && len(v.Healthy) == len(v.Voters)
	default:
		return false
	}
}

// consistency is what the last comparison has shown, the one that the step records included:
// its result and the conditions are written together.
func consistency(v *facts.View, s *step.Step) facts.Consistency {
	c := v.Cluster.Consistency
	if a, ok := s.Action.(action.RecordConsistency); ok {
		c.Since, c.Result, c.Revision, c.Differing = a.At, a.Result, a.Revision, a.Differing
	}
	return c
}

// consistent is the condition of that name; nil before the first comparison.
func consistent(v *facts.View, s *step.Step) *metav1.Condition {
	c := consistency(v, s)
	said := facts.ConsistentText(c.Revision)
	switch c.Result {
	case "":
		return nil
	case v1beta2.ResultMemberDiffers:
		said = "the member whose data differed was replaced; comparing all members again"
		if len(c.Differing) > 0 {
			said = v.DifferingText(c.Differing, c.Revision) + "; the operator replaces it"
		}
	case v1beta2.ResultNoMajority:
		said = facts.NoMajorityText(c.Revision)
	case v1beta2.ResultConsistent:
	}
	cond := condition(v, v1beta2.ConditionConsistent, c.Result == v1beta2.ResultConsistent, string(c.Result), said)
	return &cond
}

// onlyExplained are the conditions that are there only while a step explains them.
var onlyExplained = []string{v1beta2.ConditionNameConflict, v1beta2.ConditionVersionUnsupported}

// conditions are in a fixed order: what a person wants to know first comes first.
func conditions(v *facts.View, s *step.Step) []metav1.Condition {
	all := []metav1.Condition{available(v, s), progressing(v, s), degraded(v, s), scaling(v), recovering(v, s), upgrading(v, s), isPaused(v)}
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

// AParagraph is how long a message is that no two conditions tell.
const AParagraph = 150

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
	if !isRepeated || len(told.Message) < AParagraph || (before != "" && !strings.HasSuffix(before, ": ")) {
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

func progressing(v *facts.View, s *step.Step) metav1.Condition {
	if isRoutine(v, s) {
		s = step.Rest(v)
	}
	moving := s.Outcome != action.UpToDate && !s.Outcome.AwaitsUser()
	return condition(v, v1beta2.ConditionProgressing, moving, s.Reason, cmp.Or(s.Brief, s.Message))
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

func isPaused(v *facts.View) metav1.Condition {
	if v.Cluster.Paused {
		return condition(v, v1beta2.ConditionPaused, true, v1beta2.ClusterReasonPaused, "reconciliation paused by spec.paused: etcd keeps running, but no lost member is replaced; set spec.paused: false to resume")
	}
	return condition(v, v1beta2.ConditionPaused, false, v1beta2.ClusterReasonNotPaused, "reconciliation is active")
}

// unmanaged is the condition UnmanagedMembers; nil if there are none.
func unmanaged(v *facts.View) *metav1.Condition {
	said := v.UnmanagedText()
	if said == "" {
		return nil
	}
	c := condition(v, v1beta2.ConditionUnmanagedMembers, true, v1beta2.ClusterReasonUnmanagedMembers, said)
	return &c
}

// orphaned is the condition OrphanedPods; nil if there are none.
func orphaned(v *facts.View) *metav1.Condition {
	if len(v.Orphans) == 0 {
		return nil
	}
	c := condition(v, v1beta2.ConditionOrphanedPods, true, v1beta2.ConditionOrphanedPods, fmt.Sprintf(
		"Pods with this cluster's labels belong to others: %s; the cluster's Services do not route to them, but Services, budgets and policies of your own can still select them", strings.Join(v.Orphans, ", ")))
	return &c
}
