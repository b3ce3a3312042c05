package suite

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestPodDeleted: three members are healthy again, with a client that hardly
// notices.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	victims := map[string]func(*cluster) string{"Follower": (*cluster).follower, "Leader": (*cluster).leader}
	for victim, choose := range victims {
		t.Run(victim+"WithEmptyDir", func(t *testing.T) {
			if victim == "Follower" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", harness.Size(3))
			c.settles(3, oneMinute)
			w := c.writes()
			gone := choose(c)
			c.losesPods(gone)
			c.becomes("healthy again", harness.All(withoutMember(gone), harness.Healthy(3)), oneMinute)
			w.noticed(aBlink)
			c.tells("ReplacingDeadMember", gone)
			c.settles(3, oneMinute)
			w.lostNothing(3)
		})
		t.Run(victim+"WithVolume", func(t *testing.T) {
			if victim == "Leader" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", harness.Size(3), harness.Volumes)
			c.settles(3, oneMinute)
			w := c.writes()
			gone, members := choose(c), c.members()
			c.losesPods(gone)
			c.becomes("healthy again", harness.All(sameMembers(members), harness.Healthy(3)), oneMinute)
			w.noticed(aBlink)
			c.tells("RestartingMember", gone)
			c.settles(3, oneMinute)
			w.lostNothing(3)
		})
	}
}

// TestEtcdKilled: the container restarts in place, and nobody is replaced.
func TestEtcdKilled(t *testing.T) {
	t.Parallel()
	needsNodeAccess(t)
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	members := c.members()
	for _, victim := range []string{c.follower(), c.leader()} {
		s.must(env.KillEtcd(victim))
		c.becomes("healthy again", harness.All(harness.Restarted(victim, 1), sameMembers(members), harness.Healthy(3)), oneMinute)
		w.noticed(anElection)
	}
	c.settles(3, oneMinute)
	w.lostNothing(3)
}

// TestAllPodsDeletedWithVolumes: everything comes back, with the data.
func TestAllPodsDeletedWithVolumes(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	w := c.writes()
	members, id := c.members(), c.State().Cluster.Status.ClusterID
	c.losesPods(members...)
	c.becomes("back", harness.All(sameMembers(members), harness.Healthy(3)), twoMinutes)
	w.goesOn(oneMinute)
	w.noticed(anOutage)
	c.settles(3, oneMinute)
	if got := c.State().Cluster.Status.ClusterID; got != id {
		t.Errorf("it is cluster %s, and was %s", got, id)
	}
	w.lostNothing(3)
}
