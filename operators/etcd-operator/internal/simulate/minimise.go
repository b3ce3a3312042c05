package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// Minimise tells the story of a seed that fails: the same invariant broken in the
// same way with as few faults as it finds, and with the shortest delays if they suffice.
func Minimise(f *Failure, planner Planner) *Failure {
	cfg, faults := f.Config, RandomFaults(f.Config, f.Seed)
	fails := func(cfg Config, faults []Fault) bool {
		_, again := play(cfg, f.Seed, planner, faults, nil)
		return again != nil && again.Invariant == f.Invariant && again.Kind == f.Kind
	}
	faults = fewer(faults, func(fs []Fault) bool { return fails(cfg, fs) })
	for _, simpler := range []func(*Config){
		func(c *Config) { c.Calm = true },
		func(c *Config) { c.Formed = true },
		func(c *Config) { c.AntiAffinity = false },
		func(c *Config) { c.LocalVolumes = false },
		func(c *Config) { c.Size = 1 },
		func(c *Config) { c.Size = 2 },
		func(c *Config) { c.Size = min(c.Size, 3) },
		func(c *Config) { c.Nodes = min(c.Nodes, 3) },
		func(c *Config) { c.Weight = 1 },
		func(c *Config) { c.Idle = false },
		func(c *Config) { c.Version = etcdversion.Default },
	} {
		tried := cfg
		if simpler(&tried); tried.largest() >= tried.Size && fails(tried, faults) {
			cfg = tried
		}
	}
	faults = fewer(faults, func(fs []Fault) bool { return fails(cfg, fs) })
	faults = shorter(faults, func(fs []Fault) bool { return fails(cfg, fs) })
	var trace story
	_, told := play(cfg, f.Seed, planner, faults, &trace)
	told.Faults, told.Trace = faults, trace.lines
	return told
}

// fewer removes faults, first many at a time and then one by one, while the run
// still fails (delta debugging).
func fewer(faults []Fault, fails func([]Fault) bool) []Fault {
	for size := max(1, len(faults)/2); ; size /= 2 {
		for i := 0; i+size <= len(faults); {
			if without := slices.Delete(slices.Clone(faults), i, i+size); fails(without) {
				faults = without
			} else {
				i += size
			}
		}
		if size <= 1 {
			return faults
		}
	}
}

// shorter lets faults last as short as they can.
func shorter(faults []Fault, fails func([]Fault) bool) []Fault {
	for i := range faults {
		for _, d := range []int{1, 3, 10, 30} {
			if d >= faults[i].For {
				break
			}
			tried := slices.Clone(faults)
			if tried[i].For = d; fails(tried) {
				faults = tried
				break
			}
		}
	}
	return faults
}
