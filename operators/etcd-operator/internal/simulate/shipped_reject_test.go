package simulate

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

var rejectedFlag = flag.Int("rejected", 80, "how many seeds TestShippedRejections runs")

// rejectingConfig returns a configuration with a permanent rejection.
func rejectingConfig(seed int64) Config {
	cfg := RandomConfig(seed)
	cfg.play(false, false)
	cfg.Existed, cfg.BornFenced, cfg.Rejects, cfg.Gentle = "", false, true, true
	cfg.TLS = seed%3 == 0
	return cfg
}

// TestShippedRejections runs the real code while the API server permanently rejects something.
func TestShippedRejections(t *testing.T) {
	first, n := *firstFlag, int64(*rejectedFlag)
	if *seedFlag >= 0 {
		first, n = *seedFlag, 1
	}
	met := map[string]int{}
	for seed := first; seed < first+n; seed++ {
		cfg := rejectingConfig(seed)
		var trace *story
		if n == 1 {
			trace = &story{}
		}
		x := randomRejection(seed, cfg.Steps)
		w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), trace)
		if trace != nil {
			t.Logf("%s\n%s", &cfg, strings.Join(trace.lines, "\n"))
		}
		if w.broken != nil {
			t.Errorf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
		}
		met[x.call]++
	}
	t.Logf("rejected: %v", met)
}

// TestShippedRejectionsPlanted plants bugs that the invariant must find.
func TestShippedRejectionsPlanted(t *testing.T) {
	for name, row := range map[string]struct {
		says    string
		planner func(facts.Observation) plan.Decision
	}{
		"the first rejected rule stops those after it": {"a member has a PVC and no Pod", func(o facts.Observation) plan.Decision {
			d := plan.Plan(o)
			forgetful := o
			forgetful.Rejections = nil
			isHeldBack := func(e facts.Rejection) bool {
				return slices.ContainsFunc(o.Rejections, func(r facts.Rejection) bool { return r.SameEffect(e) && o.Now.Before(r.Until) })
			}
			if first := plan.Plan(forgetful).Action; first != nil && slices.ContainsFunc(action.Effects(first), isHeldBack) {
				d.Action, d.RequeueAfter = nil, facts.FirstPause
			}
			return d
		}},
		"rejections are forgotten": {"writes in", func(o facts.Observation) plan.Decision {
			o.Rejections = nil
			return plan.Plan(o)
		}},
		"a rejection is not reported": {"nothing reports it", func(o facts.Observation) plan.Decision {
			d := plan.Plan(o)
			for i := range d.Status.Conditions {
				c := &d.Status.Conditions[i]
				c.Message = strings.ReplaceAll(c.Message, rejectedText, "")
			}
			return d
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(200) {
				cfg := rejectingConfig(seed)
				cfg.Only = []string{onlyWhatNeedsIt}
				w := runPlanner(t, cfg, seed, RandomFaults(cfg, seed), nil, row.planner)
				if w.broken != nil && strings.Contains(w.broken.message, row.says) {
					t.Logf("seed %d: %s", seed, w.broken.message)
					return
				}
			}
			t.Error("no run has found it")
		})
	}
}
