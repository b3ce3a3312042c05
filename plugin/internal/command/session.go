package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// requestTimeout bounds a request that is answered at once.
const requestTimeout = 15 * time.Second

// opened is a cluster with port-forwards to its members, and what they said.
type opened struct {
	*scene
	*tunnel.Tunnel
	ctx     context.Context
	answers map[string]etcdclient.Answer
}

// reach opens port-forwards, and asks each member what it knows. The caller closes it.
func (a *App) reach(ctx context.Context, name string) (*opened, error) {
	s, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := a.tunnel(ctx, s)
	if err != nil {
		return nil, err
	}
	o := &opened{scene: s, Tunnel: t, ctx: t.Context(ctx)}
	o.ask()
	return o, nil
}

// ask asks all members anew.
func (o *opened) ask() { o.answers = o.Ask(o.ctx, askTimeout) }

// troubles says which members did not answer, and why.
func (o *opened) troubles() string {
	var all []string
	for name, a := range o.answers {
		if !a.Reached {
			all = append(all, name+": "+cmp.Or(a.Trouble, a.RefusedBecause, a.Err))
		}
	}
	for name, err := range o.Failed {
		all = append(all, name+": "+err.Error())
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return " (" + strings.Join(all, "; ") + ")"
}

// follower is the member to read from: one that has applied the most, and rather not the leader,
// which has the most to do.
func (o *opened) follower() (*tunnel.Member, error) {
	var best *tunnel.Member
	score := func(a etcdclient.Answer) uint64 {
		if a.Leader == a.MemberID {
			return 0
		}
		return a.AppliedIndex
	}
	for i := range o.Members {
		m := &o.Members[i]
		if a := o.answers[m.Name]; a.Reached && !a.Learner && a.Read && (best == nil || score(a) > score(o.answers[best.Name])) {
			best = m
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no member of %s serves reads by a quorum%s", o.title(), o.troubles())
	}
	return best, nil
}
