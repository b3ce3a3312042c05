package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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
	if d.Action == nil || d.Announcement == Unannounced || (d.Action.facts().step && d.Announcement != Announced) {
		return Event{}, false
	}
	f := d.Action.facts()
	return Event{Warning: f.warning, Reason: d.Reason, Action: f.kind, Message: d.Message, Member: f.member}, true
}

// withoutQuorum are the reasons for which a cluster that has served does not.
var withoutQuorum = []string{v1beta2.ClusterReasonNoQuorum, v1beta2.ClusterReasonQuorumLost}

// warnings are the conditions that are there only while they are true, and that a user is
// to hear of once for each reason.
var warnings = []string{v1beta2.ConditionKnownVulnerability, v1beta2.ConditionSpaceLow}

// EventsBetween are the events of what has changed from one status to the next. That a
// quorum's data is lost is told by whoever waits for that (see Outcome.AwaitsUser).
func EventsBetween(before, after []metav1.Condition) []Event {
	var all []Event
	tell := func(warning bool, reason, message string) {
		all = append(all, Event{Warning: warning, Reason: reason, Action: "Observe", Message: message})
	}
	was, is := meta.FindStatusCondition(before, v1beta2.ConditionAvailable), meta.FindStatusCondition(after, v1beta2.ConditionAvailable)
	switch {
	case was == nil || is == nil:
	case was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse && is.Reason == v1beta2.ClusterReasonNoQuorum:
		tell(true, v1beta2.ClusterReasonNoQuorum, is.Message)
	case slices.Contains(withoutQuorum, was.Reason) && is.Status == metav1.ConditionTrue:
		tell(false, v1beta2.ClusterReasonQuorumRegained, is.Message)
	}
	if is = meta.FindStatusCondition(after, v1beta2.ConditionNameConflict); is != nil && meta.FindStatusCondition(before, is.Type) == nil {
		// One that holds up everything is told by whoever waits for it.
		if p := meta.FindStatusCondition(after, v1beta2.ConditionProgressing); p == nil || p.Reason != is.Type {
			tell(true, is.Reason, is.Message)
		}
	}
	was, is = meta.FindStatusCondition(before, v1beta2.ConditionPaused), meta.FindStatusCondition(after, v1beta2.ConditionPaused)
	if was != nil && is != nil && was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse {
		tell(false, v1beta2.ClusterReasonResumed, "reconciliation resumed: spec.paused is not set")
	}
	for _, kind := range warnings {
		was, is = meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		if is != nil && (was == nil || was.Reason != is.Reason) {
			tell(true, is.Reason, is.Message)
		}
	}
	return all
}
