package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file is what an operator asks of etcd; see act.go.

// endpoint is a member that the operator reaches and that answers a linearizable
// read; nil if there is none.
func (w *world) endpoint(op *operator) *run {
	for _, r := range w.etcds() {
		if w.sees(op, r.node) && w.pod(r.name) != nil && w.pod(r.name).uid == r.uid && r.disk.data.cluster == w.cluster.clusterID && w.readable(r) {
			return r
		}
	}
	return nil
}

// changeMembers does something if the member list is still the one decided on.
func (w *world) changeMembers(op *operator, t *todo, members []facts.Member, change func(*run) error) error {
	r := w.endpoint(op)
	if r == nil {
		return errNobody
	}
	if t.looked && w.refuses(r) != "" {
		return errUnauthorized
	}
	if t.looked {
		w.touch("members are changed")
		return change(r)
	}
	if !slices.Equal(r.disk.data.view, members) && !w.cfg.has(NoMemberList) {
		return errConflict
	}
	if t.torn {
		t.looked = true
		return errTorn
	}
	if w.refuses(r) != "" {
		return errUnauthorized
	}
	w.touch("members are changed")
	return change(r)
}

// quorumStays asks the members that were readable whether those who stay are a quorum.
func (w *world) quorumStays(op *operator, t *todo, a action.RemoveMember) bool {
	voters, n := 0, 0
	for _, m := range a.Members {
		if m.Learner || m.ID == a.ID {
			continue
		}
		voters++
		for i := range t.seen.Pods {
			p := &t.seen.Pods[i]
			if p.Answer.Read && p.Answer.ClusterID == t.seen.Cluster.ClusterID && p.Answer.MemberID == m.ID {
				r := w.runOf(p.UID)
				n += boolInt(r != nil && w.sees(op, r.node) && w.answers(r) && r.etcd.leader != 0)
			}
		}
	}
	return n >= quorum(voters)
}

// askEtcd asks a member for a change if the member list is still the one decided on.
func (w *world) askEtcd(op *operator, t *todo, members []facts.Member, change func(*run) error) error {
	return w.changeMembers(op, t, members, func(r *run) error {
		w.asked++
		return change(r)
	})
}

func (w *world) askLeader(op *operator, a action.TransferLeadership) error {
	for _, r := range w.etcds() {
		if r.name == a.From && r.etcd.leading && w.sees(op, r.node) {
			if w.refuses(r) != "" {
				return errUnauthorized
			}
			w.touch("the leader is moved")
			w.asked++
			return w.transferLeadership(r, a.ToID)
		}
	}
	return errUnavailable
}
