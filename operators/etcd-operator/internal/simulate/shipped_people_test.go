package simulate

import (
	"slices"
	"strings"
	"testing"
)

// TestShippedPeerURLs: while members join, a user changes other members' peer URLs with etcdctl, or adds a
// second one, and undoes it later. Joiners start beside a member with two peer URLs, and every joiner starts in
// the end.
func TestShippedPeerURLs(t *testing.T) {
	joined := false
	for seed := range int64(30) {
		cfg := meddledConfig(seed)
		cfg.Kinds, cfg.Faults = []FaultKind{ChangePeerURL, ChangePeerURL, EditSize}, 20
		cfg.Formed, cfg.Size, cfg.Nodes, cfg.AntiAffinity, cfg.Steps, cfg.Meddles = true, 3, 9, true, 150, 0
		trace := &story{}
		w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), trace)
		if w.broken != nil {
			t.Errorf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
		}
		joined = joined || slices.ContainsFunc(trace.lines, func(line string) bool { return strings.HasSuffix(line, besideSeveralURLs) })
	}
	if !joined {
		t.Error("no member joined beside one with several peer URLs")
	}
}
