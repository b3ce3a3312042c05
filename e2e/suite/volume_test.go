package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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
			if name != "OfAFollower" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", harness.Size(3), harness.Volumes)
			c.settles(3, oneMinute)
			w := c.writes()
			id, victim := c.State().Cluster.Status.ClusterID, tc.victim(c)

			s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 0) })
			c.losesPods(victim)
			c.podsEnd(oneMinute)
			tc.meanwhile(c, w, victim)
			s.within(oneMinute, func(ctx context.Context) error { return c.WipeVolume(ctx, victim) })
			s.tell("the volume of %s is empty", victim)
			s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 1) })

			c.becomes("healed by another member", harness.All(withoutMember(victim), harness.Healthy(3)), twoMinutes)
			w.noticed(aBlink)
			c.settles(3, oneMinute)
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
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	id, members := c.State().Cluster.Status.ClusterID, c.members()
	s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 0) })
	c.losesPods(members...)
	c.podsEnd(oneMinute)
	for _, m := range members {
		s.within(oneMinute, func(ctx context.Context) error { return c.WipeVolume(ctx, m) })
	}
	s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 1) })
	c.isLostForGood(id)
}

// TestVolumeSpoilt: a member whose data can't be read any more crashes for ever, and is
// replaced while clients write. The kubelet's pauses before it has crashed often enough
// take two and a half minutes.
func TestVolumeSpoilt(t *testing.T) {
	isLong(t)
	t.Parallel()
	needsNodeAccess(t)
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	w := c.writes()
	victim := c.follower()
	s.within(oneMinute, func(ctx context.Context) error { return c.SpoilLog(ctx, victim) })
	s.must(env.KillEtcd(victim))
	s.tell("the log of %s is garbage, and its etcd was killed", victim)
	c.becomes("healed by another member", harness.All(withoutMember(victim), harness.Healthy(3)), fourMinutes)
	w.noticed(anElection)
	c.settles(3, oneMinute)
	c.tells("ReplacingDeadMember", victim, "crash-loops because its data is damaged")
	w.lostNothing(3)
}

// TestVolumeDeleted: whoever deletes the PVC of the only member loses nothing: Kubernetes waits for
// the end of its Pod, and another member has the data by then.
func TestVolumeDeleted(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(1), harness.Volumes)
	c.settles(1, oneMinute)
	w, gone := c.writes(), c.seed()
	s.kubectl("delete", "pvc", gone, "--wait=false")
	c.becomes("moved to another volume", harness.All(withoutMember(gone), harness.Settled(1)), twoMinutes)
	c.tells("MemberMoved", gone, "its PVC is being deleted")
	w.noticed(anElection)
	w.lostNothing(1)
}

// growth is what makes the volumes of an EtcdCluster grow.
const growth = `{"spec":{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"2Gi"}}}}}}`

// TestGrowth: volumes of a class that allows it grow one at a time, and nothing restarts.
// The test is what resizes volumes, so it needs a cluster where nothing else does.
func TestGrowth(t *testing.T) {
	t.Parallel()
	needsNodeAccess(t)
	s := anOperatorWith(t, harness.Install{Nodes: true})
	remove, err := env.GrowingClass(s.ctx, s.ns)
	s.must(err)
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("clear up: %v", err)
		}
	})
	c := s.cluster("etcd", harness.Size(3), harness.Volumes, harness.OfClass(s.ns))
	c.settles(3, oneMinute)
	w, before := c.writes(), c.restarts()
	s.kubectl("patch", "etcd", "etcd", "--type=merge", "-p", growth)
	for i := range 3 {
		c.becomes("growing", harness.All(
			harness.ConditionSays(v1beta2.ConditionStorageResizing, true, "ExpandingVolume", fmt.Sprintf("%d of 3 PVCs have 2Gi", i)),
			asks(i+1),
		), twoMinutes)
		for _, claim := range c.State().Claims {
			s.must(env.Resize(s.ctx, &claim))
		}
	}
	c.becomes("settled", harness.All(harness.Settled(3), hasCapacity("2Gi")), twoMinutes)
	c.tells("ExpandingVolume", "from 1Gi to 2Gi")
	c.isUnrestarted(before)
	w.noticedNoFailure(aBlink)
	w.lostNothing(3)
}

