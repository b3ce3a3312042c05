package simulate

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)

// losing is a configuration in which a majority is lost, and a survivor wanted.
func losing(seed int64) Config {
	cfg := RandomConfig(seed)
	r := newRandom(uint64(seed), 12)
	cfg.Formed, cfg.BornFenced, cfg.Gentle, cfg.Existed = true, false, false, ""
	cfg.Survive = r.chance(75)
	cfg.Size = pick(&r, 2, 3, 3, 3, 4, 5, 5, 7)
	cfg.Nodes = max(cfg.Nodes, cfg.Size+1)
	cfg.Steps, cfg.Faults = pick(&r, 60, 100, 150), pick(&r, 1, 2, 4, 8, 12)
	for range 1 + len(cfg.Kinds)/3 {
		cfg.Kinds = append(cfg.Kinds, LoseMajority)
	}
	cfg.Kinds = append(cfg.Kinds, WantSurvivor, BringBack, BringBack)
	if r.chance(30) { // several survivors, whose terms say nothing of their logs
		cfg.Size, cfg.Version = pick(&r, 5, 7), "3.4.37"
		cfg.Nodes, cfg.Faults = max(cfg.Nodes, cfg.Size+1), max(cfg.Faults, 8)
		cfg.Kinds = append(cfg.Kinds, SlowMember, SlowMember, SlowMember, PartitionPeers, LoseMajority)
	}
	return cfg
}

// losingMany makes a configuration one in which a majority is lost, and a survivor wanted.
func losingMany(c *Config) {
	c.Formed, c.BornFenced, c.Gentle, c.Existed, c.Survive = true, false, false, "", true
	c.Size, c.Nodes = max(c.Size, 3), max(c.Nodes, c.Size+1, 3)
	c.Faults = max(c.Faults, 4)
	c.Kinds = append(c.Kinds, LoseMajority, LoseMajority, LoseMajority, LoseMajority, BringBack)
}

// TestBeginsAnew loses majorities over and over: the cluster begins anew with what the
// most advanced survivor has, and never in any other way (S13).
func TestBeginsAnew(t *testing.T) {
	if *seedFlag >= 0 {
		if _, f := Run(losing(*seedFlag), *seedFlag, plan.Plan); f != nil {
			t.Fatal(Minimise(f, plan.Plan))
		}
		return
	}
	n := seeds(t) / 3
	stats, failures := runSeeds(*firstFlag, n, *allFlag, losing, plan.Plan)
	t.Log(stats)
	told := map[string]int{}
	for _, f := range failures {
		if told[f.Invariant+": "+f.Kind]++; told[f.Invariant+": "+f.Kind] == 1 {
			t.Error(Minimise(f, plan.Plan))
		}
	}
	if len(failures) > 0 {
		t.Fatalf("%d of %d runs failed: %s", len(failures), stats.Runs, count(told))
	}
	for _, a := range []action.Action{action.RecordSurvivor{}, action.AdoptSurvivor{}, action.DropSeed{}, action.EndRecovery{}} {
		if got := stats.Actions[action.KindOf(a)]; got < n/100 {
			t.Errorf("%s was done %d times in %d runs", action.KindOf(a), got, n)
		}
	}
}
