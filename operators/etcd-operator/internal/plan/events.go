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
}

// steps are the actions, by kind, that are steps on the way to something which is told
// when it is there.
var steps = map[string]bool{
	"SetRoles": true, "OpenGrant": true, "CloseGrants": true, "WithdrawLeave": true, "MoveLeader": true,
	"RecordBootstrap": true, "TakeClaims": true, "Defragment": true,
}

// stepReasons are the reasons of steps whose kind of action is told otherwise: the Pods of
// members to come, and a Pod that is left over when its member's removal was told.
var stepReasons = map[string]bool{"CreatingMembers": true, "DeletingPod": true}

// outcomes are the reasons that are told although their kind of action is a step.
var outcomes = map[string]bool{"MemberUpgraded": true, "MemberUpdated": true, "MemberDefragmented": true, "VolumesAdopted": true}

// EventOf is the event of an action that was carried out, if it gets one.
func EventOf(d *Decision) (Event, bool) {
	if d.Action == nil || stepReasons[d.Reason] || (steps[d.Action.Kind()] && !outcomes[d.Reason]) {
		return Event{}, false
	}
	return Event{Reason: d.Reason, Action: d.Action.Kind(), Message: d.Message}, true
}

// withoutQuorum are the reasons for which a cluster that has served does not.
var withoutQuorum = []string{"NoQuorum", "QuorumLost"}

// EventsBetween are the events of what has changed from one status to the next. That a
// quorum's data is lost is told by whoever waits for that reason (see Blocked).
func EventsBetween(before, after []metav1.Condition) []Event {
	var all []Event
	tell := func(warning bool, reason string, c *metav1.Condition) {
		all = append(all, Event{Warning: warning, Reason: reason, Action: "Observe", Message: c.Message})
	}
	was, is := meta.FindStatusCondition(before, v1beta2.ConditionAvailable), meta.FindStatusCondition(after, v1beta2.ConditionAvailable)
	switch {
	case was == nil || is == nil:
	case was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse && is.Reason == "NoQuorum":
		tell(true, "NoQuorum", is)
	case slices.Contains(withoutQuorum, was.Reason) && is.Status == metav1.ConditionTrue:
		tell(false, "QuorumRegained", is)
	}
	if is = meta.FindStatusCondition(after, v1beta2.ConditionNameConflict); is != nil && meta.FindStatusCondition(before, is.Type) == nil {
		// One that holds up everything is told by whoever waits for it.
		if p := meta.FindStatusCondition(after, v1beta2.ConditionProgressing); p == nil || p.Reason != is.Type {
			tell(true, is.Reason, is)
		}
	}
	was, is = meta.FindStatusCondition(before, v1beta2.ConditionPaused), meta.FindStatusCondition(after, v1beta2.ConditionPaused)
	if was != nil && is != nil && was.Status == metav1.ConditionTrue && is.Status == metav1.ConditionFalse {
		tell(false, "Resumed", is)
	}
	return all
}
