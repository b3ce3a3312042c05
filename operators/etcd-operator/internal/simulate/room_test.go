package simulate

import (
	"slices"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

// TestDowngradeWithoutRoom: members are to be replaced, and no node has room for a replacement. They
// go down a minor all the same, and once.
func TestDowngradeWithoutRoom(t *testing.T) {
	for seed := range int64(20) {
		w := newWorld(Config{
			Size: 3, Nodes: 3, AntiAffinity: true, Gentle: true, Version: "3.6.16", Learners: 7, Weight: 1, NodesReadable: true,
		}, seed, plan.Plan, nil)
		w.form()
		if w.broken != nil || !w.asItShouldBe() {
			t.Fatalf("no cluster formed: %+v, %s", w.broken, w.whatIsWrong())
		}
		w.edit(func(c *etcdCluster) { c.template = "another" })
		for range 50 {
			w.advance()
		}
		if !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.unschedulable != "" }) {
			t.Fatal("there is room")
		}
		before := w.stats.Actions["RecordVersion"]
		w.edit(func(c *etcdCluster) { c.wanted = "3.5.35" })
		for range 400 {
			w.advance()
		}
		if w.broken != nil {
			t.Fatalf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
		}
		if n := w.stats.Actions["RecordVersion"] - before; w.cluster.current != "3.5.35" || n != 2 {
			t.Errorf("seed %d: members run %s after %d changes of the version; the planner says %s", seed, w.cluster.current, n, w.operators[0].last.Message)
		}
	}
}
