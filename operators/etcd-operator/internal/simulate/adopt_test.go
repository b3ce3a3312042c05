package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// TestDataFindsItsPlace: of many adopted volumes one has data, and others that never had any
// are bound to its node, which takes one Pod. The model's scheduler takes Pods by name, those
// first. One volume's node is gone, so that there is always one that finds no place. The one
// with the data gets its turn all the same, and does not where whoever gave way is recreated at
// once.
func TestDataFindsItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		planner Planner
		settles bool
	}{
		"the planner":              {plan.Plan, true},
		"one that gives no places": {recreatesAtOnce, false},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 20
			failed := 0
			for seed := range int64(runs) {
				w := crowded(t, seed, tc.planner)
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

// crowded is an EtcdCluster that goes on with the volume of one member, and with those of Pods
// that never joined.
func crowded(t *testing.T, seed int64, planner Planner) *world {
	t.Helper()
	w := newWorld(Config{
		Size: 1, Nodes: 5, Persistent: true, LocalVolumes: true, AntiAffinity: true, Retain: true, Gentle: true,
		Version: "3.6.16", Learners: 7, Weight: 1, NodesReadable: true, MemberTimeout: time.Minute,
	}, seed, planner, nil)
	w.form()
	if w.broken != nil || !w.asItShouldBe() {
		t.Fatalf("no cluster formed: %+v, %s", w.broken, w.whatIsWrong())
	}
	home := w.leader().node
	gone := (home + 1) % len(w.nodes)
	for name, node := range map[string]int{"c-00": gone, "c-01": home, "c-02": home, "c-03": (home + 2) % 5, "c-04": (home + 3) % 5} {
		w.createClaim(name)
		c := w.claim(name)
		c.node, c.retained, c.version = node, true, "3.6.16"
	}
	w.publish()
	w.advance()
	w.removeNode(gone)
	if !w.recreate(Fault{Kind: Recreate}) {
		t.Fatal("the EtcdCluster was not recreated")
	}
	w.publish()
	return w
}

// recreatesAtOnce recreates the Pods of adopted volumes while others find no place.
func recreatesAtOnce(o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	c := &o.Cluster
	told := slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return len(p.Answer.Members) > 0 })
	unplaced := slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Unschedulable != "" && p.Node == "" })
	if c.ClusterID != 0 || c.Bootstrap == nil || !c.Bootstrap.Adopted || told || !unplaced || d.Reason != "AdoptingVolumes" && d.Reason != "MakingRoom" {
		return d
	}
	var pods []action.NewPod
	for _, cl := range o.Claims {
		if !cl.Deleting && !slices.ContainsFunc(o.Pods, func(p facts.Pod) bool { return p.Name == cl.Name }) {
			pods = append(pods, action.NewPod{Name: cl.Name, Role: facts.Returning, Version: c.Version})
		}
	}
	if len(pods) > 0 {
		d.Action = action.CreatePods{Pods: pods}
	}
	return d
}
