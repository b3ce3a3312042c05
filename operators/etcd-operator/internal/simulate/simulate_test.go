package simulate

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

var (
	seedsFlag = flag.Int("seeds", 0, "how many seeds TestSimulate runs; 0 for the default, or $SIMULATE_SEEDS")
	seedFlag  = flag.Int64("seed", -1, "the one seed that TestSimulate runs")
	firstFlag = flag.Int64("first", 0, "the first seed that TestSimulate runs")
	allFlag   = flag.Bool("all", false, "let TestSimulate go on after a failure, and tell one story of each invariant")
)

func seeds(t *testing.T) int {
	if *seedsFlag > 0 {
		return *seedsFlag
	}
	if s := os.Getenv("SIMULATE_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SIMULATE_SEEDS: %v", err)
		}
		return n
	}
	if testing.Short() {
		return 300
	}
	return 6000
}

// TestSimulate tries to break the planner with thousands of runs. It fails on the
// first seed that succeeds in that, and tells its shortest story.
func TestSimulate(t *testing.T) {
	if *seedFlag >= 0 {
		if _, f := Run(RandomConfig(*seedFlag), *seedFlag, plan.Plan); f != nil {
			t.Fatal(Minimise(f, plan.Plan))
		}
		return
	}
	n := seeds(t)
	said := newVoice(t)
	stats, failures := runSeeds(*firstFlag, n, *allFlag, RandomConfig, said.of(plan.Plan))
	t.Log(stats)
	if *firstFlag == 0 {
		said.check(t, t.Errorf)
	} else { // of runs that nobody has seen, what breaks the cluster is the news
		said.check(t, t.Logf)
	}
	told := map[string]int{}
	for _, f := range failures {
		if told[f.Invariant+": "+f.Kind]++; told[f.Invariant+": "+f.Kind] == 1 {
			t.Error(Minimise(f, plan.Plan))
		}
	}
	if len(failures) > 0 {
		t.Fatalf("%d of %d runs failed: %s", len(failures), stats.Runs, count(told))
	}
	if never := stats.Never(actionKinds); len(never) > 0 && n >= 3000 {
		t.Errorf("these never happened: %v", never)
	}
}

// runSeeds runs seeds on all processors, and returns what failed, by seed. It stops
// at the first failure unless it is told to run all.
func runSeeds(first int64, n int, all bool, config func(int64) Config, planner Planner) (*Stats, []*Failure) {
	var (
		mu     sync.Mutex
		total  = newStats()
		failed []*Failure
		next   = first
		wg     sync.WaitGroup
	)
	take := func() (int64, bool) {
		mu.Lock()
		defer mu.Unlock()
		seed := next
		next++
		return seed, seed < first+int64(n) && (all || len(failed) == 0)
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				stats, f := Run(config(seed), seed, planner)
				mu.Lock()
				total.Add(stats)
				if f != nil {
					failed = append(failed, f)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(failed, func(a, b *Failure) int { return int(a.Seed - b.Seed) })
	return total, failed
}

// count lists what was counted, a line each.
func count(told map[string]int) string {
	var lines []string
	for kind, n := range told {
		lines = append(lines, fmt.Sprintf("\n%6d  %s", n, kind))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
