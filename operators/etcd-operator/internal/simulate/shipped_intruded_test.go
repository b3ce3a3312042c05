//go:build simulation

package simulate

import (
	"testing"
	"time"
)

// The configurations of rows whose precondition fails only when somebody else changes what it is
// about, between two calls.

// intruded has such a thing happen in a configuration.
func intruded(base func(*Config), percent int, kinds ...intrusion) func(*Config) {
	return func(c *Config) {
		base(c)
		c.Intrusions, c.Intrudes = kinds, percent
	}
}

// surviving has a majority that is lost, and a survivor in whose place the cluster begins anew. Not
// much else goes wrong: of what survivors hold little is left as it is.
func surviving(kinds ...intrusion) func(*Config) {
	return intruded(func(c *Config) {
		losingMany(c)
		c.Kinds, c.Faults, c.Steps, c.Meddles = []FaultKind{LagPods, LagClaims}, 3, 120, 2
		c.MemberTimeout, c.AntiAffinity = 30*time.Second, false
	}, 50, append(kinds, loseOnce)...)
}

// survivingOnVolumes is that with volumes.
func survivingOnVolumes(kinds ...intrusion) func(*Config) {
	return func(c *Config) {
		surviving(kinds...)(c)
		c.Persistent = true
	}
}

// adopting has volumes that another EtcdCluster of the name adopts.
func adopting(kinds ...intrusion) func(*Config) {
	return intruded(func(c *Config) {
		recreated(c)
		c.Kinds, c.Faults, c.Steps, c.Meddles = []FaultKind{LagClaims, KillContainer}, 2, 120, 5
	}, 50, append(kinds, recreateOnce)...)
}

// expanding has volumes that are expanded.
func expanding(kinds ...intrusion) func(*Config) {
	return intruded(func(c *Config) {
		editingVolumes(c)
		c.Kinds, c.Faults, c.Steps, c.Formed, c.Expansion = []FaultKind{LagClaims, StallOperator}, 4, 80, true, growing
	}, 50, append(kinds, expand)...)
}

// joining has members that join, and are not wanted any more before they have started.
func joining(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditSize, EditSize, EditSize, SlowAddress, ImageTrouble, Unschedulable}, 20
	c.Persistent, c.Formed, c.Nodes, c.Steps, c.Meddles = true, true, max(c.Nodes, 5, c.Size), 150, 5
}

// restored has restores whose volumes are retired and deleted while caches lag.
func restored(c *Config) {
	restoring(EditSize, EditSize, LagClaims, LagClaims, LagPods, DeletePod, KillContainer)(c)
	c.Persistent, c.Steps, c.Meddles, c.Faults = true, 250, 15, 12
}

// defragmenting has databases that fill and are defragmented.
func defragmenting(c *Config) {
	c.Kinds, c.Faults = []FaultKind{Fill, Fill, FillSlowly, KillContainer, EditSize}, 12
	c.Quota, c.Live, c.AutoRepair, c.AbovePercent, c.Scheduled = 60, 1, true, 30, true
	c.Persistent, c.Formed, c.Size, c.Nodes, c.Steps, c.Meddles = true, true, max(3, c.Size), max(c.Nodes, 4, c.Size), 250, 15
}

// stranding has members on volumes of nodes that are lost, and Pods that find none.
func stranding(c *Config) {
	c.Kinds, c.Faults = []FaultKind{StopNode, LoseNode, DrainPod, Cordon, Uncordon, DeletePod, ForceDeletePod, EditSize}, 20
	c.Persistent, c.LocalVolumes, c.AntiAffinity, c.Formed, c.Steps, c.Meddles = true, true, true, true, 250, 15
	c.Size, c.MemberTimeout = max(3, c.Size), 30*time.Second
	c.Nodes = c.Size + 2
}

// beginning has clusters that have yet to begin.
func beginning(c *Config) {
	c.Kinds, c.Faults = []FaultKind{EditSize, KillContainer, DeletePod}, 4
	c.Persistent, c.Steps, c.Meddles = true, 60, 15
}

// fencedSoon has calls that take effect late, and restores that begin meanwhile.
func fencedSoon(c *Config) {
	c.Kinds, c.Faults = []FaultKind{LateCall, LateCall, LateCall, EditSize, EditSize, DeletePod}, 20
	c.Formed, c.Persistent, c.Nodes, c.Steps, c.Meddles = true, true, max(c.Nodes, 5, c.Size), 150, 1
	c.Intrusions, c.Intrudes = []intrusion{restoreNow}, 80
}

// TestShippedDoubt: an operator that forgets what may still come about of its calls, or of those of
// the one before, acknowledges a fence too early, and what is done late shows it (S12).
func TestShippedDoubt(t *testing.T) {
	for name, bug := range map[string]Bug{"NoDoubt": NoDoubt, "NoStart": NoStart} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(100) {
				cfg := meddledConfig(seed)
				fencedSoon(&cfg)
				cfg.Only, cfg.Planted = []string{"S12"}, []Bug{bug}
				w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil)
				if w.broken == nil {
					continue
				}
				t.Logf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
				cfg.Planted = nil
				if w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil); w.broken != nil {
					t.Errorf("seed %d breaks without it, too: %s: %s", seed, w.broken.invariant, w.broken.message)
				}
				return
			}
			t.Error("no run has shown it")
		})
	}
}

// TestShippedUnclear: a planner that ignores objects whose owner is in doubt violates S9 and S13. It removes a
// member whose volume exists or whose etcd serves, and chooses a survivor although a volume is left.
func TestShippedUnclear(t *testing.T) {
	for name, tc := range map[string]struct {
		config func(*Config)
		by     string
	}{
		"a volume":            {intruded(serving(true), 10, confuseVolume), "S9"},
		"a Pod":               {intruded(serving(false), 10, confusePod), "S9"},
		"a survivor's volume": {survivingOnVolumes(confuseVolume), "S13"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(100) {
				cfg := meddledConfig(seed)
				tc.config(&cfg)
				cfg.Only, cfg.Planted = []string{tc.by}, []Bug{IgnoreDoubt}
				w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil)
				if w.broken == nil {
					continue
				}
				t.Logf("seed %d: %s: %s", seed, w.broken.invariant, w.broken.message)
				cfg.Planted = nil
				if w := runShipped(t, cfg, seed, RandomFaults(cfg, seed), nil); w.broken != nil {
					t.Errorf("seed %d breaks without it, too: %s: %s", seed, w.broken.invariant, w.broken.message)
				}
				return
			}
			t.Error("no run has shown it")
		})
	}
}

// serving configures a run with members, with or without volumes, and few other faults.
func serving(volumes bool) func(*Config) {
	return func(c *Config) {
		c.Kinds, c.Faults = []FaultKind{EditSize, LagPods, StallOperator, KillContainer}, 10
		c.Persistent, c.Formed, c.Size, c.Nodes = volumes, true, max(3, c.Size), max(c.Nodes, 5, c.Size)
	}
}
