package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What gets an event is decided here alone: one for each thing that a user would tell a
// colleague. Every action is logged.

// Event tells a user of something that has happened.
type Event struct {
	Warning bool
	// Reason and Action are CamelCase.
	Reason, Action, Message string
	// Member is the name of the one member that it is about; empty if it is about no single one.
	Member string
}

// EventOf is the event of an action that was carried out, if it gets one.
func EventOf(d *Decision) (Event, bool) {
	if d.Action == nil || d.Announcement == action.Unannounced || (action.IsStep(d.Action) && d.Announcement != action.Announced) {
		return Event{}, false
	}
	return Event{Warning: action.IsWarning(d.Action), Reason: d.Reason, Action: action.KindOf(d.Action), Message: d.Message, Member: action.MemberOf(d.Action)}, true
}

// warnings are the conditions that are there only while they are true, and that a user is
// to hear of once for each reason.
var warnings = []string{v1beta2.ConditionKnownVulnerability, v1beta2.ConditionSpaceLow}

// EventsBetween are the events of what has changed from one status to the next, which is that
// of d. What the Decision itself waits for is told by who waits for it
// (see Outcome.AwaitsUser).
func EventsBetween(before, after *v1beta2.ClusterStatus, d *Decision) []Event {
	var all []Event
	tell := func(warning bool, reason, message string) {
		all = append(all, Event{Warning: warning, Reason: reason, Action: "Observe", Message: message})
	}
	warn := func(kind string) {
		was, is := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if is != nil && (was == nil || was.Reason != is.Reason) {
			tell(true, is.Reason, is.Message)
		}
	}
	for _, a := range after.Alarms {
		if !slices.Contains(before.Alarms, a) {
			tell(true, v1beta2.ClusterReasonAlarmRaised, facts.SeeAvailable(facts.WhichAlarm(a)+" is raised: etcd refuses writes"))
		}
	}
	for _, a := range before.Alarms {
		if !slices.Contains(after.Alarms, a) {
			tell(false, v1beta2.ClusterReasonAlarmCleared, facts.WhichAlarm(a)+" is cleared")
		}
	}
	was, is := meta.FindStatusCondition(before.Conditions, v1beta2.ConditionAvailable), meta.FindStatusCondition(after.Conditions, v1beta2.ConditionAvailable)
	switch {
	case was == nil || is == nil:
	case was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse && d.Outcome == action.NoQuorum:
		tell(true, v1beta2.ClusterReasonNoQuorum, is.Message)
	case was.Status == metav1.ConditionFalse && before.AwaitsQuorum && is.Status == metav1.ConditionTrue:
		tell(false, v1beta2.ClusterReasonQuorumRegained, is.Message)
	}
	was, is = meta.FindStatusCondition(before.Conditions, v1beta2.ConditionRecovering), meta.FindStatusCondition(after.Conditions, v1beta2.ConditionRecovering)
	if d.MemberLost != "" && is != nil && (was == nil || was.Status != is.Status) {
		tell(true, v1beta2.ClusterReasonMemberLost, d.MemberLost)
	}
	if d.PodStuck {
		warn(v1beta2.ConditionDegraded)
	}
	is = meta.FindStatusCondition(after.Conditions, v1beta2.ConditionNameConflict)
	if is != nil && meta.FindStatusCondition(before.Conditions, is.Type) == nil && d.Outcome != action.Conflicting {
		tell(true, is.Reason, is.Message)
	}
	was, is = meta.FindStatusCondition(before.Conditions, v1beta2.ConditionPaused), meta.FindStatusCondition(after.Conditions, v1beta2.ConditionPaused)
	if was != nil && is != nil && was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse {
		tell(false, v1beta2.ClusterReasonResumed, "reconciliation resumed: spec.paused is not set")
	}
	for _, kind := range warnings {
		warn(kind)
	}
	return all
}

// Stalled is the message of ObservationStale.
func Stalled(after time.Duration, why error) string {
	return fmt.Sprintf("reconciliation is stalled: the operator's caches and the API server have disagreed for more than %s: %v", after, why)
}
