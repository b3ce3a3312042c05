package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Stats counts what happened in runs, so that one can see what they covered.
type Stats struct {
	Runs, Steps, Decisions, Writes int
	// Actions and Faults count by kind.
	Actions map[string]int
	Faults  [numFaults]int
	// Settled is how many runs ended as they should; QuorumLost how many of these
	// with a majority's data lost. Longest is the longest time that one took to
	// settle, and Settling the sum.
	Settled, QuorumLost int
	Longest, Settling   time.Duration
}

func newStats() *Stats { return &Stats{Actions: map[string]int{}} }

func (s *Stats) settled(d time.Duration) {
	s.Settled++
	s.Settling += d
	s.Longest = max(s.Longest, d)
}

// Add adds the counts of another run.
func (s *Stats) Add(o *Stats) {
	s.Runs += o.Runs
	s.Steps += o.Steps
	s.Decisions += o.Decisions
	s.Writes += o.Writes
	for kind, n := range o.Actions {
		s.Actions[kind] += n
	}
	for i := range s.Faults {
		s.Faults[i] += o.Faults[i]
	}
	s.Settled += o.Settled
	s.QuorumLost += o.QuorumLost
	s.Longest = max(s.Longest, o.Longest)
	s.Settling += o.Settling
}

// Never names those of some kinds of actions, and of all faults, that did not occur.
func (s *Stats) Never(actions []string) []string {
	var all []string
	for _, kind := range actions {
		if s.Actions[kind] == 0 {
			all = append(all, kind)
		}
	}
	for k, n := range s.Faults {
		if n == 0 {
			all = append(all, FaultKind(k).String())
		}
	}
	return all
}

func (s *Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d steps, %d decisions, %d acknowledged writes; %d runs settled (%d of them with a majority's data lost)",
		s.Runs, s.Steps, s.Decisions, s.Writes, s.Settled, s.QuorumLost)
	if s.Settled > 0 {
		fmt.Fprintf(&b, ", in %s on average, %s at most", (s.Settling / time.Duration(s.Settled)).Round(time.Second), s.Longest.Round(time.Second))
	}
	b.WriteString("\nactions:")
	for _, kind := range slices.Sorted(maps.Keys(s.Actions)) {
		fmt.Fprintf(&b, " %s %d", kind, s.Actions[kind])
	}
	b.WriteString("\nfaults:")
	for k, n := range s.Faults {
		fmt.Fprintf(&b, " %s %d", FaultKind(k), n)
	}
	return b.String()
}

// Failure is an invariant that did not hold.
type Failure struct {
	Seed      int64
	Config    Config
	Invariant string
	Message   string
	// Kind is the message without its names and numbers.
	Kind string
	// Faults are those that are needed for it, as far as was found, and Trace is
	// what happened.
	Faults []Fault
	Trace  []string
}

// headLines and tailLines are how much of a long story is printed.
const (
	headLines = 40
	tailLines = 100
)

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s: %s\nconfig: %s\n", f.Seed, f.Invariant, f.Message, &f.Config)
	if f.Trace != nil {
		fmt.Fprintf(&b, "with %d faults:\n", len(f.Faults))
		for _, fault := range f.Faults {
			fmt.Fprintf(&b, "  %s\n", fault)
		}
		lines := f.Trace
		if n := len(lines) - headLines - tailLines; n > 0 {
			lines = slices.Concat(lines[:headLines], []string{fmt.Sprintf("                  ... %d lines ...", n)}, lines[len(lines)-tailLines:])
		}
		b.WriteString(strings.Join(lines, "\n"))
	}
	return b.String()
}

// Run makes one run of a configuration, with the faults and delays of a seed. It
// returns what it covered, and a Failure, not minimised, if an invariant was broken.
func Run(cfg Config, seed int64, planner Planner) (*Stats, *Failure) {
	return play(cfg, seed, planner, RandomFaults(cfg, seed), nil)
}

// play makes one run with given faults, and tells its story if it is asked to.
func play(cfg Config, seed int64, planner Planner, faults []Fault, trace *story) (*Stats, *Failure) {
	w := newWorld(cfg, seed, planner, faults)
	w.trace = trace
	w.stats.Runs = 1
	if cfg.Formed {
		w.form()
	}
	for w.step < cfg.Steps && w.broken == nil {
		w.advance()
	}
	if w.broken == nil && cfg.checks(liveness) {
		w.settle()
	}
	w.stats.Steps = w.step
	if w.broken == nil {
		if w.majorityLost {
			w.stats.QuorumLost++
		}
		return w.stats, nil
	}
	return w.stats, &Failure{Seed: seed, Config: cfg, Invariant: w.broken.invariant, Message: w.broken.message, Kind: w.broken.kind}
}

// form brings a new cluster to its size before anything goes wrong. If the planner
// does not manage that, the run goes on all the same: liveness will tell.
func (w *world) form() {
	faults, calm, trace := w.faults, w.calm, w.trace
	w.faults, w.calm, w.trace = nil, true, nil
	for range 200 {
		w.stallOthers()
		w.advance()
		if w.broken != nil || w.asItShouldBe() {
			break
		}
	}
	w.faults, w.calm, w.trace = faults, calm, trace
	w.step = 0
	w.stallOthers()
	if w.main >= 0 {
		w.say("there is a cluster of %s", describeMembers(w.births[w.main].view))
	}
}

// stallOthers lets second operators make no steps of their own until faults stop.
func (w *world) stallOthers() {
	for _, op := range w.operators[1:] {
		op.stalledUntil = w.step + w.cfg.Steps
	}
	for _, s := range w.restorers[min(1, len(w.restorers)):] {
		s.stalledUntil = w.step + w.cfg.Steps
	}
}
