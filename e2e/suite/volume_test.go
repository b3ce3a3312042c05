package suite

import (
	"context"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestVolumeEmptied: a member whose disk comes back empty has forgotten its votes.
// It is never let in again under its old name: etcd itself would not refuse it.
func TestVolumeEmptied(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		victim func(*cluster) string
		// meanwhile happens while the member is down.
		meanwhile func(c *cluster, w *etcdClient, victim string)
	}{
		"OfAFollower": {victim: (*cluster).follower, meanwhile: nothing},
		"OfTheSeed":   {victim: (*cluster).seed, meanwhile: nothing},
		// The new leader knows nothing of how far the member had come.
		"BeforeAChangeOfLeader": {victim: (*cluster).follower, meanwhile: (*cluster).changesLeader},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", harness.Size(3), harness.Volumes)
			c.settles(3, soon)
			w := c.writes()
			id, victim := c.State().Cluster.Status.ClusterID, tc.victim(c)

			s.within(soon, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 0) })
			c.losesPods(victim)
			c.podsEnd(soon)
			tc.meanwhile(c, w, victim)
			s.within(soon, func(ctx context.Context) error { return c.WipeVolume(ctx, victim) })
			s.tell("the volume of %s is empty", victim)
			s.within(soon, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 1) })

			c.becomes("healed by another member", harness.All(withoutMember(victim), harness.Healthy(3)), later)
			w.noticed(aBlink)
			c.settles(3, soon)
			c.tells("ReplacingDeadMember", victim, "empty")
			if got := c.State().Cluster.Status.ClusterID; got != id {
				t.Errorf("it is cluster %s, and was %s", got, id)
			}
			w.lostNothing(3)
		})
	}
}

// TestAllVolumesEmptied: there is nothing left to heal from, and no fresh cluster
// is made.
func TestAllVolumesEmptied(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, soon)
	id, members := c.State().Cluster.Status.ClusterID, c.members()
	s.within(soon, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 0) })
	c.losesPods(members...)
	c.podsEnd(soon)
	for _, m := range members {
		s.within(soon, func(ctx context.Context) error { return c.WipeVolume(ctx, m) })
	}
	s.within(soon, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 1) })
	c.isLostForGood(id)
}

func nothing(*cluster, *etcdClient, string) {}

// seed is the member that the cluster began with.
func (c *cluster) seed() string { return c.State().Cluster.Status.Bootstrap.Member }

// changesLeader makes another of the members that run the leader.
func (c *cluster) changesLeader(w *etcdClient, down string) {
	c.s.t.Helper()
	members, err := w.Members(c.s.ctx)
	c.s.must(err)
	for _, m := range members {
		if m.Name != down && !m.Leader {
			c.s.must(w.MoveLeader(c.s.ctx, m.Name))
			c.s.tell("%s leads now", m.Name)
			return
		}
	}
	c.s.t.Fatal("there is nobody to lead")
}
