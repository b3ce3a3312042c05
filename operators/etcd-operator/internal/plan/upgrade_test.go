package plan

import (
	"testing"
	"time"
)

// The worlds of these tests are a healthy cluster of three, changed by a few words:
//
//	upgrading("3.7.3").runs("b", "3.7.3").aside("c")

// wants is what the user has written as spec.version.
func (w *world) wants(version string) *world {
	return w.cluster(func(c *Cluster) { c.WantedVersion = version })
}

// upgrading is a healthy cluster whose members are on their way to another version, and
// of which none has come there.
func upgrading(to string) *world {
	return healthy(3).wants(to).cluster(func(c *Cluster) { c.Target, c.UpgradeSize = to, 3 })
}

// runs is a member that has come to another version.
func (w *world) runs(name, version string) *world {
	return w.pod(name, func(p *Pod) { p.Version = version }).answer(name, func(a *Answer) { a.Version = version })
}

// aside is a member that gets no new clients, since it is to be restarted.
func (w *world) aside(name string) *world { return w.role(name, Restarting) }

// restarting is a member whose container is being restarted with another version.
func (w *world) restarting(name, version string) *world {
	return w.aside(name).pod(name, func(p *Pod) {
		p.From, p.Version, p.UnreadySince = p.Version, version, now.Add(-time.Second)
	})
}

// clusterVersion makes everybody tell this cluster version.
func (w *world) clusterVersion(v string) *world {
	for i := range w.o.Pods {
		if w.o.Pods[i].Answer.Reached {
			w.o.Pods[i].Answer.ClusterVersion = v
		}
	}
	return w
}

func record(current, target string) wanted {
	if target == "" {
		return exactly(RecordVersion{Current: current})
	}
	return exactly(RecordVersion{Current: current, Target: target, Size: 3})
}

// from35 is a cluster whose last member has come from 3.5 at an index of raft's.
func from35(index uint64) func(*Cluster) { return func(c *Cluster) { c.VersionIndex = index } }

func changeImage(name, version string) wanted {
	return exactly(ChangeImage{Name: name, UID: "uid-" + name, Repository: theRepository, Version: version})
}

func pulled(p *Pod) { p.Trouble, p.ImageUnavailable = "ImagePullBackOff: no such image", true }

