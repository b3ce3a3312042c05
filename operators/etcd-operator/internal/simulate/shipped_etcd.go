package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// members are the world's etcd, as the shipped operator reaches it.
type members struct{ *shipped }

func (m *members) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	answers := map[string]etcdclient.Answer{}
	m.model = m.modelled()
	_ = m.call(ctx, "asking members", nil, func() error { // who does not answer is left out
		for _, e := range endpoints {
			answers[e.Name] = m.answer(e)
		}
		return nil
	})
	return answers
}

// answer is what is heard at the address of an endpoint.
func (m *members) answer(e etcdclient.Endpoint) etcdclient.Answer {
	r := m.runAt(e.Addr)
	if r == nil {
		return etcdclient.Answer{Err: "i/o timeout", Trouble: "the connection timed out"}
	}
	a := m.w.answer(r)
	m.told[e.Name] = a
	if a.Waiting {
		return etcdclient.Answer{Launcher: &r.said}
	}
	out := etcdclient.Answer{
		Reached: a.Reached, ClusterID: a.ClusterID, MemberID: a.MemberID, Leader: a.Leader, Term: a.Term, RaftIndex: a.Committed, AppliedIndex: a.Applied,
		Learner: a.Learner, Version: a.Version, ClusterVersion: a.ClusterVersion, StorageVersion: a.StorageVersion, Downgrade: a.Downgrade,
		DBSize: a.DBSize, DBSizeInUse: a.DBSizeInUse, Quota: a.Quota, Revision: a.Revision, Errors: a.Errors, Read: a.Read,
		Refused: etcdclient.Refusal(a.Refused), RefusedBecause: a.RefusedBecause,
	}
	for _, alarm := range a.Alarms {
		out.Alarms = append(out.Alarms, etcdclient.Alarm{MemberID: alarm.MemberID, Kind: etcdclient.AlarmKind(alarm.Kind)})
	}
	list := m.listed(a.Members)
	if a.Read {
		out.Members = list
	} else {
		out.LocalMembers = list
	}
	return out
}

// listed is a member list as etcd gives it.
func (m *members) listed(view []plan.Member) []etcdclient.Member {
	c := m.w.object(&m.w.cluster)
	var out []etcdclient.Member
	for _, x := range view {
		e := etcdclient.Member{ID: x.ID, PeerURLs: []string{member.PeerURL(c, x.Name)}, Learner: x.Learner, Started: x.Started}
		if x.Started {
			e.Name = x.Name
		}
		out = append(out, e)
	}
	return out
}

// change asks the first of some members that is heard for a change.
func (m *members) change(ctx context.Context, what string, via []etcdclient.Endpoint, do func(*run) error) error {
	return m.call(ctx, what, etcdclient.ErrOutcomeUnknown, func() error {
		for _, e := range via {
			r := m.runAt(e.Addr)
			if r == nil || r.etcd == nil || !r.etcd.serves {
				continue
			}
			m.w.touch(what)
			m.w.asked++
			return asTold(do(r))
		}
		return etcdclient.ErrUnreachable
	})
}

// told are etcd's refusals, as the client tells them.
var told = map[error]error{
	errUnavailable: etcdclient.ErrOutcomeUnknown, errUnhealthy: etcdclient.ErrUnhealthy, errNotStarted: etcdclient.ErrNotEnoughStarted,
	errNotReady: etcdclient.ErrLearnerNotReady, errLearners: etcdclient.ErrTooManyLearners, errNotFound: etcdclient.ErrNotFound,
	errNotLearner: etcdclient.ErrNotLearner, errExists: etcdclient.ErrAlreadyExists,
}

func asTold(err error) error {
	for is, as := range told {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", as, err)
		}
	}
	return err
}

func (m *members) AddLearner(ctx context.Context, via []etcdclient.Endpoint, peerURL string) (uint64, error) {
	name := member.NameFromURL(peerURL)
	return 0, m.change(ctx, "adding a learner", via, func(r *run) error { return m.w.addMember(r, name) })
}

func (m *members) Promote(ctx context.Context, via []etcdclient.Endpoint, id uint64) error {
	return m.change(ctx, "promoting a learner", via, func(r *run) error {
		before := m.w.look(r)
		err := m.w.promoteMember(r, id)
		if err == nil {
			m.w.checkPromotion(m.op.todo, before, plan.Promote{ID: id})
		}
		return err
	})
}

func (m *members) Remove(ctx context.Context, via []etcdclient.Endpoint, id uint64) error {
	return m.change(ctx, "removing a member", via, func(r *run) error {
		before := m.w.look(r)
		err := m.w.removeMember(r, id)
		if err == nil {
			a, _ := m.op.todo.decision.Action.(plan.RemoveMember)
			m.w.checkRemoval(m.op.todo, before, a)
		}
		return err
	})
}

func (m *members) MoveLeader(ctx context.Context, leader etcdclient.Endpoint, id uint64) error {
	return m.change(ctx, "moving the leader", []etcdclient.Endpoint{leader}, func(r *run) error {
		if !r.etcd.leading {
			return etcdclient.ErrNotLeader
		}
		return m.w.transferLeadership(r, id)
	})
}

func (m *members) EnableDowngrade(ctx context.Context, via []etcdclient.Endpoint, to string) error {
	return m.change(ctx, "enabling a downgrade", via, func(r *run) error {
		return asRefused(m.w.enableBy(&m.w.births[r.disk.data.birth], to), etcdclient.ErrDowngradeRefused)
	})
}

func (m *members) CancelDowngrade(ctx context.Context, via []etcdclient.Endpoint) error {
	return m.change(ctx, "cancelling a downgrade", via, func(r *run) error {
		return asRefused(m.w.cancelBy(&m.w.births[r.disk.data.birth]), etcdclient.ErrNoDowngrade)
	})
}

func asRefused(err, as error) error {
	if err != nil {
		return as
	}
	return nil
}

func (m *members) AppendEntries(ctx context.Context, via []etcdclient.Endpoint, n int) error {
	return m.change(ctx, "appending entries", via, func(r *run) error { return m.w.appendNoops(r, n) })
}

// What follows is not simulated with the shipped code yet; its runs do not come to it.

func (m *members) Disarm(context.Context, []etcdclient.Endpoint, etcdclient.Alarm) error {
	panic("not simulated")
}
func (m *members) Compact(context.Context, []etcdclient.Endpoint, int64) error {
	panic("not simulated")
}
func (m *members) Defragment(context.Context, etcdclient.Endpoint) error { panic("not simulated") }
func (m *members) HashKV(context.Context, etcdclient.Endpoint, int64) (etcdclient.Hash, error) {
	panic("not simulated")
}
