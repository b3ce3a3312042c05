package simulate

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
)

var statesFlag = flag.Int("states", 0, "how many states each exploration of TestExplore may visit; 0 for the default")

// menu is what may happen at any step of an exploration, to any of the first n
// members or nodes.
func menu(n int, kinds ...FaultKind) []Fault {
	var all []Fault
	for _, k := range kinds {
		for i := range n {
			all = append(all, Fault{Kind: k, A: i, For: 60})
			if k == CrashOperator || k == LoseReply || k == FailCall || k == StallOperator || k == RepeatCall {
				// Only one operator: what differs is which of its calls it is.
				all[len(all)-1] = Fault{Kind: k, B: i}
			}
		}
	}
	return all
}

// edits are those that set spec.version to one of these.
func edits(to ...string) []Fault {
	var all []Fault
	for _, v := range to {
		all = append(all, Fault{Kind: EditVersion, A: slices.Index(versions, v)})
	}
	return all
}

// TestExplore visits all that can become of small clusters with one or two faults.
func TestExplore(t *testing.T) {
	operatorFaults := []FaultKind{CrashOperator, LoseReply, FailCall, StallOperator}
	memberFaults := []FaultKind{KillContainer, DeletePod, ForceDeletePod, FinishPod, StopNode, CutNode, WipeDisk}
	base := Config{
		Size: 3, Nodes: 3, Version: "3.6.16", Learners: 7, NodesReadable: true,
		MemberTimeout: 30 * time.Second, DisruptionBudget: true, Weight: 1,
	}
	with := func(change func(*Config)) Config {
		c := base
		change(&c)
		return c
	}
	rows := map[string]struct {
		cfg           Config
		menu          []Fault
		faults, depth int
	}{
		"one member, two faults": {
			with(func(c *Config) { c.Size, c.Persistent = 1, true }),
			menu(2, append(operatorFaults, memberFaults...)...), 2, 20,
		},
		"two members form, two faults": {
			with(func(c *Config) { c.Size = 2 }),
			menu(2, append(operatorFaults, memberFaults...)...), 2, 30,
		},
		"three members form, one fault": {
			with(func(c *Config) { c.Persistent = true }),
			menu(5, append(operatorFaults, memberFaults...)...), 1, 60,
		},
		"three members form one by one, one fault": {
			with(func(c *Config) { c.Version = "3.5.35" }),
			menu(5, append(operatorFaults, memberFaults...)...), 1, 80,
		},
		"three members with claims, two faults": {
			with(func(c *Config) { c.Persistent, c.Formed = true, true }),
			menu(3, append(memberFaults, CrashOperator, LoseReply)...), 2, 60,
		},
		"three members without claims, two faults": {
			with(func(c *Config) { c.Formed = true }),
			menu(3, append(memberFaults, CrashOperator, LoseReply)...), 2, 60,
		},
		"a restore with claims, two faults": {
			with(func(c *Config) { c.Size, c.Persistent, c.Formed = 2, true, true }),
			append([]Fault{{Kind: Restore, A: 1, B: 1}, {Kind: Restore, B: 9}, {Kind: EraseFence}, {Kind: LateCall}}, menu(2, operatorFaults...)...), 2, 50,
		},
		"a restore that gives up, two faults": {
			with(func(c *Config) { c.Size, c.Persistent, c.Formed = 2, true, true }),
			append([]Fault{{Kind: Restore, B: 15}}, menu(2, append(memberFaults, CrashOperator, LoseReply)...)...), 2, 50,
		},
		"three members change their version and back, two faults": {
			with(func(c *Config) { c.Formed = true }),
			append(edits("3.7.3", newestPatches(6)[1], "3.6.99", "3.6.16"), menu(3, KillContainer, DeletePod, StopNode, CrashOperator, LoseReply)...), 2, 60,
		},
		"three members with claims change their version, two faults": {
			with(func(c *Config) { c.Persistent, c.Formed, c.Version = true, true, "3.5.35" }),
			append(edits("3.6.16", "3.6.98", "3.5.35"), menu(3, append(memberFaults, operatorFaults...)...)...), 2, 60,
		},
		"three members go down a minor and back, two faults": {
			with(func(c *Config) { c.Formed = true }),
			append(edits("3.5.35", "3.5.99", "3.6.16"), menu(3, KillContainer, DeletePod, StopNode, CrashOperator, LoseReply)...), 2, 60,
		},
		"three members with claims go down a minor, two faults": {
			with(func(c *Config) { c.Persistent, c.Formed, c.Version = true, true, "3.7.3" }),
			append(edits("3.6.16", "3.6.98", "3.7.3"), menu(3, append(memberFaults, operatorFaults...)...)...), 2, 60,
		},
		"three to one and back, two faults": {
			with(func(c *Config) { c.Persistent, c.Formed, c.AntiAffinity = true, true, true }),
			append(menu(3, EditSize, WipeDisk, StopNode), menu(3, operatorFaults...)...), 2, 60,
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			limit := *statesFlag
			if limit == 0 {
				limit = 3000
				if testing.Short() {
					limit = 300
				}
			}
			found, f := Explore(r.cfg, plan.Plan, r.menu, r.faults, r.depth, limit)
			if f != nil {
				t.Fatal(f)
			}
			t.Logf("%d states, %d of them followed to the end, more beyond the cap: %t", found.States, found.Ends, found.Capped)
		})
	}
}
