package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const earlier = "3.5.35"

// downgrading is a healthy cluster of 3.6 whose members are on their way down to 3.5, and
// of which none is there: etcd has lowered its cluster version, and their data.
func downgrading() *world {
	return upgrading(earlier).downgrade("3.5.0").clusterVersion("3.5.0").data("3.5.0")
}

// downgrade makes everybody tell that etcd is being downgraded to a version, or is not.
func (w *world) downgrade(to string) *world {
	return w.all(func(a *Answer) { a.Downgrade = to })
}

// data makes everybody tell the version of its data.
func (w *world) data(v string) *world {
	return w.all(func(a *Answer) { a.StorageVersion = v })
}

func (w *world) all(change func(*Answer)) *world {
	for i := range w.o.Pods {
		if a := &w.o.Pods[i].Answer; a.Reached {
			change(a)
		}
	}
	return w
}

// lowered are members that have come to the earlier version. They don't tell the version
// of their data.
func (w *world) lowered(names ...string) *world {
	for _, name := range names {
		w.runs(name, earlier).answer(name, func(a *Answer) { a.StorageVersion = "" })
	}
	return w
}

func (w *world) justStarted() *world { w.o.Since = now.Add(-landing + 1); return w }

// noRoomToMove is a member that is to be replaced, and a Pod for that without a place.
func noRoomToMove(w *world) *world {
	return w.pod("b", cordoned).joiner("d").pod("d", unschedulable)
}

// back is a user who has changed his mind, and a planner that has heard of it.
func (w *world) back() *world {
	return w.wants(theVersion).cluster(func(c *Cluster) { c.Target = theVersion })
}

