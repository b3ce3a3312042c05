package plan

import (
	"strings"
	"testing"
)

// Where no node holds the seed beside the members, the restore says what to do before it
// stops one. Where none serves, the other order would change nothing.
func TestNoRoomForTheSeed(t *testing.T) {
	const words, offer = "0/3 nodes are available: 3 Insufficient memory", "; the old members still serve; if there is no room for the seed beside them, set spec.stopMembers: First"
	unschedulable := func(p *Pod) { p.Waiting = words + "." }
	for label, row := range map[string]struct {
		o      Observation
		offers bool
	}{
		"beside members": {observe(beside(unschedulable)), true},
		"alone":          {observe(seeded(unschedulable)), false},
	} {
		d := noted(row.o)
		if d.Action != nil || d.Reason != "SeedNotStarting" || len(d.Events) != 1 || !d.Events[0].Warning {
			t.Errorf("%s: it does %v because of %s, with the events %+v", label, d.Action, d.Reason, d.Events)
		}
		if !strings.Contains(d.Message, words) || strings.Contains(d.Message, offer) != row.offers {
			t.Errorf("%s: it says %q", label, d.Message)
		}
	}
}
