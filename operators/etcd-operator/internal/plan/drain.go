package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What this file says is how a member is taken from its clients and from its leadership,
// before it is restarted, defragmented or removed (S8). One is taken at a time. Of several
// that two operators have marked at once, the one that is to leave gives way to the one
// that is to be defragmented (canShrink), and both to the one that is to be restarted
// (canDefragment), so that none waits for the other.

// routeLag is for how long after its mark a member may still get new clients: a node's
// kube-proxy follows the Service's endpoints at most once in a second (its minSyncPeriod).
const routeLag = time.Second

// drain marks a member's Pod with the role in which no new clients are sent to it, and
// then transfers its leadership. It is nil when both have been done. next says what
// is done to the member then, such as "its removal".
func drain(v *facts.View, m *facts.Member, role facts.Role, reason, next string) *step {
	if p := v.PodOf[m.Name]; p != nil && p.Role != role {
		return do(SetRoles{[]PodRole{{p.Name, p.UID, role}}}, reason, fmt.Sprintf("started draining member %s before %s", m.Name, next))
	}
	if m.ID != v.Leader {
		return nil
	}
	return transferLeadership(v, m)
}

// transferLeadership moves leadership from a member to a transferee; nil if there is none.
func transferLeadership(v *facts.View, m *facts.Member) *step {
	transferee := transferee(v, *m)
	if transferee == nil {
		return nil
	}
	return do(TransferLeadership{m.Name, transferee.Name, transferee.ID}, v1beta2.ClusterReasonTransferringLeadership, fmt.Sprintf("transferred leadership from %s to %s", m.Name, transferee.Name))
}

// awaitUnrouted waits until no new clients are sent to a member that was marked; nil when
// none are.
func awaitUnrouted(v *facts.View, m *facts.Member, reason, next string) *step {
	p := v.PodOf[m.Name]
	if p == nil {
		return nil
	}
	if p.Routed {
		return wait(fastPoll, reason, fmt.Sprintf("waiting for the Service to stop routing to member %s before %s", m.Name, next))
	}
	if left := routeLag - v.Now.Sub(p.RoleSince); left > 0 {
		return wait(left, reason, fmt.Sprintf("waiting for kube-proxy to stop routing to member %s before %s", m.Name, next))
	}
	return nil
}