// asks: that many volumes are asked to have 2 GiB, and no more.
func asks(n int) harness.Check {
	return func(s harness.State) string {
		var got []string
		for _, c := range s.Claims {
			if c.Spec.Resources.Requests.Storage().String() == "2Gi" {
				got = append(got, c.Name)
			}
		}
		if len(got) != n {
			return fmt.Sprintf("%v are to have 2Gi, want %d", got, n)
		}
		return ""
	}
}

// hasCapacity: all volumes have that size, and nothing is told of their growth any more.
func hasCapacity(want string) harness.Check {
	return func(s harness.State) string {
		for _, c := range s.Claims {
			if got := c.Status.Capacity.Storage().String(); got != want {
				return fmt.Sprintf("volume %s has %s", c.Name, got)
			}
		}
		if c := meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionStorageResizing); c != nil {
			return "it says: " + c.Message
		}
		return ""
	}
}

// TestGrowthRefused: localkube's volumes can't grow. That is said, by what the storage
// class tells and by what the API server says to an operator that may not read it.
func TestGrowthRefused(t *testing.T) {
	isLong(t)
	t.Parallel()
	for name, tc := range map[string]struct {
		install harness.Install
		words   string
	}{
		"ByTheClass":     {harness.Install{Nodes: true}, "storage class local-path has allowVolumeExpansion: false"},
		"ByTheAPIServer": {harness.Install{}, "cannot expand PVC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anOperatorWith(t, tc.install)
			c := s.cluster("etcd", harness.Size(1), harness.Volumes)
			c.settles(1, oneMinute)
			w := c.writes()
			s.kubectl("patch", "etcd", "etcd", "--type=merge", "-p", growth)
			c.becomes("told that it can't", harness.Condition(v1beta2.ConditionStorageResizing, false, "ExpansionRefused"), twoMinutes)
			if said := s.kubectl("get", "etcd", "etcd", "-o", `jsonpath={.status.conditions[?(@.type=="StorageResizing")].message}`); !strings.Contains(said, tc.words) || !strings.Contains(said, "restore a backup") {
				t.Errorf("it says %q, want %q in it, and what to do", said, tc.words)
			}
			w.noticed(aBlink)
			w.lostNothing(1)
		})
	}
}

// TestVolumesRetained: volumes outlive their EtcdCluster if they are to, nothing begins
// empty over them, and all keys are back when they are asked for.
func TestVolumesRetained(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	retain := func(c *v1beta2.EtcdCluster) {
		c.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
	}
	c := s.cluster("etcd", harness.Size(3), harness.Volumes, retain)
	c.settles(3, oneMinute)
	w := c.holdsKeys(500)
	id, members := c.State().Cluster.Status.ClusterID, c.members()
	s.must(c.Delete(s.ctx))
	c.becomes("gone but for its volumes", func(st harness.State) string { return atMost(len(st.Pods), 0, "Pods") }, twoMinutes)

	c = s.cluster("etcd", harness.Size(3), harness.Volumes, retain)
	c.becomes("told that there are volumes", harness.Condition(v1beta2.ConditionProgressing, false, "ClusterExisted"), oneMinute)
	s.kubectl("annotate", "etcd", "etcd", v1beta2.AnnotationAdoptVolumes+"="+v1beta2.AdoptAny)
	c.settles(3, twoMinutes)
	if got := c.State().Cluster.Status.ClusterID; got != id {
		t.Errorf("it is cluster %s, and was %s", got, id)
	}
	if why := sameMembers(members)(c.State()); why != "" {
		t.Error(why)
	}
	w.lostNothing(3)

	// With the other policy they go with it.
	s.kubectl("patch", "etcd", "etcd", "--type=merge", "-p", `{"spec":{"storage":{"deletionPolicy":"Delete"}}}`)
	s.within(oneMinute, func(ctx context.Context) error {
		_, err := env.Kubectl.Run(ctx, "-n", s.ns, "wait", "pvc", "-l", "etcd_cluster=etcd", "--for=jsonpath={.metadata.ownerReferences[0].kind}=EtcdCluster", "--timeout=50s")
		return err
	})
	s.must(c.Delete(s.ctx))
	c.becomes("gone without a trace", harness.Nothing, twoMinutes)
}

// atMost says that there are more of something than there should be.
func atMost(n, most int, what string) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf("there are %d %s", n, what)
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
