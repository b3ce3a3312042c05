package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// members are the world's etcd, as the shipped operator reaches it.
type members struct{ *shipped }

func (m *members) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	answers := map[string]etcdclient.Answer{}
	if m.w.cfg.Compared {
		m.likened.model = m.modelled()
	}
	_ = m.call(ctx, "asking members", nil, func() error { // who does not answer is left out
		for _, e := range endpoints {
			answers[e.Name] = m.answer(ctx, e)
		}
		m.looks.answers = answers
		if m.w.main >= 0 {
			m.op.todo.asked = m.heard(answers)
		}
		return nil
	})
	return answers
}

// heard is what was so when those answers were given.
func (m *members) heard(answers map[string]etcdclient.Answer) *asked {
	b := &m.w.births[m.w.main]
	a := &asked{at: m.w.now, view: b.view, removed: b.removed, intact: m.w.intact(b.view) >= quorum(countVoters(b.view)), number: m.w.cluster.number}
	for _, v := range b.view {
		if !v.Learner && m.w.hasData(v.ID) && answered(answers, v.ID) {
			a.whole = append(a.whole, v.ID)
		}
	}
	return a
}

// answered reports whether a member has answered, and has a leader.
func answered(answers map[string]etcdclient.Answer, id uint64) bool {
	for _, a := range answers {
		if a.Reached && a.MemberID == id && a.Leader != 0 {
			return true
		}
	}
	return false
}

// answer is what is heard at the address of an endpoint.
func (m *members) answer(ctx context.Context, e etcdclient.Endpoint) etcdclient.Answer {
	r := m.runAt(e.Addr)
	if r == nil {
		return etcdclient.Answer{Err: "i/o timeout", Trouble: "the connection timed out"}
	}
	if !m.shakesHands(ctx, r) {
		return etcdclient.Answer{Err: "tls: unknown certificate authority", Trouble: "the TLS handshake failed"}
	}
	a := m.w.answer(r)
	m.likened.told[e.Name] = a
	if a.Waiting {
		return etcdclient.Answer{Launcher: &r.said}
	}
	if !a.Reached {
		return etcdclient.Answer{}
	}
	return etcdclient.SessionOf(ctx).Ask(ctx, authenticator{m, r}, func(token string) (etcdclient.Answer, error) {
		a := m.asEtcd(m.w.answer(r))
		return m.w.withheld(r, a, m.w.denied(r, token))
	})
}

// asEtcd is an answer as etcd gives it.
func (m *members) asEtcd(a facts.Answer) etcdclient.Answer {
	out := etcdclient.Answer{
		Reached: a.Reached, ClusterID: a.ClusterID, MemberID: a.MemberID, Leader: a.Leader, Term: a.Term, RaftIndex: a.Committed, AppliedIndex: a.Applied,
		Learner: a.Learner, Version: a.Version, ClusterVersion: a.ClusterVersion, StorageVersion: a.StorageVersion, Downgrade: a.Downgrade,
		DBSize: a.DBSize, DBSizeInUse: a.DBSizeInUse, Revision: a.Revision, Errors: a.Errors, Read: a.Read,
	}
	toldOfSpace(&out, a)
	list := m.listed(a.Members)
	if a.Read {
		out.Members = list
	} else {
		out.LocalMembers = list
	}
	return out
}

// listed is a member list as etcd gives it.
func (m *members) listed(view []facts.Member) []etcdclient.Member {
	out := make([]etcdclient.Member, 0, len(view))
	for _, x := range view {
		e := etcdclient.Member{ID: x.ID, PeerURLs: strings.Split(cmp.Or(x.At, m.w.peerURL(x.Name)), ","), Learner: x.Learner, Started: x.Started}
		if x.Started {
			e.Name = x.Name
		}
		out = append(out, e)
	}
	return out
}

// peerURL is where a member of a name is reached. It is the same in all of a run.
func (w *world) peerURL(name string) string {
	if w.shared.peerURLs == nil {
		w.shared.peerURLs = map[string]string{}
	}
	url, ok := w.shared.peerURLs[name]
	if !ok {
		url = member.PeerURL(w.object(&w.cluster), name)
		w.shared.peerURLs[name] = url
	}
	return url
}

// change asks the first of some members that is heard for a change.
func (m *members) change(ctx context.Context, what string, via []etcdclient.Endpoint, do func(*run) error) error {
	if x := m.w.rejection; x != nil {
		x.writes = append(x.writes, m.w.now)
	}
	return m.call(ctx, what, etcdclient.ErrOutcomeUnknown, func() error {
		for _, e := range via {
			r := m.runAt(e.Addr)
			if r == nil || r.etcd == nil || !r.etcd.serves || !m.shakesHands(ctx, r) {
				continue
			}
			if m.w.busy(r) {
				return etcdclient.ErrOutcomeUnknown
			}
			return m.authenticated(ctx, what, r, do)
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
	return 0, m.change(ctx, "adding a learner", via, func(r *run) error {
		m.w.checkAddition(m.op.todo, name)
		return m.w.addMember(r, name)
	})
}

func (m *members) Promote(ctx context.Context, via []etcdclient.Endpoint, id uint64) error {
	return m.change(ctx, "promoting a learner", via, func(r *run) error {
		before := m.w.look(r)
		err := m.w.promoteMember(r, id)
		if err == nil {
			m.w.checkPromotion(m.op.todo, before, action.Promote{ID: id, Name: nameOf(before.view, id)})
		}
		return err
	})
}

func (m *members) Remove(ctx context.Context, via []etcdclient.Endpoint, id uint64) error {
	return m.change(ctx, "removing a member", via, func(r *run) error {
		before := m.w.look(r)
		err := m.w.removeMember(r, id)
		if err == nil {
			m.w.checkRemoval(m.op.todo, before, removalOf(m.op.todo, before, id))
			m.w.checkNotByHand(m.op.todo, before, id)
			m.w.diskLost() // a majority is one of fewer members now
		}
		return err
	})
}

// removalOf is the removal that was sent, which may be another one than was decided on.
func removalOf(t *todo, before truth, id uint64) action.RemoveMember {
	a, _ := t.decision.Action.(action.RemoveMember)
	if a.ID == id {
		return a
	}
	a = action.RemoveMember{ID: id, Name: nameOf(before.view, id)}
	for i := range t.seen.Pods {
		if p := &t.seen.Pods[i]; p.Name == a.Name {
			a.Pod = p
		}
	}
	return a
}

// checkAddition: the learner that is added is the one that was decided on (S3), and no member that
// was removed before (S7). One that was removed before it got a start permit has never run: its Pod
// waits as a new one does, and cannot be told from one. Nor does etcd refuse one that another
// operator has added and removed between the last look and the call.
func (w *world) checkAddition(t *todo, name string) {
	if a, _ := t.decision.Action.(action.AddLearner); a.Name != name {
		w.fail("S3", "%q is added, and %q was decided on", name, a.Name)
	}
	if w.main < 0 {
		return
	}
	removed := w.births[w.main].removed
	if asked := w.askedBefore(t); asked != nil {
		removed = asked.removed
	}
	if slices.Contains(removed, name) && slices.Contains(w.hadPermits, name) {
		w.fail("S7", "%s is added, and was removed before", name)
	}
}

// checkNotByHand: what a person has added or moved is that person's (S9).
func (w *world) checkNotByHand(t *todo, before truth, id uint64) {
	if m := findMember(before.view, id); m != nil && (m.Foreign || m.At != "") && t.disturbed == w.disturbed {
		w.fail("S9", "%s is removed, and a person has added or moved it", m.Name)
	}
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
