package suite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/snapshotcheck"
)

// TestOperatorsKilledDuringRestores: whichever it is, in whichever phase, the next one
// finishes what it finds half done.
func TestOperatorsKilledDuringRestores(t *testing.T) {
	isLong(t)
	t.Parallel()
	for victim, options := range map[string][]harness.Option{
		harness.OperatorName:        nil,
		harness.RestoreOperatorName: {harness.Volumes},
	} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			s := anOperator(t)
			st := allOperators(s)
			c := s.cluster("etcd", append(options, harness.Size(3))...)
			c.settles(3, oneMinute)
			w := c.adds("first", "first/", 100)
			s.backup("backup", w.Writer, st.at("etcd.db"), harness.OfCluster(c.Name)).becomes("stored", oneMinute, harness.Stored)
			snapshot, m := s.snapshotAt(st.at("etcd.db")), c.isMirrored()
			for i, phase := range []v1beta2.RestorePhase{
				v1beta2.RestoreFencing, v1beta2.RestoreVerifying, v1beta2.RestoreSeeding, v1beta2.RestoreHandedOff,
			} {
				uid := c.State().Cluster.UID
				r := s.restore("in-"+strings.ToLower(string(phase)), harness.InPlace(c.Name), st.at("etcd.db").from)
				r.becomes(string(phase), oneMinute, reached(phase))
				s.must(env.KillDeployment(s.ctx, s.ns, victim))
				s.tell("%s is killed", victim)
				r.completes(twoMinutes)
				c.settles(3, twoMinutes)
				m.holds(snapshot)
				m.noticedRestores(i+1, i+1)
				if now := c.State().Cluster; now.UID != uid {
					t.Errorf("it is the EtcdCluster %s, and was %s", now.UID, uid)
				}
			}
			c.writes().lostNothing(3)
		})
	}
}

// reached: it is in that phase or a later one; a phase may be over in no time.
func reached(phase v1beta2.RestorePhase) harness.RestoreCheck {
	all := []v1beta2.RestorePhase{
		v1beta2.RestoreFencing, v1beta2.RestoreVerifying, v1beta2.RestoreSeeding, v1beta2.RestoreHandedOff, v1beta2.RestoreComplete,
	}
	for len(all) > 0 && all[0] != phase {
		all = all[1:]
	}
	return harness.RestorePhases(all...)
}

