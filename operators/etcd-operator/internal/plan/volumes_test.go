package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const gibi = 1 << 30

// sized are members with volumes of 1Gi where more is asked for.
func sized(n int, wanted int64) *world {
	w := healthy(n).volumes().cluster(func(c *Cluster) { c.Storage = wanted })
	for i := range w.o.Claims {
		w.o.Claims[i].Requested, w.o.Claims[i].Capacity = gibi, gibi
	}
	return w
}

func (w *world) claimOf(name string, change func(*Claim)) *world {
	for i := range w.o.Claims {
		if w.o.Claims[i].Name == name {
			change(&w.o.Claims[i])
			return w
		}
	}
	panic("no claim " + name)
}

func grow(name string, size int64) wanted {
	return exactly(GrowClaim{Name: name, UID: "claim-" + name, From: gibi, Size: size})
}

func TestVolumesGrow(t *testing.T) {
	grown := func(c *Claim) { c.Requested, c.Capacity = 2*gibi, 2*gibi }
	growing := func(c *Claim) { c.Requested = 2 * gibi }
	rows{
		"all are as large as is asked for": {reason: "there is nothing to do", seen: sized(3, gibi), because: "UpToDate"},
		"the first one asks for more":      {reason: "S6: one at a time", seen: sized(3, 2*gibi), do: grow("a", 2*gibi), because: "ExpandingVolume"},
		"the next one waits for the first": {reason: "S6: what a storage driver does to one may fail", seen: sized(3, 2*gibi).claimOf("a", growing), because: "ExpandingVolume"},
		"the next one follows when the first has its size": {
			reason: "status.capacity has arrived", seen: sized(3, 2*gibi).claimOf("a", grown), do: grow("b", 2*gibi), because: "ExpandingVolume",
		},
		"none grows while a member has just come back": {
			reason: "S6: it settles first", seen: sized(3, 2*gibi).pod("b", func(p *Pod) { p.ReadySince = now }), because: "ExpandingVolume",
		},
		"that of a member that is not healthy grows first": {
			reason: "S6: its disk may be full, and nothing else heals it", seen: sized(3, 2*gibi).silent("b"), do: grow("b", 2*gibi), because: "ExpandingVolume",
		},
		"none grows while another member is not healthy": {
			reason: "S6: the one that is not healthy has its size", seen: sized(3, 2*gibi).claimOf("b", grown).silent("b"), because: "WaitingForMember",
		},
		"none grows without a quorum":       {reason: "S6", seen: sized(3, 2*gibi).noQuorum(), because: "NoQuorum"},
		"a volume that is larger is let be": {reason: "it can't shrink", seen: sized(3, gibi).claimOf("a", grown), because: "UpToDate"},
		"a class that does not allow it": {
			reason: "the API server would refuse", seen: sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.Class, c.Expansion = "slow", ExpansionRefused }), because: "ExpansionRefused",
		},
		"no class": {reason: "nobody resizes such volumes", seen: sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.Expansion = ExpansionRefused }), because: "ExpansionRefused"},
		"a refusal is not tried again at once": {
			reason: "it would be refused for ever", seen: sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.RefusedSize, c.RefusedAt, c.Refusal = 2*gibi, now.Add(-time.Minute), quotaWords }), because: "ExpansionRefused",
		},
		"a refusal is tried again later": {
			reason: "a quota may have been raised", seen: sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.RefusedSize, c.RefusedAt = 2*gibi, now.Add(-time.Hour) }),
			do: grow("a", 2*gibi), because: "ExpandingVolume",
		},
		"a refusal of another size does not count": {
			reason: "the user has asked for less", seen: sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.RefusedSize, c.RefusedAt = 9*gibi, now }),
			do: grow("a", 2*gibi), because: "ExpandingVolume",
		},
	}.run(t)
}

