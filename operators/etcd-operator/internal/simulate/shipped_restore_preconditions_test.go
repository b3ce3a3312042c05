//go:build simulation

package simulate

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
)

// restoreRows has a row for each precondition of etcd-restore-operator's act, by its name.
var restoreRows = map[string]planted{
	"SameRestore":     {by: []string{"S11"}},
	"SameCluster":     {guarded: "another one of its name is not left to this restore (Fenced), has another resourceVersion (MarkedAsRead), and its objects other uids"},
	"Fenced":          {by: []string{"S12"}},
	"NotAcknowledged": {by: []string{"S1", "S2", "S12"}, guarded: "a withdrawal lifts the fence, too, and under one that was just acknowledged nothing was touched", config: deleting},
	"WhileFenced":     {by: []string{"S12"}, config: deleting},
	"MarkedAsRead":    {by: []string{"S12"}, config: deletingLate},

	"Prepared":          {by: []string{"S7"}},
	"Alone":             {by: []string{"S1"}, config: intrudedRestores(createMemberAgain)},
	"PermitOfSamePod":   {by: []string{"S11"}},
	"RevocationOfPod":   {by: []string{"S11"}},
	"NoSeed":            {by: []string{"S12"}, config: abandoning},
	"SeedNotOffered":    {by: []string{"S12"}, config: deletingLate},
	"VolumeNotOffered":  {by: []string{"S12"}, config: abandoning},
	"DeletionOfSame":    {by: []string{"S11"}},
	"ClaimIsClusters":   {by: []string{"S11"}},
	"LabelledAsRead":    {by: []string{"S11"}},
	"NotReturned":       {by: []string{"S7"}, config: intrudedRestores(rollBack)},
	"DeletedIsRetired":  {by: []string{"S7"}, config: intrudedRestores(giveVolumeBack)},
	"RetiredAsRead":     {by: []string{"S7"}, config: intrudedRestores(giveVolumeBack)},
	"CertificatesExist": {guarded: "spec.TLS cannot be switched, and etcd-operator never empties the trust that it has recorded: what was observed is still so"},
}

var restoreSeeds = flag.Int64("restores", 1000, "how many seeds TestShippedRestorePlanted runs for each row")

// meddledRestores has restores, and something happen between the calls of both operators.
func meddledRestores(seed int64) Config {
	cfg := meddledConfig(seed)
	restoring(EditSize, DeletePod, KillContainer, LagStatus, LagPods, LagClaims)(&cfg)
	cfg.Faults, cfg.Steps, cfg.Meddles = 12, 200, 15
	return cfg
}

// restorePreconditions are those that are declared, by their names.
func restorePreconditions(t *testing.T) map[string]simulated.Precondition {
	t.Helper()
	source, err := os.ReadFile("../../../etcd-restore-operator/internal/act/preconditions.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]simulated.Precondition{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Precondition = "(.+)"$`).FindAllSubmatch(source, -1) {
		names[string(m[1])] = simulated.Precondition(m[2])
	}
	return names
}

// TestShippedRestorePlanted: without each of those of its preconditions that the runs come to, the
// shipped etcd-restore-operator does what an invariant forbids, and the runs show it.
func TestShippedRestorePlanted(t *testing.T) {
	defer simulated.Omit("")
	names := restorePreconditions(t)
	for name := range names {
		if _, ok := restoreRows[name]; !ok {
			t.Errorf("%s has no row in restoreRows", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(restoreRows)) {
		row := restoreRows[name]
		if row.guarded != "" && row.config == nil {
			continue // it cannot fail, or what it refuses cannot be played
		}
		t.Run(name, func(t *testing.T) { plantInRestores(t, name, names[name], row) })
	}
}

// plantInRestores leaves a precondition out. A seed that shows it passes with it; of one that is
// guarded, some seed comes to it, and none breaks.
func plantInRestores(t *testing.T, name string, p simulated.Precondition, row planted) {
	clear(simulated.Refusals())
	for seed := range *restoreSeeds {
		run := func(omitted simulated.Precondition) *world {
			simulated.Omit(omitted)
			cfg := meddledRestores(seed)
			cfg.Only = row.by
			if row.config != nil {
				row.config(&cfg)
			}
			if seed != *seedFlag {
				return runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil)
			}
			trace := &story{}
			w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), trace)
			t.Log(strings.Join(trace.lines, "\n"))
			return w
		}
		w := run(p)
		switch {
		case w.broken != nil && row.guarded != "":
			t.Fatalf("seed %d: %s: %s: it is not guarded: %s", seed, w.broken.invariant, w.broken.message, row.guarded)
		case w.broken != nil:
			t.Logf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
			if w := run(""); w.broken == nil {
				return
			}
			t.Logf("seed %d breaks with it, too, and shows nothing", seed)
		case row.guarded != "" && simulated.Refusals()[p] > 0:
			return
		}
	}
	t.Errorf("%s is left out, and no seed shows it; it has failed %d times", name, simulated.Refusals()[p])
}

// deleting has users delete EtcdRestores while marks change.
func deleting(c *Config) { c.Deletes, c.Meddles = true, 5 }

// abandoning has users delete EtcdRestores, and replace Pods, while nodes are cut off.
func abandoning(c *Config) {
	restoring(DeletePod, CutNode, SilenceNode)(c)
	c.Deletes, c.Meddles, c.Persistent = true, 25, true
}

// deletingLate has half of these changes take effect late.
func deletingLate(c *Config) {
	deleting(c)
	c.LateMarks = true
}

// intrudedRestores has restores at which not much else goes wrong than that.
func intrudedRestores(kind restoreIntrusion) func(*Config) {
	return func(c *Config) {
		handingOver(c)
		c.RestoreIntrusion = kind
	}
}

// handingOver has a restore that comes to its end.
func handingOver(c *Config) {
	restoring(KillContainer, LagClaims)(c)
	c.Persistent, c.Faults, c.Steps, c.Meddles = true, 3, 250, 1
}
