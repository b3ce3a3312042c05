package plan

import (
	"testing"
)

// seedPermit is the permit to begin a cluster, which only the seed has.
func seedPermit(attempt int) StartPermit {
	return StartPermit{Attempt: attempt, New: true, Members: []string{"a"}, Token: "token"}
}

// seeding is a cluster of n whose seed's Pod, and n-1 joiners', have been made.
func seeding(n int, answer Answer) *world {
	w := begun(n)
	w.add("a", Seed, answer).permit("a", seedPermit(1)).pod("a", func(p *Pod) { p.Created = now })
	for i := 1; i < n; i++ {
		w.joiner(string(rune('a' + i)))
	}
	w.list = []Member{{ID: id("a"), Name: "a", Started: true}}
	return w
}

func TestOneBeginning(t *testing.T) {
	rows{
		"the seed's name and token are recorded before anything exists": {
			reason: "S1: a crash after the seed's Pod must find out which one it was",
			seen:   nothing(3),
			do:     exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}), because: "Bootstrapping",
		},
		"nothing is begun where a cluster existed": {
			reason: "S1: losing everything never leads to a fresh empty cluster",
			seen:   nothing(3).cluster(func(c *Cluster) { c.Existed = "volume x-1 of an earlier cluster exists" }), because: "ClusterExisted",
		},
		"what is recorded is no sign of an earlier cluster": {
			reason: "it is this operator's own beginning, cut short by a crash",
			seen:   begun(1).cluster(func(c *Cluster) { c.Existed = "Pod x of it exists" }),
			do:     create(NewPod{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}), because: "CreatingMembers",
		},
		"the seed and all who are to join are made in one action": {
			reason: "so that a cluster of n is ready in about the time of two Pod starts",
			seen:   begun(3),
			do:     create(append([]NewPod{{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}}, joiners(2)...)...), because: "CreatingMembers",
		},
		"a cluster of one is made without joiners": {
			reason: "there are none", seen: begun(1),
			do: create(NewPod{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}), because: "CreatingMembers",
		},
		"a seed whose Pod is gone is recreated under its name": {
			reason: "S1: before the latch the seed may be retried, and the joiners that exist are enough",
			seen:   seeding(3, Answer{}).gone("a"),
			do:     create(NewPod{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}), because: "CreatingMembers",
		},
		"joiners that a crash left unmade are made while the seed starts": {
			reason: "they cost no time then",
			seen:   seeding(3, Answer{}).gone("b", "c"), do: create(joiners(2)...), because: "CreatingMembers",
		},
		"more joiners are made when size grows before the latch": {
			reason: "size is what the user wants now",
			seen:   seeding(3, Answer{}).size(5), do: create(joiners(2)...), because: "CreatingMembers",
		},
		"a seed that starts is waited for": {
			reason: "S9: unknown is not dead", seen: seeding(3, Answer{}), because: "StartingSeed",
		},
		"a seed that has not used its start permit yet is waited for": {
			reason: "S2: a second start permit could be a second start",
			seen:   seeding(3, Answer{Waiting: true}), because: "StartingSeed",
		},
		"a seed that ended without data gets another start permit": {
			reason: "S1: until the latch it may be retried",
			seen:   seeding(3, Answer{Waiting: true, Attempt: 1}), do: open("a", seedPermit(2)), because: "StartingSeed",
		},
		"a seed's second start permit is not given twice": {
			reason: "S2: the launcher has not used the one that it has",
			seen:   seeding(3, Answer{Waiting: true, Attempt: 1}).permit("a", seedPermit(2)), because: "StartingSeed",
		},
		"a seed whose Pod has ended for good is recreated": {
			reason: "it never restarts by itself",
			seen:   seeding(3, Answer{}).finished("a"), do: restart("a"), because: "RecreatingSeed",
		},
		"a seed whose Pod is already being deleted is waited for": {
			reason: "S7: a name whose old Pod object exists is never used again",
			seen:   seeding(3, Answer{}).finished("a").deleting("a"), because: "StartingSeed",
		},
		"a seed whose node is gone for less than the timeout is waited for": {
			reason: "S9", seen: seeding(3, Answer{}).lostNode(theTimeout-1, "a"), because: "StartingSeed",
		},
		"a seed whose node is gone for the timeout is begun again under another name": {
			reason: "S1: it never served, and nobody could write to it",
			seen:   seeding(3, Answer{}).lostNode(theTimeout, "a"),
			do:     exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}), because: "Bootstrapping",
		},
		"a seed that can't be scheduled has the room to itself": {
			reason: "liveness: without it there is no cluster for the others to join",
			seen:   seeding(3, Answer{}).pod("a", unschedulable), do: restart("b"), because: "MakingRoom",
		},
		"so does one beside joiners that are not to become members": {
			reason: "liveness: they are deleted once there is a cluster, and hold the nodes until then",
			seen: seeding(3, Answer{}).pod("a", unschedulable).cluster(func(c *Cluster) { c.Template = "new" }).
				pod("b", func(p *Pod) { p.Template = "old" }).pod("c", func(p *Pod) { p.Template = "old" }),
			do: restart("b"), because: "MakingRoom",
		},
		"a seed that can't be scheduled, and has no volume, is waited for": {
			reason: "nothing binds it to a place; another seed would fare no better",
			seen:   seeding(1, Answer{}).pod("a", unschedulable).pod("a", func(p *Pod) { p.Created = old }), because: "StartingSeed",
		},
		"a seed that answers is not given up, whatever its node's object says": {
			reason: "S9: it lives",
			seen:   seeding(3, serving("a")).pod("a", func(p *Pod) { p.StartPermit, p.NodeLostSince = nil, old }),
			do:     exactly(LatchClusterID{ClusterID: theCluster}), because: "Bootstrapped",
		},
		"the seed's start permit is withdrawn as soon as it serves": {
			reason: "S2: a seed that counts never has a permit to begin without data, whatever its Pod loses",
			seen:   seeding(3, serving("a")), do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "a", UID: "uid-a"}}}), because: "StartPermitRevoked",
		},
		"the cluster id is latched when the seed alone serves it": {
			reason: "S1: from here on there is never another beginning",
			seen:   seeding(3, serving("a")).pod("a", func(p *Pod) { p.StartPermit = nil }), do: exactly(LatchClusterID{ClusterID: theCluster}), because: "Bootstrapped",
		},
		"the cluster id is not latched from a seed that is being deleted": {
			reason: "the data goes with it, and after the latch nothing could be begun in its place",
			seen:   seeding(3, serving("a")).deleting("a"), because: "StartingSeed",
		},
		"the cluster id is not latched from a seed without a linearizable read": {
			reason: "S1: it might not be able to serve",
			seen:   seeding(3, serving("a")).answer("a", func(a *Answer) { a.Read = false }), because: "StartingSeed",
		},
		"the cluster id is not latched from a seed that names others": {
			reason: "S1: such an etcd is none that we have begun",
			seen:   seeding(3, serving("a")).phantom("z"), because: "StartingSeed",
		},
		"the cluster id is not latched from a seed that names somebody else": {
			reason: "S1: such an etcd is none that we have begun",
			seen:   seeding(3, serving("a")).tells("a", []Member{{ID: id("a"), Name: "z", Started: true}}), because: "StartingSeed",
		},
		"the cluster id is not latched from an answer of another member": {
			reason: "S1: the address was somebody else's before",
			seen:   seeding(3, serving("a")).answer("a", func(a *Answer) { a.MemberID = id("z") }), because: "StartingSeed",
		},
		"the cluster id is never latched from a joiner": {
			reason: "S1: only the seed begins",
			seen:   seeding(2, Answer{}).answer("b", func(a *Answer) { *a = serving("b") }).tells("b", []Member{{ID: id("b"), Name: "b", Started: true}}),
			// b has had data, so another one is to join in its place.
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"no seed is started after the latch": {
			reason: "S1: an empty seed restarted with new would be a second cluster with the same ids",
			seen:   healthy(1).role("a", Seed).wiped("a").lastStatus(reported("a")), because: "QuorumLost",
		},
		"a seed whose Pod is gone after the latch is not recreated": {
			reason: "S1: its data is gone with it",
			seen:   healthy(1).dead("a").lastStatus(reported("a")), because: "QuorumLost",
		},
		"a seed that serves after the latch becomes a voter": {
			reason: "S1: the client Service selects no Pod before", seen: healthy(1).role("a", Seed),
			do: setRole("a", Voter), because: "SettingRoles",
		},
		"the seed's start permit is withdrawn after the latch": {
			reason: "S2: one that was under way has come late", seen: healthy(1).permit("a", seedPermit(1)),
			do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "a", UID: "uid-a"}}}), because: "StartPermitRevoked",
		},
		"the seed's start permit is withdrawn after the latch also while it does not answer": {
			reason: "S2: an emptied disk must find no permit to begin", seen: healthy(1).permit("a", seedPermit(1)).silent("a"),
			do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "a", UID: "uid-a"}}}), because: "StartPermitRevoked",
		},
		"the start permit of a seed that was given up is withdrawn first": {
			reason: "S1: a node that comes back must not begin a second cluster",
			seen:   givenUp(), do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "z", UID: "uid-z"}}}), because: "StartPermitRevoked",
		},
		"the Pod of a seed that was given up is deleted": {
			reason: "S1: there is one seed", seen: givenUp().pod("z", func(p *Pod) { p.StartPermit = nil }), do: restart("z"), because: "SeedDiscarded",
		},
		"a given-up seed that is being deleted is not waited for": {
			reason: "its node is gone", seen: givenUp().deleting("z").pod("z", func(p *Pod) { p.StartPermit = nil }),
			do: create(NewPod{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}), because: "CreatingMembers",
		},
		"without a name for the seed there is a wait": {
			reason: "names come from outside", seen: nameless(nothing(1)), because: "Bootstrapping",
		},
	}.run(t)
}

