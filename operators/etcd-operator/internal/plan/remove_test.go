package plan

import (
	"testing"
)

// S4: a dead voter is removed only while the rest keeps its quorum, and only once
// its replacement waits.
func TestReplacingADeadVoter(t *testing.T) {
	rows{
		"of a dead voter of three, the replacement's Pod is made first": {
			reason: "S4: if it can't be placed, nothing is removed", seen: healthy(3).dead("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a dead voter stays while its replacement is not scheduled": {
			reason: "S4", seen: healthy(3).dead("c").newJoiner("d"), because: "ReplacingDeadMember",
		},
		"a dead voter stays while its replacement can't be scheduled": {
			reason: "S4: a node that comes back heals it", seen: healthy(3).dead("c").newJoiner("d").pod("d", unschedulable), because: "ReplacingDeadMember",
		},
		"a dead voter stays while its replacement has no address yet": {
			reason: "S4", seen: healthy(3).dead("c").joiner("d").pod("d", func(p *Pod) { p.Addressed = false }), because: "ReplacingDeadMember",
		},
		"a dead voter is removed when its replacement waits": {
			reason: "S4: etcd refuses to add a fourth to three of whom one is dead", seen: healthy(3).dead("c").joiner("d"),
			do: remove("c"), because: "ReplacingDeadMember",
		},
		"the replacement is added after the removal": {
			reason: "S4", seen: healthy(2).size(3).joiner("d"), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a replacement is not added before the one that it replaces is removed": {
			reason: "S4: of four of whom one is dead etcd would let nobody vote",
			seen:   healthy(3).deleting("c").joiner("d"), because: "AddingMember",
		},
		"a dead voter that is not wanted is removed at once": {
			reason: "there is no replacement to wait for", seen: healthy(3).dead("c").size(2), do: remove("c"), because: "ReplacingDeadMember",
		},
		"a wiped voter is removed without waiting for its replacement": {
			reason: "nothing heals it, and its Pod may be what takes the replacement's place",
			seen:   healthy(3).wiped("c").newJoiner("d"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"a launcher that does not say whose it is wipes nobody": {
			reason: "S9: it may be another Pod's, at an address that was this one's",
			seen:   healthy(3).wiped("c").answer("c", func(a *Answer) { a.Identified = false }), because: "WaitingForMember",
		},
		"nor does one that has looked once": {
			reason: "S9: the disk may be mounted late",
			seen:   healthy(3).wiped("c").answer("c", func(a *Answer) { a.Waited = emptyFor - 1 }), because: "WaitingForMember",
		},
		"nor does the launcher of another Pod": {
			reason: "S9", seen: healthy(3).answer("c", func(a *Answer) { *a = Answer{Blocked: "another Pod answers"} }), because: "WaitingForMember",
		},
		"a dead voter of three stays while another does not answer": {
			reason: "S4: |H| >= q(|V|)", seen: healthy(3).dead("c").silent("b").joiner("d"), because: "NoQuorum",
		},
		"a dead voter stays while members tell different lists": {
			reason: "S3: the last change has not settled",
			seen:   healthy(4).dead("d").joiner("e").unsettled(), because: "AddingMember",
		},
		"of two lost voters of five one is removed at a time": {
			reason: "S3", seen: healthy(5).dead("d", "e").joiner("f").joiner("g"), do: remove("d"), because: "ReplacingDeadMember",
		},
		"the second of two lost voters of five is replaced after the first has been": {
			reason: "S3: 3 of 4 are a quorum, and 3 of 3",
			seen:   healthy(5).dead("d", "e").joiner("f").joiner("g").forget("d"), do: remove("e"), because: "ReplacingDeadMember",
		},
		"a voter whose etcd does not answer is not removed": {
			reason: "S9: unknown is not dead", seen: healthy(3).silent("c"), because: "WaitingForMember",
		},
		"the only voter is never removed": {
			reason: "S4", seen: healthy(1).pod("a", func(p *Pod) { p.NodeLostSince = old }).lastStatus(reported("a")), because: "UpToDate",
		},
		"a dead learner is removed": {
			reason: "it will never be caught up again, and costs no quorum", seen: healthy(3).size(4).learner("d").dead("d").joiner("e"),
			do: remove("d"), because: "MemberRemoved",
		},
		"a phantom is removed": {
			reason: "a crashed operator added it, and nobody made its Pod or it is gone", seen: healthy(3).size(4).phantom("d").joiner("e"),
			do: remove("d"), because: "MemberRemoved",
		},
		"a phantom whose volume is there, but nothing on it, is removed": {
			reason: "it never started", seen: healthy(3).volumes().size(4).phantom("d").claim("d").joiner("e"), do: remove("d"), because: "MemberRemoved",
		},
		"a phantom stays while the last change has not settled": {
			reason: "S3", seen: healthy(3).size(4).phantom("d").joiner("e").unsettled(), because: "AddingMember",
		},
		"an unstarted member whose Pod waits is no phantom": {
			reason: "a half-done add is finished", seen: healthy(3).size(4).unstarted("d"), do: open("d", joinPermit(1, "a", "b", "c", "d")), because: "StartingMember",
		},
		"an unstarted member that is not wanted any more is removed": {
			reason: "a half-done add is undone", seen: healthy(3).unstarted("d").permit("d", joinPermit(1, "a", "b", "c", "d")), do: remove("d"), because: "MemberRemoved",
		},
	}.run(t)
}

// forget takes a member out of the list.
func (w *world) forget(name string) *world {
	for i, m := range w.list {
		if m.Name == name {
			w.list = append(w.list[:i:i], w.list[i+1:]...)
			return w
		}
	}
	panic("no member " + name)
}

// The least number of healthy voters with which a dead one is removed: a quorum of
// the cluster as it is, which is also one of the cluster without it.
func TestRemovingADeadVoterKeepsQuorum(t *testing.T) {
	const never = 99
	for n, least := range map[int]int{1: never, 2: never, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		for h := 0; h < n; h++ {
			w := healthy(n)
			for i := h; i < n-1; i++ {
				w.silent(string(rune('a' + i)))
			}
			last := string(rune('a' + n - 1))
			d := decided(w.dead(last).joiner("z").seen())
			x, removed := d.Action.(RemoveMember)
			if removed != (h >= least) || (removed && x.Name != last) {
				t.Errorf("%d of %d voters healthy, one dead: removed = %t %s (%s: %s)", h, n, removed, x.Name, d.Reason, d.Message)
			}
		}
	}
}

// What makes a voter not count as healthy (H), so that of three of which one is dead
// nothing is removed.
func TestWhoIsHealthy(t *testing.T) {
	for name, change := range map[string]func(*Answer){
		"it does not answer":            func(a *Answer) { *a = Answer{} },
		"it answers for another member": func(a *Answer) { a.MemberID = id("z") },
		"it is of another cluster":      func(a *Answer) { a.ClusterID = otherCluster },
		"it names another leader":       func(a *Answer) { a.Leader = id("b") },
		"it has no leader":              func(a *Answer) { a.Leader = 0 },
		"it is in another term":         func(a *Answer) { a.Term = theTerm - 1 },
		"it reports an error":           func(a *Answer) { a.Errors = []string{"etcdserver: too many requests"} },
		"it is too far behind":          func(a *Answer) { a.Applied = theApplied - maxLag - 1 },
		"it takes itself for a learner": func(a *Answer) { a.Learner = true },
	} {
		d := decided(healthy(3).dead("c").joiner("d").answer("b", change).seen())
		if x, removed := d.Action.(RemoveMember); removed {
			t.Errorf("%s: %s is removed although only one voter of three is healthy", name, x.Name)
		}
	}
	d := decided(healthy(3).dead("c").joiner("d").answer("b", func(a *Answer) { a.Applied = theApplied - maxLag; a.Read = false }).seen())
	if _, removed := d.Action.(RemoveMember); !removed {
		t.Errorf("a voter that is as far behind as may be counts, and one linearizable read is enough: %s: %s", d.Reason, d.Message)
	}
}

// Without a linearizable read H is empty: a member without quorum still answers.
func TestWithoutAReadNothingIsDecided(t *testing.T) {
	for name, w := range map[string]*world{
		"a dead voter":    healthy(3).dead("c").joiner("d"),
		"too many voters": healthy(5).size(3),
		"a learner":       healthy(3).size(4).learner("d"),
		"a joiner":        healthy(3).size(4).joiner("d"),
		"a stray":         healthy(3).learner("d"),
		"an orphan":       healthy(3).joiner("d").role("d", Leaving),
		"a volume":        healthy(3).volumes().claim("z").newJoiner("z"),
	} {
		for i := range w.o.Pods {
			w.o.Pods[i].Answer.Read = false
		}
		if d := decided(w.seen()); d.Action != nil || d.Reason != "NoQuorum" {
			t.Errorf("%s: %T %s, want to wait for a quorum", name, d.Action, d.Reason)
		}
	}
}

// S8: on the way down unhealthy members go first and the leader last, each after its
// clients and its leadership have gone.
func TestShrinking(t *testing.T) {
	rows{
		"first a follower's clients are turned away": {
			reason: "its mark is what the client Service selects by", seen: healthy(5).size(3), do: setRole("b", Leaving), because: "ScalingDown",
		},
		"then it is removed": {
			reason: "S8", seen: healthy(5).size(3).role("c", Leaving), do: remove("c"), because: "MemberRemoved",
		},
		"one that was leaving goes on leaving": {
			reason: "S6: one disturbance at a time", seen: healthy(5).size(3).role("e", Leaving), do: remove("e"), because: "MemberRemoved",
		},
		"one that does not answer goes first": {
			reason: "S6: it costs nothing", seen: healthy(5).size(3).silent("d"), do: setRole("d", Leaving), because: "ScalingDown",
		},
		"not while another is restarted": {
			reason: "S6: of two marks made at the same time one gives way, or each waits for the other",
			seen:   healthy(4).size(3).cluster(func(c *Cluster) { c.Repository = "s" }).aside("b").role("d", Leaving), do: setRole("d", Voter), because: "SettingRoles",
		},
		"one that does not answer goes before one that is leaving": {
			reason: "S6: it costs nothing, and the other may stay", seen: healthy(5).size(4).silent("d").role("e", Leaving),
			do: setRole("e", Voter), because: "SettingRoles",
		},
		"one without a Pod goes first": {
			reason: "S6", seen: healthy(5).size(3).dead("d"), do: remove("d"), because: "ReplacingDeadMember",
		},
		"the leader goes last": {
			reason: "S8", seen: healthy(2).size(1), do: setRole("b", Leaving), because: "ScalingDown",
		},
		"the leader goes last, whoever it is": {
			reason: "S8", seen: healthy(2).size(1).leader("b"), do: setRole("a", Leaving), because: "ScalingDown",
		},
		"one that has become the leader while it was leaving transfers leadership first": {
			reason: "S8: leaders are asked to step aside before they are removed", seen: healthy(3).size(2).role("a", Leaving),
			do: transferLeadershipOf("a", "b"), because: "TransferringLeadership",
		},
		"nobody can ask one without a Pod to transfer leadership": {
			reason: "S8: where its node is cut off, its container may run on", seen: healthy(3).size(2).dead("c").leader("c"), because: "TransferringLeadership",
		},
		"a member on the node with the most members goes before others": {
			reason: "it spreads those that stay",
			seen:   healthy(5).size(4).pod("d", onNode("n")).pod("e", onNode("n")), do: setRole("d", Leaving), because: "ScalingDown",
		},
		"the youngest of equals goes": {
			reason: "it is the one that was added last", seen: healthy(5).size(4).pod("d", young), do: setRole("d", Leaving), because: "ScalingDown",
		},
		"the leader does not go for its node or its age": {
			reason: "S8 comes first", seen: healthy(3).size(2).pod("a", onNode("n")).pod("b", onNode("n")).pod("a", young),
			do: setRole("b", Leaving), because: "ScalingDown",
		},
		"nobody goes while the rest would not keep its quorum": {
			reason: "S4", seen: healthy(4).size(3).silent("c", "d").answer("b", func(a *Answer) { a.Term-- }), because: "NoQuorum",
		},
		"nobody goes while members tell different lists": {
			reason: "S3", seen: healthy(5).size(3).unsettled(), because: "ScalingDown",
		},
		"the next one goes when the Pod of the last is still there": {
			reason: "S7: only the member list counts", seen: healthy(4).size(3).add("e", Leaving, Answer{}), do: setRole("b", Leaving), because: "ScalingDown",
		},
		"a learner that is not wanted goes before voters": {
			reason: "it costs nothing", seen: healthy(5).size(3).learner("f"), do: remove("f"), because: "MemberRemoved",
		},
		"one that was leaving and is wanted again serves again": {
			reason: "the user has changed their mind", seen: healthy(3).role("c", Leaving), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a size of 0 removes nobody": {
			reason: "admission refuses it; nothing else may follow from it", seen: healthy(3).size(0), because: "UpToDate",
		},
	}.run(t)
}

func onNode(node string) func(*Pod) { return func(p *Pod) { p.Node = node } }
