package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestAllPodsDeletedWithoutVolumes: the data is gone, so the cluster is lost, and
// says so. A fresh empty one in its place would look like success to its clients.
func TestAllPodsDeletedWithoutVolumes(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	before := c.State().Cluster.Status
	c.losesPods(c.members()...)
	c.podsEnd(twoMinutes)
	w.noticed(anOutage)
	c.isLostForGood(before.ClusterID)
	if diff := cmp.Diff(before.Bootstrap, c.State().Cluster.Status.Bootstrap); diff != "" {
		t.Errorf("it began a second time: -before +after\n%s", diff)
	}
	if n := w.acknowledged(); n > 0 {
		t.Errorf("%d writes were acknowledged by a cluster that is lost", n)
	}
}

// isLostForGood: it says that it is lost, and stays so.
func (c *cluster) isLostForGood(id string) {
	c.s.t.Helper()
	isLost := harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost")
	c.becomes("lost", isLost, twoMinutes)
	c.stays("lost", 10*time.Second, harness.All(isLost, nobodyServes))
	if st := c.State().Cluster.Status; st.ClusterID != id || st.Phase != v1beta2.PhaseFailed {
		c.s.t.Errorf("cluster id %s, was %s; phase %s", st.ClusterID, id, st.Phase)
	}
	c.tells("QuorumLost", "backup")
}

// TestMajorityDeletedWithoutVolumes: one member has the data still, and nothing is
// done to it.
func TestMajorityDeletedWithoutVolumes(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	survivor := c.leader()
	var gone []string
	for _, m := range c.members() {
		if m != survivor {
			gone = append(gone, m)
		}
	}
	uid := c.State().Pod(survivor).UID
	// Without grace: with it, they may be replaced before they are gone.
	s.kubectl("delete", "pod", "--force", "--grace-period=0", gone[0], gone[1])
	c.becomes("lost", harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost"), twoMinutes)
	c.stays("lost, with its survivor", 10*time.Second, func(s harness.State) string {
		if p := s.Pod(survivor); p == nil || p.UID != uid || p.DeletionTimestamp != nil {
			return "the survivor's Pod is touched"
		}
		return harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost")(s)
	})
}

// nobodyServes: no Pod runs an etcd that clients could take for the cluster.
func nobodyServes(s harness.State) string {
	for _, p := range s.Pods {
		if role := p.Labels[v1beta2.LabelRole]; role != v1beta2.RoleJoiner && role != v1beta2.RoleReturning && p.DeletionTimestamp == nil {
			return fmt.Sprintf("Pod %s is marked %s", p.Name, role)
		}
		if p.Annotations[v1beta2.AnnotationStartPermit] != "" && p.DeletionTimestamp == nil {
			return fmt.Sprintf("Pod %s has a start permit", p.Name)
		}
	}
	return ""
}
