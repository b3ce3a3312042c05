package suite

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestRestoreToNewClusters: a cluster is copied while it serves, and one is made where
// there is none. Each lives on without the EtcdRestore that has made it, save one that has
// never served.
func TestRestoreToNewClusters(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	vol := s.aVolume("backups")
	old := s.cluster("etcd", harness.Size(3), harness.Volumes)
	old.settles(3, oneMinute)
	w := old.writes()
	inStore, onVolume := st.at("etcd.db.zst"), vol.at("etcd.db")
	s.backup("packed", w.Writer, inStore, harness.OfCluster(old.Name), harness.Packed).isStored(oneMinute)
	s.backup("on-volume", w.Writer, onVolume, harness.OfCluster(old.Name)).isStored(oneMinute)
	pods := old.State().UIDs()

	ofOld := s.restore("copy", harness.AsNew(old.Name), inStore.from)
	ofTemplate := s.restore("template", harness.AsTemplate(harness.Size(1)), onVolume.from)
	s.restore(old.Name, harness.AsTemplate(harness.Size(1)), onVolume.from).isRefused(oneMinute, "AlreadyExists", old.Name)
	stuck := s.restore("stuck", harness.AsTemplate(harness.Size(1), harness.Nowhere), inStore.from)
	for _, made := range []struct {
		by      *restore
		at      place
		members int
	}{{ofOld, inStore, 3}, {ofTemplate, onVolume, 1}} {
		made.by.serves(oneMinute)
		c := s.existing(made.by.Name)
		m := c.isMirrored()
		m.holds(s.snapshotAt(made.at))
		made.by.completes(twoMinutes)
		c.becomes("free of the backup's volume", mountsOnlyItsOwn, twoMinutes)
		c.settles(made.members, twoMinutes)
		if c.State().Cluster.Status.ClusterID == old.State().Cluster.Status.ClusterID {
			t.Errorf("%s is taken for the cluster that it is a copy of", c.Name)
		}
		s.must(made.by.Delete(s.ctx))
		made.by.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
		if why := harness.Settled(made.members)(c.State()); why != "" {
			t.Errorf("without its EtcdRestore, %s: %s", c.Name, why)
		}
		m.holds(s.snapshotAt(made.at))
	}
	if len(ofOld.State().Retired) > 0 || len(s.existing("copy").State().Claims) != 3 {
		t.Errorf("the copy has %d volumes", len(s.existing("copy").State().Claims))
	}
	if why := samePods(pods)(old.State()); why != "" {
		t.Errorf("the cluster that was copied was touched: %s", why)
	}
	stuck.becomes("waiting for a node that is not there", oneMinute, harness.Every(harness.RestorePhases(v1beta2.RestoreVerifying), harness.WaitsFor("Pod ")))
	s.must(stuck.Delete(s.ctx))
	stuck.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	s.existing(stuck.Name).becomes("gone with it", func(s harness.State) string {
		if s.Cluster != nil {
			return "the EtcdCluster is still there"
		}
		return ""
	}, oneMinute)
	w.noticed(aBlink)
	w.lostNothing(3)
}
