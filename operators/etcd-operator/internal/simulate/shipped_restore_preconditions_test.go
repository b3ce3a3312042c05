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

// What too few runs come to, between two calls; act's TestPreconditions and its late_test.go have it.
const (
	needManifest = "an old member that is created again right before the look for other Pods"
	needOldLook  = "an operator that retires volumes on a look from before another one rolled the restore back"
	needLabels   = "a person who gives a retired volume back right before it is deleted"
)

// plantedRestore is what the runs show of a precondition of etcd-restore-operator's act, as planted
// is of one of etcd-operator's. unplayed is what it takes that too few runs come to.
type plantedRestore struct {
	planted
	unplayed string
}

// restoreRows has a row for each precondition of etcd-restore-operator's act, by its name.
var restoreRows = map[string]plantedRestore{
	"SameRestore":     {planted: planted{by: []string{"S11"}}},
	"SameCluster":     {planted: planted{guarded: "another one of its name is not left to this restore (Fenced), has another resourceVersion (MarkedAsRead), and its objects other uids"}},
	"Fenced":          {planted: planted{by: []string{"S12"}}},
	"NotAcknowledged": {planted: planted{by: []string{"S1", "S2", "S12"}, guarded: "a withdrawal lifts the fence, too, and under one that was just acknowledged nothing was touched", config: deleting}},
	"WhileFenced":     {planted: planted{by: []string{"S12"}, config: deleting}},
	"MarkedAsRead":    {planted: planted{by: []string{"S12"}, config: deletingLate}},

	"Prepared":          {planted: planted{by: []string{"S7"}}},
	"Alone":             {unplayed: needManifest},
	"PermitOfSamePod":   {planted: planted{by: []string{"S11"}}},
	"RevocationOfPod":   {planted: planted{by: []string{"S11"}}},
	"SeedNotOffered":    {planted: planted{by: []string{"S12"}, config: deletingLate}},
	"VolumeNotOffered":  {planted: planted{by: []string{"S12"}}},
	"DeletionOfSame":    {planted: planted{by: []string{"S11"}}},
	"ClaimIsClusters":   {planted: planted{by: []string{"S11"}}},
	"LabelledAsRead":    {planted: planted{by: []string{"S11"}}},
	"NotReturned":       {unplayed: needOldLook},
	"DeletedIsRetired":  {unplayed: needLabels},
	"RetiredAsRead":     {unplayed: needLabels},
	"CertificatesExist": {planted: planted{guarded: "spec.TLS cannot be switched, and etcd-operator never empties the trust that it has recorded: what was observed is still so"}},
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
		if row.unplayed != "" || row.guarded != "" && row.config == nil {
			continue // too few runs come to it, it cannot fail, or what it refuses cannot be played
		}
		t.Run(name, func(t *testing.T) { plantInRestores(t, name, names[name], row) })
	}
}

// plantInRestores leaves a precondition out. A seed that shows it passes with it; of one that is
// guarded, some seed comes to it, and none breaks.
func plantInRestores(t *testing.T, name string, p simulated.Precondition, row plantedRestore) {
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

// deletingLate has half of these changes take effect late.
func deletingLate(c *Config) {
	deleting(c)
	c.LateMarks = true
}
