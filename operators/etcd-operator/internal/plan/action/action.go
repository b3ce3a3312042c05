package action

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Action is one effect on the world. Each is safe to repeat, and to stop in the
// middle: the next Observation shows how far it came.
//
//sumtype:decl
type Action interface {
	// traits also keeps the type sealed: a linter checks that each switch over it has all
	// actions.
	traits() traits
}

// traits are what holds of an action wherever it goes. Its type says so, and no other place;
// what it leaves out is false, or empty.
type traits struct {
	// kind names the action in metrics, events and logs, such as "AddLearner".
	kind string
	// record writes into the status what the action latches there; nil if it latches nothing,
	// and its effect is observed.
	record func(*v1beta2.ClusterStatus)
	// object is the name of the one object whose change the API server can reject. It is empty for an action on
	// several objects, or on none.
	object string
	// step is true of a step on the way to something that is told when it is there: it gets no
	// event of its own.
	step bool
	// warning is true if its event is a Warning.
	warning bool
	// member is the name of the one member that its event is about.
	member string
	// adopts is the name of the Pod that is the cluster from then on.
	adopts string
	// ofFence is true of etcd-operator's part of a restore: it is carried out on an
	// EtcdCluster that is fenced.
	ofFence bool
}

// KindOf names an action in metrics, events and logs.
func KindOf(a Action) string { return a.traits().kind }

// Records reports whether an action is carried out by writing the status, or is done only
// when that has succeeded.
func Records(a Action) bool { return a != nil && a.traits().record != nil }

// Record writes into a status what an action latches there, if it does.
func Record(a Action, s *v1beta2.ClusterStatus) {
	if Records(a) {
		a.traits().record(s)
	}
}

// IsStep reports whether an action is a step on the way to something that is told when it is
// there: it gets no event of its own.
func IsStep(a Action) bool { return a.traits().step }

// IsWarning reports whether the event of an action is a Warning.
func IsWarning(a Action) bool { return a.traits().warning }

// MemberOf is the name of the one member that the event of an action is about; empty if it is
// about no single one.
func MemberOf(a Action) string { return a.traits().member }

// Adopts is the name of the Pod that is the cluster once an action is carried out; empty for
// most, and for none.
func Adopts(a Action) string {
	if a == nil {
		return ""
	}
	return a.traits().adopts
}

// IsOfFence reports whether an action is etcd-operator's part of a restore: it is written
// against the EtcdCluster that was observed, which is fenced.
func IsOfFence(a Action) bool { return a.traits().ofFence }
