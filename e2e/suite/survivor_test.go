package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
)

// TestBeginsAnewWithASurvivor: a majority's data is gone, and its user has said that the
// cluster goes on with what a survivor has. Every write that the survivor knew to be
// committed is there: here all that was acknowledged, since the last of it was written
// some heartbeats before the loss. Who watched sees time go forward.
func TestBeginsAnewWithASurvivor(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.WithSurvivor)
	c.settles(3, oneMinute)
	c.holdsKeys(1000)
	m := c.isMirrored()
	before, content := c.State().Cluster.Status, m.content()
	survivor := c.follower()

	c.losesAllBut(survivor)
	c.hasBegunAnew(before, survivor)
	if now := m.holds(content); now.Revision < before.HighestRevision+theLeastBump {
		t.Errorf("it is at revision %d, want %d beyond %d at least", now.Revision, theLeastBump, before.HighestRevision)
	}
	m.noticedRestores(1, 1)
}

// TestAPersonAsksForASurvivor: without the policy nothing is done to the cluster; what is
// said of it has all that a person needs, and an annotation lets it begin anew once.
func TestAPersonAsksForASurvivor(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	c.holdsKeys(1000)
	m := c.isMirrored()
	before, content := c.State().Cluster.Status, m.content()
	survivor := c.leader()

	c.losesAllBut(survivor)
	asks := fmt.Sprintf("kubectl -n %s annotate etcd etcd %s=%s --overwrite", s.ns, v1beta2.AnnotationRecover, before.ClusterID)
	c.becomes("lost, and says what can be done", harness.ConditionSays(v1beta2.ConditionAvailable, false, "QuorumLost",
		survivor+" (revision ", "quorumLoss: Survivor", asks, `"kind":"EtcdRestore"`), twoMinutes)
	c.tells("QuorumLost", survivor, "restore")
	s.kubectl(strings.Fields(strings.TrimPrefix(asks, "kubectl "))...)
	c.hasBegunAnew(before, survivor)
	m.holds(content)
	if n := len(c.State().Claims); n != 3 {
		t.Errorf("there are %d volume claims, want 3: what the old members had is kept no longer", n)
	}
}

// TestTheRestoreThatIsNamed: nobody is left, and the EtcdRestore that the condition names
// brings the cluster back.
func TestTheRestoreThatIsNamed(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Size(3), harness.WithSurvivor)
	c.settles(3, oneMinute)
	w := c.holdsKeys(1000)
	m := c.isMirrored()
	content := m.content()
	at := st.at("named")
	s.backup("nightly", w.Writer, at, harness.OfCluster(c.Name)).isStored(oneMinute)

	c.isDestroyed(c.members()...)
	c.becomes("lost, and names a restore", harness.ConditionSays(v1beta2.ConditionAvailable, false, "QuorumLost", "restore EtcdBackup nightly, which stored revision"), twoMinutes)
	name, manifest := c.restoreNamed()
	file := filepath.Join(t.TempDir(), "restore.json")
	s.must(os.WriteFile(file, []byte(manifest), 0o600))
	s.kubectl("apply", "-f", file)
	r := s.existingRestore(name)
	r.serves(oneMinute)
	m.holds(content)
	r.completes(twoMinutes)
	c.settles(3, twoMinutes)
	m.noticedRestores(1, 1)
}

// content is what the cluster holds.
func (m *mirrored) content() (now mirror.Content) {
	m.c.s.t.Helper()
	m.catchesUp()
	m.c.s.within(oneMinute, func(ctx context.Context) (err error) {
		now, err = m.Cluster(ctx)
		return err
	})
	return now
}

// losesAllBut takes all members but one away at once, with all that they have stored.
func (c *cluster) losesAllBut(survivor string) {
	c.s.t.Helper()
	var lost []string
	for _, name := range c.members() {
		if name != survivor {
			lost = append(lost, name)
		}
	}
	c.isDestroyed(lost...)
}

// hasBegunAnew: the cluster serves in its full size under another id, with the data of the
// survivor, and tells of it.
func (c *cluster) hasBegunAnew(before v1beta2.ClusterStatus, survivor string) {
	c.s.t.Helper()
	c.becomes("of another id, and growing", func(s harness.State) string {
		switch {
		case s.Cluster == nil || s.Cluster.Status.ClusterID == before.ClusterID:
			return "it has not begun anew"
		case s.Cluster.Status.Recovery == nil || s.Cluster.Status.Recovery.Survivor != survivor:
			return fmt.Sprintf("it says %+v of its recovery", s.Cluster.Status.Recovery)
		}
		return ""
	}, twoMinutes)
	c.settles(3, twoMinutes)
	c.becomes("done with its recovery", func(s harness.State) string {
		if r := s.Cluster.Status.Recovery; r == nil || r.Phase != v1beta2.RecoveryComplete {
			return fmt.Sprintf("it says %+v of its recovery", r)
		}
		return harness.Condition(v1beta2.ConditionRecovering, false, "")(s)
	}, twoMinutes)
	c.tells("SurvivorChosen", survivor)
	c.tells("SurvivorAdopted", survivor, before.ClusterID, "are lost")
}

// restoreNamed is the EtcdRestore in what is said of the cluster.
func (c *cluster) restoreNamed() (name, manifest string) {
	c.s.t.Helper()
	said := meta.FindStatusCondition(c.State().Cluster.Status.Conditions, v1beta2.ConditionAvailable).Message
	begins, ends := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if begins < 0 || ends < begins {
		c.s.t.Fatalf("no EtcdRestore is named: %s", said)
	}
	manifest = said[begins : ends+1]
	var r v1beta2.EtcdRestore
	if err := json.Unmarshal([]byte(manifest), &r); err != nil {
		c.s.t.Fatalf("what is named is no EtcdRestore: %v: %s", err, manifest)
	}
	return r.Name, manifest
}