func TestMembersGoDownAMinor(t *testing.T) {
	turn := exactly(RecordVersion{Current: theVersion, Target: theVersion, Index: theApplied, Size: 3})
	enable, cancel := exactly(EnableDowngrade{To: "3.5.0"}), exactly(CancelDowngrade{})
	begun := func() *world { return upgrading(earlier).data("3.6.0") }
	rows{
		"the target is latched before anything is done": {
			reason: "after a crash it is known what members may run", seen: healthy(3).wants(earlier), do: record(theVersion, earlier), because: "UpgradeStarted",
		},
		"not while a member is not healthy": {
			reason: "S10", seen: healthy(3).silent("c").wants(earlier), because: "WaitingForMember",
		},
		"two minors are refused": {reason: "S10", seen: healthy(3).version("3.7.3").wants(earlier), because: "VersionRefused"},
		"3.4 is refused":         {reason: "etcd 3.5 has no way down", seen: healthy(3).version(earlier).wants("3.4.37"), because: "VersionRefused"},
		"etcd is asked first": {
			reason: "S10: an earlier minor does not start before", seen: begun(), do: enable, because: "LoweringClusterVersion",
		},
		"not while a Pod is not ready": {
			reason: "S6, S10", seen: begun().pod("c", func(p *Pod) { p.UnreadySince = now }), because: "LoweringClusterVersion",
		},
		"its cluster version is waited for": {
			reason: "S10", seen: begun().downgrade("3.5.0"), because: "LoweringClusterVersion",
		},
		"also while one member has not heard of it": {
			reason: "S10: it would not start", seen: downgrading().answer("b", func(a *Answer) { a.ClusterVersion = "3.6.0" }), because: "LoweringClusterVersion",
		},
		"then the member's own data": {
			reason: "S10: an earlier minor can't read it", seen: downgrading().answer("b", func(a *Answer) { a.StorageVersion = "3.6.0" }), because: "UpgradingMember",
		},
		"also if it is not told": {
			reason: "S10", seen: downgrading().answer("b", func(a *Answer) { a.StorageVersion = "" }), because: "UpgradingMember",
		},
		"and then it goes, a follower first": {
			reason: "S8", seen: downgrading(), do: setRole("b", Restarting), because: "UpgradingMember",
		},
		"in place": {reason: "its data stays", seen: downgrading().aside("b"), do: changeImage("b", earlier), because: "UpgradingMember"},
		"not if the downgrade was ended from outside": {
			reason: "S10: etcd raises its cluster version again", seen: downgrading().downgrade(""), because: "UpgradingMember",
		},
		"nor while something may be under way that ends it": {
			reason: "S10: a call of which nobody knows the end", seen: downgrading().justStarted(), because: "UpgradingMember",
		},
		"when one is there it holds the cluster version": {
			reason: "S10: it is as on the way back from an upgrade", seen: downgrading().lowered("b").downgrade(""), do: setRole("c", Restarting), because: "UpgradingMember",
		},
		"a leader marked before etcd was asked is no obstacle": {
			reason: "it is the next one all the same", seen: begun().aside("b"), do: enable, because: "LoweringClusterVersion",
		},
		"all are there, and etcd has not ended the downgrade": {
			reason: "nobody could join", seen: downgrading().lowered("a", "b", "c"), because: "Upgrading",
		},
		"all are there": {
			reason: "the index of an upgrade says nothing any more", seen: downgrading().lowered("a", "b", "c").downgrade("").cluster(func(c *Cluster) { c.VersionIndex = 7 }),
			do: record(earlier, ""), because: "UpgradeFinished",
		},
		"a lost member can't be replaced meanwhile": {
			reason: "etcd lets none join, and 3.5 must not replay the log of 3.6", seen: downgrading().lowered("b").dead("c"),
			do: turn, because: "UpgradeRedirected",
		},
		"the way up begins": {
			reason: "etcd lets none join otherwise", seen: downgrading().lowered("b").dead("c").cluster(func(c *Cluster) { c.Target = theVersion }),
			do: cancel, because: "DowngradeCancelled",
		},
		"and the lost one is replaced": {
			reason: "S3: by what replays the log as it was written", seen: downgrading().lowered("b").dead("c").downgrade("").cluster(func(c *Cluster) { c.Target = theVersion }),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"one that is lost when all others are there keeps nobody up": {
			reason: "their logs begin with the snapshot", seen: downgrading().lowered("a", "b").dead("c"), do: cancel, because: "DowngradeCancelled",
		},
		"and is replaced by the earlier minor": {
			reason: "all run it", seen: downgrading().lowered("a", "b").dead("c").downgrade(""),
			do: create(NewPod{Name: "n1", Role: Joiner, Version: earlier}), because: "CreatingMembers",
		},
		"not while one may get the earlier image at any moment": {
			reason: "S10: it would not start if the cluster version rose before", because: "UpgradingMember",
			seen: downgrading().back().restarting("b", earlier),
		},
		"a replacement that finds no room keeps nobody up": {
			reason: "the members would move down and up again for ever", seen: noRoomToMove(begun()), do: enable, because: "LoweringClusterVersion",
		},
		"nor does it half-way": {
			reason: "it joins when all run the earlier minor", seen: noRoomToMove(downgrading().lowered("b")).downgrade(""), do: setRole("c", Restarting), because: "UpgradingMember",
		},
		"nor one that could join": {
			reason: "a replacement waits until all members have moved", seen: begun().pod("b", cordoned).joiner("d"), do: enable, because: "LoweringClusterVersion",
		},
		"beside a lost member it is needed": {
			reason: "etcd lets none join otherwise", seen: noRoomToMove(downgrading().lowered("a")).dead("c"), do: turn, because: "UpgradeRedirected",
		},
		"one whose image can't be pulled is no obstacle": {
			reason: "what does not run holds the cluster version", because: "RepairingImage", do: changeImage("b", theVersion),
			seen: downgrading().back().restarting("b", "3.5.99").silent("b").pod("b", pulled),
		},
		"nor while something is under way": {
			reason: "it may be an image", seen: downgrading().back().justStarted(), because: "Upgrading",
		},
		"set back before the first": {
			reason: "the new wish counts", seen: downgrading().wants(theVersion), do: turn, because: "UpgradeRedirected",
		},
		"etcd is told": {reason: "S10", seen: downgrading().back(), do: cancel, because: "DowngradeCancelled"},
		"and raises its cluster version": {
			reason: "what is recorded is what etcd runs", seen: downgrading().back().downgrade(""), because: "Upgrading",
		},
		"all are up again": {
			reason: "3.7 panics on what those of 3.5 have written meanwhile", seen: upgrading(theVersion).cluster(from35(7)),
			do: exactly(RecordVersion{Current: theVersion, Index: theApplied}), because: "UpgradeFinished",
		},
		"all are up again, at another patch": {
			reason: "as above", seen: healthy(3).runs("a", "3.6.50").runs("b", "3.6.50").runs("c", "3.6.50").wants("3.6.50").
				cluster(func(c *Cluster) { c.Target = "3.6.50"; c.VersionIndex = 1 }),
			do: exactly(RecordVersion{Current: "3.6.50", Index: theApplied}), because: "UpgradeFinished",
		},
		"set back half-way": {
			reason: "members that are down go up by image", seen: downgrading().lowered("b").back().downgrade(""), do: setRole("b", Restarting), because: "UpgradingMember",
		},
		"what does not run keeps its minor": {
			reason: "S10: nobody can tell the version of its data", because: "RepairingImage", do: changeImage("c", theVersion),
			seen: downgrading().silent("c").pod("c", func(p *Pod) { p.Version, p.Trouble = "3.6.99", "CrashLoopBackOff: back-off" }),
		},
	}.run(t)
}

// The path to take is named, and what is waited for.
func TestADowngradeIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		says string
	}{
		"two minors":       {healthy(3).version("3.7.3").wants(earlier), "set spec.version to 3.6.16 first"},
		"no way":           {healthy(3).version(earlier).wants("3.4.37"), "set spec.version to 3.5.35"},
		"an earlier patch": {healthy(3).wants("3.5.30"), "set spec.version to 3.5.35"},
		"etcd is asked":    {upgrading(earlier).data("3.6.0"), "0 of 3 members run quay.io/coreos/etcd:v3.5.35; waiting for etcd to lower its cluster version from 3.6 to 3.5"},
		"data":             {downgrading().data("3.6.0"), "b: its storage version is still 3.6"},
		"it goes":          {downgrading().lowered("b"), "1 of 3 members run quay.io/coreos/etcd:v3.5.35"},
	} {
		said := ""
		for _, c := range decided(tc.seen.seen()).Status.Conditions {
			if c.Type == v1beta2.ConditionUpgrading {
				said = c.Message
			}
		}
		if !strings.Contains(said, tc.says) {
			t.Errorf("%s: condition Upgrading says %q, want %q in it", name, said, tc.says)
		}
	}
}

// Changes of the size wait, and say so.
func TestASizeThatWaits(t *testing.T) {
	for name, size := range map[string]int{"growing": 5, "shrinking": 1} {
		for _, c := range decided(upgrading("3.7.3").runs("b", "3.7.3").size(size).seen()).Status.Conditions {
			if c.Type == v1beta2.ConditionScaling && (c.Reason != "WaitingForUpgrade" || !strings.Contains(c.Message, "once all members run 3.7.3")) {
				t.Errorf("%s: condition Scaling is %s: %s", name, c.Reason, c.Message)
			}
		}
	}
}