// TestRestorePreparesBesideMembers: while the seed fetches, the old members serve; a restore
// that is given up by then has stopped none of them, also where they have no volumes. One that
// goes on stops them only when the seed is ready, and clients hardly notice.
func TestRestorePreparesBesideMembers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]harness.Option{"WithVolumes": {harness.Volumes}, "WithoutVolumes": nil} {
		t.Run(name, func(t *testing.T) {
			if name == "WithVolumes" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			st := allOperators(s)
			var proxy *harness.StallProxy
			s.within(oneMinute, func(ctx context.Context) (err error) {
				proxy, err = env.StartStallProxy(ctx, s.view, s.ns)
				return err
			})
			c := s.cluster("etcd", append(options, harness.Size(3))...)
			c.settles(3, oneMinute)
			w := c.writes()
			s.backup("backup", w.Writer, st.at("etcd.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
			through := st.by(proxy.Endpoint, bucket+"/etcd.db").from
			pods := c.State().UIDs()
			w.noticed(aBlink)

			if len(options) == 0 {
				asks := s.restore("asks", harness.InPlace(c.Name), harness.WithoutConsent, through)
				asks.becomes("waiting for consent", oneMinute, harness.WaitsFor("spec.acceptDataLoss"))
				asks.tells("DataLossNotAccepted", "acceptDataLoss")
				s.must(asks.Delete(s.ctx))
				asks.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
			}
			s.must(proxy.ShutDownloads(s.ctx, 0))
			r := s.restore("restore", harness.InPlace(c.Name), through)
			r.becomes("preparing", oneMinute, harness.RestorePhases(v1beta2.RestoreVerifying))
			s.within(oneMinute, proxy.Holds)
			w.goesOn(oneMinute)
			for _, uid := range pods {
				if !slices.Contains(c.State().UIDs(), uid) {
					t.Error("a member was stopped before its seed was ready")
				}
			}
			s.must(r.Delete(s.ctx))
			r.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
			c.becomes("given back", harness.All(samePods(pods), harness.Settled(3)), twoMinutes)
			w.noticed(aBlink)
			w.lostNothing(3)

			s.must(proxy.Open(s.ctx))
			snapshot, m := s.snapshotAt(st.at("etcd.db")), c.isMirrored()
			again := s.restore("again", harness.InPlace(c.Name), through)
			again.completes(twoMinutes)
			if jobs := again.State().Jobs; len(jobs) > 0 {
				t.Errorf("the snapshot was fetched twice: there is the Job %s", jobs[0].Name)
			}
			m.holds(snapshot)
			c.settles(3, twoMinutes)
		})
	}
}

// TestRestoreWithoutRoomForItsSeed: that no node has room for the seed beside the members is
// reported before a member is stopped, and they go on serving.
func TestRestoreWithoutRoomForItsSeed(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	w := c.writes()
	s.backup("backup", w.Writer, st.at("etcd.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
	pods := c.State().UIDs()
	w.noticed(aBlink)

	r := s.restore("restore", harness.InPlace(c.Name), harness.SeedOfMemory("1Ti"), st.at("etcd.db").from)
	r.tells("SeedNotStarting", "Insufficient memory", "the old members still serve", "set spec.stopMembers: First")
	w.goesOn(oneMinute)
	for _, uid := range pods {
		if !slices.Contains(c.State().UIDs(), uid) {
			t.Error("a member was stopped although there is no room for the seed")
		}
	}
	s.must(r.Delete(s.ctx))
	r.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	c.becomes("given back", harness.All(samePods(pods), harness.Settled(3)), twoMinutes)
	w.noticed(aBlink)
	w.lostNothing(3)
}

// TestRestoreGivenUp: before the hand-over, a restore that is deleted or fails gives the
// cluster back as it was, with all that was written to it.
func TestRestoreGivenUp(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	var proxy *harness.StallProxy
	s.within(oneMinute, func(ctx context.Context) (err error) {
		proxy, err = env.StartStallProxy(ctx, s.view, s.ns)
		return err
	})
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	w := c.writes()
	s.backup("backup", w.Writer, st.at("etcd.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
	s.backup("another", w.Writer, st.at("another.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
	through := st.by(proxy.Endpoint, bucket+"/etcd.db").from
	members, id, uid := c.members(), c.State().Cluster.Status.ClusterID, c.State().Cluster.UID
	// halfWay begins a restore and returns when its seed fetches what it never gets.
	halfWay := func(name string) *restore {
		t.Helper()
		c.pause(true) // no fence before the proxy stalls
		s.must(proxy.Open(s.ctx))
		r := s.restore(name, harness.InPlace(c.Name), harness.MembersFirst, through)
		r.becomes("verified", oneMinute, harness.Every(harness.RestoreCondition(v1beta2.ConditionVerified, true, ""), harness.RestorePhases(v1beta2.RestoreFencing)))
		s.must(proxy.ShutDownloads(s.ctx, 0))
		c.pause(false)
		s.within(oneMinute, proxy.Holds)
		r.becomes("half-way", oneMinute, harness.RestorePhases(v1beta2.RestoreSeeding))
		if n := len(r.State().Retired); n != 3 {
			t.Errorf("%d volumes of the old members are kept, want 3", n)
		}
		return r
	}
	// isGivenBack: the old members serve, on their volumes.
	isGivenBack := func() {
		t.Helper()
		c.becomes("given back", harness.All(sameMembers(members), harness.Settled(3)), twoMinutes)
		w.goesOn(oneMinute)
		w.noticed(anOutage)
		if now := c.State().Cluster; now.Status.ClusterID != id || now.Status.FencedBy != "" || now.UID != uid {
			t.Errorf("it is not the cluster that it was: %+v", now.Status)
		}
	}

	c.pause(true)
	paused := s.restore("paused", harness.InPlace(c.Name), st.at("etcd.db").from)
	paused.becomes("waiting for a cluster that is paused", oneMinute, harness.RestoreCondition(v1beta2.ConditionFenced, false, "", "paused"))
	s.must(paused.Delete(s.ctx))
	paused.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	c.pause(false)
	c.settles(3, oneMinute)
	w.noticed(aBlink)

	deleted := halfWay("deleted")
	s.must(deleted.Delete(s.ctx))
	deleted.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	isGivenBack()

	replaced := halfWay("replaced")
	s.must(st.DamageObject(s.ctx, bucket, "another.db", "etcd.db", snapshotcheck.Unharmed))
	seed := replaced.State().Seed
	if seed == nil {
		t.Fatal("there is no seed")
	}
	// What it has begun to fetch is the old one still.
	s.kubectl("delete", "pod", seed.Name, "--force", "--grace-period=0")
	s.must(proxy.Open(s.ctx))
	replaced.isRefused(twoMinutes, "SnapshotChanged")
	isGivenBack()

	s.must(replaced.Delete(s.ctx))
	replaced.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	c.stays("as it was", 2*time.Second, harness.All(sameMembers(members), harness.Settled(3)))
	w.lostNothing(3)
}
