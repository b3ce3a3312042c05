package harness

import (
	"strings"
	"testing"
)

// TestRows: what is found in the logs of clients, and in the rows that are there.
func TestRows(t *testing.T) {
	const one, two = "try 1\nacknowledged 1 10.0.0.1 00000001 100 110\n", "try 2\nacknowledged 2 10.0.0.2 00000002 200 210\n"
	for name, row := range map[string]struct {
		reason, log   string
		there         map[Row]bool
		lost, foreign int
		leaders       string
	}{
		"a failover":             {"the new leader goes on", one + two, map[Row]bool{{"c", 1}: true, {"c", 2}: true}, 0, 0, ""},
		"a lost row":             {"it was acknowledged", one + two, map[Row]bool{{"c", 1}: true}, 1, 0, ""},
		"an unknown fate":        {"it was tried", one + "try 2\npsql: error\n", map[Row]bool{{"c", 1}: true, {"c", 2}: true}, 0, 0, ""},
		"a row of nobody":        {"it was not tried", one, map[Row]bool{{"c", 1}: true, {"d", 1}: true}, 0, 1, ""},
		"two of one timeline":    {"only one may lead it", one + "try 2\nacknowledged 2 10.0.0.2 00000001 200 210\n", map[Row]bool{{"c", 1}: true, {"c", 2}: true}, 0, 0, "timeline 00000001 is of"},
		"a leader of the past":   {"it took a write after the next had", one + two + "try 3\nacknowledged 3 10.0.0.1 00000001 220 230\n", map[Row]bool{{"c", 1}: true, {"c", 2}: true, {"c", 3}: true}, 0, 0, "and before it began"},
		"a write under way then": {"it may have been committed before", one + two + "try 3\nacknowledged 3 10.0.0.1 00000001 190 230\n", map[Row]bool{{"c", 1}: true, {"c", 2}: true, {"c", 3}: true}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rows{Tried: map[Row]bool{}}
			r.read("c", row.log)
			lost, foreign, leaders := r.Lost(row.there), r.Foreign(row.there), r.TwoLeaders()
			if len(lost) != row.lost || len(foreign) != row.foreign || (len(leaders) == 0) != (row.leaders == "") || !strings.Contains(strings.Join(leaders, "; "), row.leaders) {
				t.Errorf("%s: lost %q, foreign %q, leaders %q", row.reason, lost, foreign, leaders)
			}
		})
	}
}

// TestPatroniView: what Patroni's view is held to.
func TestPatroniView(t *testing.T) {
	leader, standby := PatroniMember{"patroni-1", "leader", "running", 2}, PatroniMember{"patroni-0", "sync_standby", "streaming", 2}
	history := [][]any{{float64(1), float64(1), "no recovery target specified", "now", "patroni-1"}}
	config := map[string]any{"synchronous_mode": true}
	for name, row := range map[string]struct {
		view PatroniView
		want string
	}{
		"as it should be":         {PatroniView{[]PatroniMember{standby, leader}, history, config}, ""},
		"one server":              {PatroniView{[]PatroniMember{leader}, history, config}, "not two servers"},
		"two leaders":             {PatroniView{[]PatroniMember{leader, leader}, history, config}, "no leader with"},
		"an asynchronous standby": {PatroniView{[]PatroniMember{leader, {"patroni-0", "replica", "streaming", 2}}, history, config}, "no leader with"},
		"an older timeline":       {PatroniView{[]PatroniMember{leader, {"patroni-0", "sync_standby", "streaming", 1}}, history, config}, "no leader with"},
		"another configuration":   {PatroniView{[]PatroniMember{leader, standby}, history, map[string]any{}}, "the configuration is"},
		"no history":              {PatroniView{[]PatroniMember{leader, standby}, nil, config}, "no history"},
		"an old history":          {PatroniView{[]PatroniMember{{"patroni-1", "leader", "running", 3}, {"patroni-0", "sync_standby", "streaming", 3}}, history, config}, "the history ends"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.view.Objection(); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
