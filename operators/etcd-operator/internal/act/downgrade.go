package act

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// enableDowngrade asks etcd to lower its cluster version, if all Pods, read live, are as
// they were observed: none of them is being restarted with another version (S6, S11).
func (a *Actor) enableDowngrade(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.EnableDowngrade) error {
	if err := a.podsUnchanged(ctx, c, obs); err != nil {
		return err
	}
	err := a.Etcd.EnableDowngrade(ctx, voters(c, obs), x.To)
	return staleIf(Downgrade, func(err error) bool { return errors.Is(err, etcdclient.ErrDowngradeRefused) }, err, "lower etcd's cluster version")
}

// cancelDowngrade takes that back, if all Pods, read live, are as they were observed: no
// image of an earlier minor is on its way to a member (S10, S11).
func (a *Actor) cancelDowngrade(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	if err := a.podsUnchanged(ctx, c, obs); err != nil {
		return err
	}
	err := a.Etcd.CancelDowngrade(ctx, laterFirst(obs, voters(c, obs)))
	return staleIf(Downgrade, func(err error) bool { return errors.Is(err, etcdclient.ErrNoDowngrade) }, err, "cancel etcd's downgrade")
}

// laterFirst puts the members of etcd 3.5 last: they cancel a downgrade and do not answer.
func laterFirst(obs *facts.Observation, via []etcdclient.Endpoint) []etcdclient.Endpoint {
	rank := func(e etcdclient.Endpoint) int {
		if p := podNamed(obs, e.Name); p != nil && !strings.HasPrefix(p.Answer.Version, "3.5.") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(via, func(a, b etcdclient.Endpoint) int { return rank(a) - rank(b) })
	return via
}

// podsUnchanged reads the Pods live, and then the EtcdCluster once more.
func (a *Actor) podsUnchanged(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	if _, err := a.allAsObserved(ctx, c, obs); err != nil {
		return err
	}
	return a.unchanged(ctx, c, BeforeDowngrade)
}
