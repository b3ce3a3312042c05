package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
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

// TestSeedBesideOutdatedJoiners: a seed does not start, and of the Pods that are to join one waits for a
// node. The user wants fewer members, and other Pods: the seed is given up, whoever waits takes its
// node, and the next seed finds a place only where one of them, which the spec does not ask for any
// more, gives way.
func TestSeedBesideOutdatedJoiners(t *testing.T) {
	for name, tc := range map[string]struct {
		planner Planner
		settles bool
	}{
		"the planner":                  {plan.Plan, true},
		"one that keeps those joiners": {keepsOutdated, false},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 20
			failed := 0
			for seed := range int64(runs) {
				w := newWorld(Config{
					Size: 3, Nodes: 2, AntiAffinity: true, Gentle: true, Version: "3.6.16", Learners: 7, Weight: 1, MemberTimeout: time.Minute,
				}, seed, tc.planner, nil)
				w.edit(func(c *etcdCluster) { c.repository = badRepository })
				w.steps(30)
				w.edit(func(c *etcdCluster) { c.size, c.template = 2, "another" })
				w.steps(30)
				w.settle()
				if w.broken == nil {
					continue
				}
				if failed++; tc.settles || w.broken.invariant != liveness {
					t.Errorf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
				}
			}
			if !tc.settles && failed == 0 {
				t.Errorf("the planted bug was not noticed in %d runs", runs)
			}
		})
	}
}

// keepsOutdated has no Pod give way that the spec does not ask for any more.
func keepsOutdated(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	x, _ := d.Action.(action.DeletePod)
	if d.Reason == "MakingRoom" && slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Name == x.Name && p.Template != o.Cluster.Template }) {
		d.Action = nil
	}
	return d
}