// givenUp is a cluster to be begun with a, after z never served.
func givenUp() *world {
	return begun(1).add("z", Seed, Answer{}).permit("z", StartPermit{Attempt: 1, New: true, Members: []string{"z"}, Token: "first"})
}

func nameless(w *world) *world {
	w.o.FreshNames = nil
	return w
}

// In a cluster with volumes the seed's data may outlive its Pod.
func TestOneBeginningWithVolumes(t *testing.T) {
	rows{
		"a seed whose Pod was lost before the latch comes back as the seed": {
			reason: "S2: its launcher goes on with the data, if there is any; a start permit would lie there unused past the latch",
			seen:   seeding(1, Answer{}).volumes().gone("a"),
			do:     create(NewPod{Name: "a", Role: Seed}), because: "CreatingMembers",
		},
		"a seed that came back and finds no data gets a permit to begin": {
			reason: "S1: until the latch it may be retried",
			seen:   seeding(1, Answer{Waiting: true}).volumes().pod("a", func(p *Pod) { p.StartPermit = nil }),
			do:     open("a", seedPermit(1)), because: "StartingSeed",
		},
		"a seed whose Pod and volume were lost before the latch is made from the beginning": {
			reason: "S1: until the latch it may be retried",
			seen:   seeding(1, Answer{}).volumes().dead("a"),
			do:     create(NewPod{Name: "a", Role: Seed, StartPermit: new(seedPermit(1))}), because: "CreatingMembers",
		},
		"a seed that can't be scheduled where its volume is, is begun again": {
			reason: "liveness: the volume binds it to a place that has no room, and nothing is on it",
			seen:   seeding(1, Answer{}).volumes().pod("a", unschedulable).pod("a", func(p *Pod) { p.Created = now.Add(-theTimeout) }),
			do:     exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}), because: "Bootstrapping",
		},
		"a seed that can't be scheduled where its volume is, is waited for at first": {
			reason: "S9: the place may become free",
			seen:   seeding(1, Answer{}).volumes().pod("a", unschedulable).pod("a", func(p *Pod) { p.Created = now.Add(1 - theTimeout) }), because: "StartingSeed",
		},
		"a seed whose Pod was lost after the latch comes back without a permit to begin": {
			reason: "S2: on an empty volume it must not begin again",
			seen:   healthy(1).volumes().gone("a"), do: returning("a"), because: "RestartingMember",
		},
	}.run(t)
}
