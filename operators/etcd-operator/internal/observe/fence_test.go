package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// The marks of a fence are read as they are.
func TestFence(t *testing.T) {
	b := newBench(t, func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{
			v1beta2.AnnotationFence: "r3", v1beta2.AnnotationSeeded: "r2/x-s/uid", v1beta2.AnnotationFenceLifted: "r1",
		}
	})
	b.status(func(s *v1beta2.ClusterStatus) {
		s.FencedBy, s.AdoptedSeed = "r2", &v1beta2.AdoptedSeed{Restore: "r0", Pod: "x-p", PodUID: "u"}
	})
	want := facts.Fence{
		Mark: "r3", Seeded: "r2/x-s/uid", Lifted: "r1", By: "r2", Adopted: v1beta2.AdoptedSeed{Restore: "r0", Pod: "x-p", PodUID: "u"},
	}
	if diff := cmp.Diff(want, b.observe().Cluster.Fence); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Volumes that a restore has retired are nobody's, and do not show that a cluster of
// this name existed before.
func TestRetiredClaims(t *testing.T) {
	b := newBench(t)
	mine, retired, both := claim(b, "x-a", ""), claim(b, "x-b", ""), claim(b, "x-c", "")
	delete(retired.Labels, v1beta2.LabelCluster)
	retired.Labels[v1beta2.LabelRetiredBy], both.Labels[v1beta2.LabelRetiredBy] = "r1", "r1"
	apiservertest.Create(t, b.client, retired, both)
	if existed := b.observe().Cluster.Existed; existed != "" {
		t.Errorf("existed: %q", existed)
	}
	b.status(func(s *v1beta2.ClusterStatus) { s.Bootstrap = &v1beta2.BootstrapStatus{Member: "x-a", Token: "t"} })
	apiservertest.Create(t, b.client, mine)
	obs := b.observe()
	if len(obs.Claims) != 1 || obs.Claims[0].Name != "x-a" || obs.Cluster.Existed != "" {
		t.Errorf("claims %+v, existed %q; want x-a only", obs.Claims, obs.Cluster.Existed)
	}
}

// Members of a cluster that is left to a restore are not asked, but for the seed that
// is handed over.
func TestWhoIsAskedOfAFencedCluster(t *testing.T) {
	b := newBench(t)
	b.runs(b.pod("x-s"), "192.0.2.1")
	asked := func(what string, want bool, change func(*v1beta2.EtcdCluster)) {
		t.Helper()
		b.asked.endpoints = nil
		apiservertest.Read(t, b.client, b.cluster)
		change(b.cluster)
		fenced := b.cluster.Status.FencedBy
		if err := b.client.Update(apiservertest.Context(t), b.cluster); err != nil {
			t.Fatal(err)
		}
		b.status(func(s *v1beta2.ClusterStatus) { s.FencedBy = fenced })
		b.observe()
		if got := len(b.asked.endpoints) > 0; got != want {
			t.Errorf("%s: asked %v, want %t", what, b.asked.endpoints, want)
		}
	}
	asked("no fence", true, func(*v1beta2.EtcdCluster) {})
	asked("a fence that is asked for", true, func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationFence: "r1"}
	})
	asked("fenced", false, func(c *v1beta2.EtcdCluster) { c.Status.FencedBy = "r1" })
	asked("handed over", true, func(c *v1beta2.EtcdCluster) { c.Annotations[v1beta2.AnnotationSeeded] = "r1/x-s/uid" })
	asked("handed over by another", false, func(c *v1beta2.EtcdCluster) { c.Annotations[v1beta2.AnnotationSeeded] = "r0/x-s/uid" })
}
