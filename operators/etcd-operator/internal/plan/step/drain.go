package step

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What this file says is how a member is taken from its clients and from its leadership,
// before it is restarted, defragmented or removed (S8). One is taken at a time. Of several
// that two operators have marked at once, the one that is to leave gives way to the one
// that is to be defragmented (canShrink), and both to the one that is to be restarted
// (canDefragment), so that none waits for the other.

// RouteLag is for how long after its mark a member may still get new clients: a node's
// kube-proxy follows the Service's endpoints at most once in a second (its minSyncPeriod).
const RouteLag = time.Second

// Drain marks a member's Pod with the role in which no new clients are sent to it, and
// then transfers its leadership. It is nil when both have been done. next says what
// is done to the member then, such as "its removal".
func Drain(v *facts.View, m *facts.Member, role facts.Role, reason, next string) *Step {
	if p := v.PodOf[m.Name]; p != nil && p.Role != role {
		return Do(action.SetRoles{Roles: []action.PodRole{{Name: p.Name, UID: p.UID, Role: role}}}, reason, fmt.Sprintf("started draining member %s before %s", m.Name, next))
	}
	if m.ID != v.Leader {
		return nil
	}
	return TransferLeadership(v, m)
}

// TransferLeadership moves leadership from a member to a transferee; nil if there is none. Only
// the one that leads can be asked for it: without a Pod it has to lose it by itself.
func TransferLeadership(v *facts.View, m *facts.Member) *Step {
	transferee := transferee(v, *m)
	if transferee == nil {
		return nil
	}
	if v.PodOf[m.Name] == nil {
		return Wait(Shortly, v1beta2.ClusterReasonTransferringLeadership, fmt.Sprintf("waiting for another member to lead: %s has no Pod that can be asked to transfer leadership; if its container runs on, stop its node", m.Name))
	}
	return TransferLeadershipTo(m, transferee)
}

// TransferLeadershipTo moves leadership from the member that leads to another voter.
func TransferLeadershipTo(from, to *facts.Member) *Step {
	return Do(action.TransferLeadership{From: from.Name, To: to.Name, ToID: to.ID}, v1beta2.ClusterReasonTransferringLeadership, fmt.Sprintf("transferred leadership from %s to %s", from.Name, to.Name))
}

// AwaitUnrouted waits until no new clients are sent to a member that was marked; nil when
// none are.
func AwaitUnrouted(v *facts.View, m *facts.Member, reason, next string) *Step {
	p := v.PodOf[m.Name]
	if p == nil {
		return nil
	}
	if p.Routed {
		return Wait(FastPoll, reason, fmt.Sprintf("waiting for the Service to stop routing to member %s before %s", m.Name, next))
	}
	if left := RouteLag - v.Now.Sub(p.RoleSince); left > 0 {
		return Wait(left, reason, fmt.Sprintf("waiting for kube-proxy to stop routing to member %s before %s", m.Name, next))
	}
	return nil
}

// transferee is a healthy voter to take over the lead from the one that leaves: the one that
// has been ready the longest. Most clients are with it, when others have been restarted
// since; and the writes of its own clients wait while it takes over, where those that come
// to the old leader are dropped, and those to the others too, without a word (raft).
func transferee(v *facts.View, from facts.Member) *facts.Member {
	var transferee *facts.Member
	for i := range v.Voters {
		m := &v.Voters[i]
		if m.ID == from.ID || !v.Healthy[m.ID] {
			continue
		}
		if transferee == nil || v.PodOf[m.Name].ReadySince.Before(v.PodOf[transferee.Name].ReadySince) {
			transferee = m
		}
	}
	return transferee
}
