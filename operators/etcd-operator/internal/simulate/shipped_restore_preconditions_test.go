//go:build simulation

package simulate

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
)

// needRestoreRace is what the runs do not come to yet.
const needRestoreRace = "a race that the runs do not come to: TestPreconditions of etcd-restore-operator's act"

// plantedRestore is what the runs show of a precondition of etcd-restore-operator's act: the invariants
// of which one finds that it is left out, or what it takes that no run comes to.
type plantedRestore struct {
	by       []string
	unplayed string
}

// restoreRows has a row for each precondition of etcd-restore-operator's act, by its name.
var restoreRows = map[string]plantedRestore{
	"SameRestore":     {by: []string{"S11"}},
	"SameCluster":     {unplayed: "an EtcdCluster that is deleted and made again"},
	"Fenced":          {by: []string{"S12"}},
	"NotAcknowledged": {unplayed: needRestoreRace},
	"WhileFenced":     {unplayed: needRestoreRace},
	"MarkedAsRead":    {unplayed: needRestoreRace},

	"Prepared":          {by: []string{"S7"}},
	"Alone":             {unplayed: needRestoreRace},
	"PermitOfSamePod":   {unplayed: needRestoreRace},
	"RevocationOfPod":   {unplayed: needRestoreRace},
	"SeedNotOffered":    {unplayed: needRestoreRace},
	"VolumeNotOffered":  {unplayed: needRestoreRace},
	"DeletionOfSame":    {unplayed: needRestoreRace},
	"ClaimIsClusters":   {unplayed: needRestoreRace},
	"LabelledAsRead":    {unplayed: needRestoreRace},
	"DeletedIsRetired":  {unplayed: needRestoreRace},
	"RetiredAsRead":     {unplayed: needRestoreRace},
	"CertificatesExist": {unplayed: "restores of clusters with TLS"},
}

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
		if row.unplayed != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			simulated.Omit(names[name])
			for seed := range int64(150) {
				cfg := meddledRestores(seed)
				cfg.Only = row.by
				if w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil); w.broken != nil {
					t.Logf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
					return
				}
			}
			t.Errorf("%q is left out, and no seed shows it", names[name])
		})
	}
}