// What a person reads of volumes that can't grow tells what may be done.
func TestGrowthRefusedSaysWhatToDo(t *testing.T) {
	d := decided(sized(1, 2*gibi).claimOf("a", func(c *Claim) { c.Class, c.Expansion = "slow", ExpansionRefused }).seen())
	c := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionStorageResizing)
	if c == nil || c.Status != "False" || c.Reason != "ExpansionRefused" {
		t.Fatalf("the condition is %+v", c)
	}
	for _, want := range []string{"storage class slow", "allowVolumeExpansion", "restore a backup", "1Gi", "2Gi"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("it does not tell %q: %s", want, c.Message)
		}
	}
}

func TestVolumesAreKeptAsThePolicySays(t *testing.T) {
	retain := func(c *Cluster) { c.Retain = true }
	refs := func(names ...string) (all []ClaimRef) {
		for _, n := range names {
			all = append(all, ClaimRef{Name: n, UID: "claim-" + n})
		}
		return all
	}
	kept := func(c *Claim) { c.Retained, c.Version = true, theVersion }
	grown := func(phase v1beta2.RecoveryPhase) *world { // of the seed a
		r := theRecovery()
		r.Phase, r.Seed = phase, "a"
		return healthy(1).volumes().cluster(retain).cluster(func(c *Cluster) { c.Recovery = &r }).claimOf("a", func(c *Claim) { c.Reseed = r.Token })
	}
	rows{
		"all are to stay": {
			reason: "S12: deleting the EtcdCluster deletes no more than its policy says", seen: healthy(3).volumes().cluster(retain),
			do: exactly(KeepClaims{Claims: refs("a", "b", "c"), Retain: true, Version: theVersion}), because: "RetentionEnabled",
		},
		"also without a quorum": {
			reason: "the EtcdCluster may be deleted next, and etcd is not touched", seen: healthy(1).volumes().cluster(retain).noQuorum(),
			do: exactly(KeepClaims{Claims: refs("a"), Retain: true, Version: theVersion}), because: "RetentionEnabled",
		},
		"only those that are not kept yet": {
			reason: "a crash in between", seen: healthy(2).volumes().cluster(retain).claimOf("a", kept), do: exactly(KeepClaims{Claims: refs("b"), Retain: true, Version: theVersion}), because: "RetentionEnabled",
		},
		"they tell the later version while members move": {
			reason: "S10: a member that has moved may have raised etcd's cluster version",
			seen:   healthy(1).volumes().cluster(func(c *Cluster) { c.Retain, c.Target = true, "3.7.3" }).claimOf("a", kept),
			do:     exactly(KeepClaims{Claims: refs("a"), Retain: true, Version: "3.7.3"}), because: "RetentionEnabled",
		},
		"all are to go": {
			reason: "as the policy says", seen: healthy(1).volumes().claimOf("a", kept), do: exactly(KeepClaims{Claims: refs("a")}), because: "RetentionDisabled",
		},
		"paused": {reason: "S12", seen: healthy(1).volumes().cluster(retain).cluster(func(c *Cluster) { c.Paused = true }), because: "Paused"},
		"that of a seed, when nothing is left of the cluster before it": {
			reason: "S13: whoever adopts the PVCs later finds the data of one cluster alone", seen: grown(v1beta2.RecoveryComplete).claimOf("a", kept),
			do: exactly(KeepClaims{Claims: refs("a"), Retain: true, Version: theVersion, Recovered: true}), because: "RecoveryComplete",
		},
		"not while something might be left": {
			reason: "S13", seen: grown(v1beta2.RecoveryGrowing).claimOf("a", kept).claim("e").claimOf("e", kept), because: "DeletingVolume",
			do: discardClaim("e"),
		},
		"nor that of another recovery": {
			reason: "S13: it was aborted, and its seed is no member", seen: grown(v1beta2.RecoveryComplete).claimOf("a", kept).claimOf("a", func(c *Claim) { c.Reseed = "another" }), because: "UpToDate",
		},
	}.run(t)
}