func TestVersionsAreRecorded(t *testing.T) {
	rows{
		"the target is latched before anything is done": {
			reason: "after a crash it is known what members may run", seen: healthy(3).wants("3.7.3"), do: record(theVersion, "3.7.3"), because: "UpgradeStarted",
		},
		"3.5 goes to its newest patch first": {
			reason: "earlier ones carry removed members into 3.6", seen: healthy(3).version("3.5.30").wants("3.6.16"), do: record("3.5.30", "3.5.35"), because: "UpgradeStarted",
		},
		"and goes on by itself": {
			reason: "the user has asked for 3.6", seen: healthy(3).version("3.5.35").wants("3.6.16"), do: record("3.5.35", "3.6.16"), because: "UpgradeStarted",
		},
		"a skip is refused": {reason: "S10", seen: healthy(3).version("3.5.35").wants("3.7.3"), because: "VersionRefused"},
		"scaling comes first": {
			reason: "S6", seen: healthy(3).size(4).wants("3.7.3"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"not while a member is not healthy": {reason: "S10", seen: healthy(3).silent("c").wants("3.7.3"), because: "WaitingForMember"},
		"not while a Pod is not ready": {
			reason: "S10", seen: healthy(3).pod("c", func(p *Pod) { p.UnreadySince = now }).wants("3.7.3"), because: "UpgradePending",
		},
		"not while etcd's cluster version is another": {
			reason: "S10: a rise that is under way comes first", seen: healthy(3).clusterVersion("3.5.0").wants("3.7.3"), because: "UpgradePending",
		},
		"all run it": {
			reason: "and etcd says so", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").clusterVersion("3.7.0"),
			do: exactly(RecordVersion{Current: "3.7.3", Index: theApplied}), because: "UpgradeFinished",
		},
		"all run it, and etcd's cluster version has not risen": {
			reason: "what is recorded is where nobody goes back from", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3"), because: "Upgrading",
		},
		"etcd has gone further than was recorded": {
			reason: "its cluster version never goes down", seen: healthy(3).runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.50").clusterVersion("3.7.0"),
			do: exactly(RecordVersion{Current: "3.7.3", Index: theApplied}), because: "UpgradeFinished",
		},
		"once all have left that behind": {
			reason: "each has made a snapshot after it", seen: healthy(3).cluster(from35(theApplied - snapshotCount - 1)).wants("3.7.3"),
			do: exactly(RecordVersion{Current: theVersion, Target: "3.7.3", Index: 0, Size: 3}), because: "UpgradeStarted",
		},
		"set to another patch half-way": {
			reason: "the new wish counts", seen: upgrading("3.7.3").runs("b", "3.7.3").wants("3.7.50"), do: record(theVersion, "3.7.50"), because: "UpgradeRedirected",
		},
		"set to the next minor half-way to a patch": {
			reason: "S10: members move to another minor once all are healthy", seen: healthy(3).wants("3.7.3").cluster(func(c *Cluster) { c.Target, c.UpgradeSize = "3.6.99", 3 }).runs("b", "3.6.99"),
			do: record(theVersion, theVersion), because: "UpgradeRedirected",
		},
		"set back half-way": {
			reason: "a and c hold etcd's cluster version back", seen: upgrading("3.7.3").runs("b", "3.7.3").wants(theVersion), do: record(theVersion, theVersion), because: "UpgradeRedirected",
		},
		"set back while the last one is being restarted": {
			reason: "it has not run the new one yet", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").restarting("c", "3.7.3").silent("c").wants(theVersion),
			do: record(theVersion, theVersion), because: "UpgradeRedirected",
		},
		"set back without a quorum": {
			reason: "nothing is done to a member by it", seen: upgrading("3.7.3").runs("b", "3.7.3").restarting("c", "3.7.3").silent("b", "c").noQuorum().wants(theVersion),
			do: record(theVersion, theVersion), because: "UpgradeRedirected",
		},
		"set back when nobody else holds the cluster version": {
			reason: "S10: etcd raises it at any moment, and would not start", because: "UpgradingMember",
			seen: healthy(1).cluster(func(c *Cluster) { c.Target = theVersion }).runs("a", "3.7.3"),
		},
		"set back when all run it": {
			reason: "S10: etcd's cluster version may rise at any moment", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").wants(theVersion), because: "Upgrading",
		},
		"set back while something may be under way": {
			reason: "S10: the last member may get the new image still", because: "UpgradingMember", do: setRole("c", Restarting),
			seen: func() *world {
				w := upgrading("3.7.3").runs("b", "3.7.3").wants(theVersion)
				w.o.Since = now.Add(-landing + 1)
				return w
			}(),
		},
		"set back, and all run it again": {
			reason: "the way back ends too", seen: upgrading("3.7.3").wants(theVersion).cluster(func(c *Cluster) { c.Target = theVersion }), do: record(theVersion, ""), because: "UpgradeFinished",
		},
	}.run(t)
}

func TestMembersAreRestartedOneAtATime(t *testing.T) {
	last := func() *world { return upgrading("3.7.3").runs("b", "3.7.3").runs("c", "3.7.3") }
	rows{
		"a follower first, and from its clients first": {
			reason: "S8", seen: upgrading("3.7.3"), do: setRole("b", Restarting), because: "UpgradingMember",
		},
		"not while clients are sent to it": {
			reason: "they would notice", seen: upgrading("3.7.3").aside("b").pod("b", func(p *Pod) { p.Routed = true }), because: "UpgradingMember",
		},
		"nor before every node has heard of it": {
			reason: "they would notice", seen: upgrading("3.7.3").aside("b").pod("b", func(p *Pod) { p.RoleSince = now.Add(-routeLag + 1) }), because: "UpgradingMember",
		},
		"then its image is changed": {
			reason: "in place: its data stays", seen: upgrading("3.7.3").aside("b"), do: changeImage("b", "3.7.3"), because: "UpgradingMember",
		},
		"it is waited for": {
			reason: "S6", seen: upgrading("3.7.3").restarting("b", "3.7.3"), because: "UpgradingMember",
		},
		"while it does not answer": {
			reason: "S6", seen: upgrading("3.7.3").restarting("b", "3.7.3").silent("b"), because: "UpgradingMember",
		},
		"it is back": {
			reason: "clients may come again", seen: upgrading("3.7.3").runs("b", "3.7.3").aside("b"), do: setRole("b", Voter), because: "MemberUpgraded",
		},
		"the next one waits until it is ready": {
			reason: "S6", seen: upgrading("3.7.3").runs("b", "3.7.3").pod("b", func(p *Pod) { p.UnreadySince = now }), because: "UpgradingMember",
		},
		"and has been for a while": {
			reason: "clients find it again first", seen: upgrading("3.7.3").runs("b", "3.7.3").pod("b", func(p *Pod) { p.ReadySince = now.Add(-settleTime + 1) }), because: "UpgradingMember",
		},
		"the next follower": {
			reason: "all is well again", seen: upgrading("3.7.3").runs("b", "3.7.3"), do: setRole("c", Restarting), because: "UpgradingMember",
		},
		"the leader last": {reason: "S8", seen: last(), do: setRole("a", Restarting), because: "UpgradingMember"},
		"the leader transfers leadership": {
			reason: "S8", seen: last().aside("a"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership",
		},
		"to the one that has been ready the longest": {
			reason: "most clients are with it", seen: last().aside("a").pod("b", func(p *Pod) { p.ReadySince = now.Add(-time.Minute) }),
			do: transferLeadershipOf("a", "c"), because: "TransferringLeadership",
		},
		"and is restarted as a follower": {
			reason: "S8", seen: last().aside("a").leader("b"), do: changeImage("a", "3.7.3"), because: "UpgradingMember",
		},
		"an only member has nobody to transfer leadership to": {
			reason: "there is no other way", seen: healthy(1).wants("3.7.3").cluster(func(c *Cluster) { c.Target = "3.7.3" }).aside("a"), do: changeImage("a", "3.7.3"), because: "UpgradingMember",
		},
		"not while another is not healthy": {
			reason: "S6, S10", seen: upgrading("3.7.3").silent("c"), because: "WaitingForMember",
		},
		"not while one lags": {
			reason: "S10", seen: upgrading("3.7.3").answer("c", func(a *Answer) { a.Applied -= maxLag + 1 }), because: "WaitingForMember",
		},
		"not while there is an alarm": {
			reason: "S10", seen: upgrading("3.7.3").answer("c", func(a *Answer) { a.Errors = []string{"etcdserver: too many requests"} }), because: "WaitingForMember",
		},
		"not while a node is not ready": {
			reason: "S10", seen: upgrading("3.7.3").pod("c", func(p *Pod) { p.NodeLostSince = now }), because: "UpgradingMember",
		},
		"not while a Pod is being deleted": {
			reason: "S6", seen: upgrading("3.7.3").volumes().deleting("c"), because: "UpgradingMember",
		},
		"a member that was marked serves on while another is away": {
			reason: "two of three are few enough", seen: upgrading("3.7.3").aside("b").silent("c").pod("c", func(p *Pod) { p.UnreadySince = now }),
			do: setRole("b", Voter), because: "SettingRoles",
		},
		"not while etcd's cluster version is too far away": {
			reason: "S10", seen: upgrading("3.7.3").clusterVersion("3.5.0"), because: "UpgradingMember",
		},
		"nor while nobody tells it": {reason: "S10", seen: upgrading("3.7.3").clusterVersion(""), because: "UpgradingMember"},
		"a lost member is replaced all the same": {
			reason: "healing goes on", seen: upgrading("3.7.3").runs("b", "3.7.3").dead("c"), because: "CreatingMembers",
			do: create(joiners(1)...),
		},
		"by what all can live with": {
			reason: "once all that are left run the new one, the old one can't join",
			seen:   upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").dead("c"), because: "CreatingMembers",
			do: create(NewPod{Name: "n1", Role: Joiner, Version: "3.7.3"}),
		},
		"a joiner that is too old goes": {
			reason: "its etcd would not start", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").clusterVersion("3.7.0").joiner("d"),
			do: discard("d"), because: "DeletingPod",
		},
		"the cluster does not shrink meanwhile": {
			reason: "S6", seen: upgrading("3.7.3").size(1), do: setRole("b", Restarting), because: "UpgradingMember",
		},
		"nor grow while one is being restarted": {
			reason: "S6", seen: upgrading("3.7.3").restarting("b", "3.7.3").silent("b").size(5), because: "UpgradingMember",
		},
		"nor grow between two of them": {
			reason: "S6: half of them run another version", seen: upgrading("3.7.3").runs("b", "3.7.3").size(5), do: setRole("c", Restarting), because: "UpgradingMember",
		},
		"nor before the version is recorded": {
			reason: "that is the end of it", seen: upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").clusterVersion("3.7.0").size(5),
			do: exactly(RecordVersion{Current: "3.7.3", Index: theApplied}), because: "UpgradeFinished",
		},
		"a lost member is replaced, and no more than that": {
			reason: "healing goes on, growth waits", seen: upgrading("3.7.3").runs("b", "3.7.3").dead("c").size(5), because: "CreatingMembers",
			do: create(joiners(1)...),
		},
		"another repository goes the same way": {
			reason: "it is another image", seen: healthy(3).cluster(func(c *Cluster) { c.Repository = "mirror/etcd" }).aside("b"),
			do: exactly(ChangeImage{Name: "b", UID: "uid-b", Repository: "mirror/etcd", Version: theVersion}), because: "UpgradingMember",
		},
		"on the way back too": {
			reason: "S10: etcd's cluster version is still the old one", seen: upgrading("3.7.3").wants(theVersion).cluster(func(c *Cluster) { c.Target = theVersion }).runs("b", "3.7.3").aside("b"),
			do: changeImage("b", theVersion), because: "UpgradingMember",
		},
	}.run(t)
}

func TestImagesThatDoNotRun(t *testing.T) {
	stuck := func() *world { return upgrading("3.7.99").restarting("c", "3.7.99").silent("c").pod("c", pulled) }
	back := func(c *Cluster) { c.Target, c.WantedVersion = theVersion, theVersion }
	rows{
		"it stops there":   {reason: "S6", seen: stuck(), because: "UpgradingMember"},
		"set back":         {reason: "the others hold the cluster version back", seen: stuck().wants(theVersion), do: record(theVersion, theVersion), because: "UpgradeRedirected"},
		"and goes back":    {reason: "nothing runs there: no more is disturbed", seen: stuck().cluster(back), do: changeImage("c", theVersion), because: "RepairingImage"},
		"without a quorum": {reason: "it is what brings it back", seen: stuck().cluster(back).silent("b").noQuorum(), do: changeImage("c", theVersion), because: "RepairingImage"},
		"or to a good one": {reason: "the same", seen: stuck().cluster(func(c *Cluster) { c.Target, c.WantedVersion = "3.7.3", "3.7.3" }), do: changeImage("c", "3.7.3"), because: "RepairingImage"},
		"one that crashes": {reason: "the same", seen: stuck().cluster(back).pod("c", func(p *Pod) { p.Trouble, p.From = "CrashLoopBackOff: back-off", "" }), do: changeImage("c", theVersion), because: "RepairingImage"},
		"a bad repository": {reason: "the same", seen: stuck().cluster(back).pod("c", func(p *Pod) { p.Version, p.Repository = theVersion, "typo" }), do: changeImage("c", theVersion), because: "RepairingImage"},
		"a member that was never changed": {
			reason: "S10: all is well before it is", seen: upgrading("3.7.3").silent("c").pod("c", func(p *Pod) { p.Trouble = "CrashLoopBackOff: back-off" }), because: "WaitingForMember",
		},
		"one that crashes, under another repository": {
			reason: "it was never changed either", because: "WaitingForMember",
			seen: healthy(3).cluster(func(c *Cluster) { c.Repository = "mirror/etcd" }).silent("c").pod("c", func(p *Pod) { p.Trouble = "CrashLoopBackOff: back-off" }),
		},
		"a seed whose version does not exist": {
			reason: "it has never served: it is begun anew", seen: begun(1).add("a", Seed, Answer{}).pod("a", pulled).wants("3.7.3"),
			do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: "3.7.3"}), because: "Bootstrapping",
		},
		"a seed whose repository does not exist": {
			reason: "the same Pod may pull another image", seen: begun(1).add("a", Seed, Answer{}).pod("a", pulled).pod("a", func(p *Pod) { p.Repository = "typo" }),
			do: changeImage("a", theVersion), because: "RepairingImage",
		},
	}.run(t)
}
