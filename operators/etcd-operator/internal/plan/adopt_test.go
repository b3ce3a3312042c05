package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// left is a new EtcdCluster of n beside volumes that one of uid before has left.
func left(n int, names ...string) *world {
	w := nothing(n).cluster(func(c *Cluster) { c.Persistent, c.Existed = true, "volumes of an earlier cluster of this name exist" })
	for _, name := range names {
		w.o.Retained = append(w.o.Retained, Retained{Name: name, UID: "claim-" + name, Owner: "before", Version: "3.5.35"})
	}
	return w
}

func (w *world) asks(value string) *world {
	return w.cluster(func(c *Cluster) { c.AdoptVolumes = value })
}

// resumed is a cluster of n that goes on with volumes, whose Pods serve as x-a, x-b, ….
func resumed(n int, names ...string) *world {
	w := nothing(n).cluster(func(c *Cluster) {
		c.Persistent, c.Name = true, "x"
		c.Bootstrap = &Bootstrap{Member: "x-" + names[0], Token: "t", Adopted: true}
	})
	for _, name := range names {
		w.claim("x-" + name)
	}
	return w
}

// running adds a Pod that came back on an adopted volume.
func (w *world) running(name string, a Answer) *world {
	w.o.Pods = append(w.o.Pods, Pod{
		Name: "x-" + name, UID: "uid-" + name, Role: Returning, Created: old, IP: "ip", Node: "node", Addressed: true, Persistent: true,
		Version: theVersion, Repository: theRepository, Learners: theLearners, Answer: a,
	})
	return w.tells("x-"+name, a.Members)
}

// unplaced adds a Pod that can't be scheduled, created then.
func (w *world) unplaced(name string, created time.Time) *world {
	return w.running(name, Answer{}).pod("x-"+name, unschedulable).pod("x-"+name, func(p *Pod) { p.Created = created })
}

// listed is a member list of x-a, x-b, ….
func listed(names ...string) (list []Member) {
	for _, name := range names {
		list = append(list, Member{ID: id(name), Name: "x-" + name, Started: true})
	}
	return list
}

func TestVolumesAreAdopted(t *testing.T) {
	refs := func(names ...string) (all []ClaimRef) {
		for _, n := range names {
			all = append(all, ClaimRef{Name: n, UID: "claim-" + n})
		}
		return all
	}
	take := exactly(TakeClaims{From: "before", Claims: refs("a", "b")})
	rows{
		"nothing is begun over volumes that were left": {reason: "S1", seen: left(3, "a", "b"), because: "ClusterExisted"},
		"they are taken when the user asks for them":   {reason: "by uid", seen: left(3, "a", "b").asks(v1beta2.AdoptAny), do: take, because: "AdoptingVolumes"},
		"they may be asked for by whose they were":     {reason: "it is the surest", seen: left(3, "a", "b").asks("before"), do: take, because: "AdoptingVolumes"},
		"those of another are not taken":               {reason: "S12", seen: left(3, "a", "b").asks("another"), because: "ClusterExisted"},
		"which of two is meant can't be told": {
			reason: "S1: members of two clusters are no cluster", because: "ClusterExisted",
			seen: func() *world {
				w := left(3, "a", "b").asks(v1beta2.AdoptAny)
				w.o.Retained[1].Owner = "another"
				return w
			}(),
		},
		"a volume of a recovery is not taken": {
			reason: "S13: the others may be of the cluster before it", because: "ClusterExisted",
			seen: func() *world {
				w := left(3, "a", "b").asks(v1beta2.AdoptAny)
				w.o.Retained[0].Reseed = true
				return w
			}(),
		},
		"one that has no data gives way to one that finds no place": {
			reason: "S1: which of them are voters is not known, and a quorum may be among those without a place", because: "MakingRoom",
			seen: func() *world {
				w := left(3).claim("a").claim("b").claim("c").cluster(func(c *Cluster) { c.Bootstrap = &Bootstrap{Member: "a", Token: "t", Adopted: true} })
				for _, name := range []string{"a", "b"} {
					w.add(name, Returning, empty(0)).pod(name, func(p *Pod) { p.Persistent = true })
				}
				return w.add("c", Returning, Answer{}).pod("c", func(p *Pod) { p.Persistent, p.Node, p.Unschedulable = true, "", "0/3 nodes" })
			}(),
			do: restart("a"),
		},
		"one that gave way is not recreated while another finds no place": {
			reason: "it would take the place again, before the one that has the data", because: "AdoptingVolumes",
			seen: resumed(3, "a", "b", "c").unplaced("a", now.Add(-time.Minute)).running("b", Answer{}),
		},
		"but once the turn of that one is over": {
			reason: "its node may be gone for good, and the volume may be a voter's whose Pod was evicted",
			seen:   resumed(3, "a", "b", "c").unplaced("a", now.Add(-oldPodAge)).running("b", Answer{}),
			do:     returning("x-c"), because: "RestartingMember",
		},
		"the turns are those of who has waited longest": {
			reason: "two that never find a place would keep the third from its Pod for ever",
			seen:   resumed(3, "a", "b", "c").unplaced("a", now.Add(-oldPodAge)).unplaced("b", now),
			do:     returning("x-c"), because: "RestartingMember",
		},
		"one of whom a member tells is recreated at once": {
			reason: "who is a member is known then, and who gave way was none",
			seen:   resumed(3, "a", "b", "c").unplaced("a", now).running("b", answering("b", listed("a", "b", "c"), false)),
			do:     returning("x-c"), because: "RestartingMember",
		},
		"the rest is taken after a crash": {
			reason: "S11: what was taken is the cluster's own already, and nothing has begun",
			seen:   left(3, "b").asks(v1beta2.AdoptAny).claim("a"), do: exactly(TakeClaims{From: "before", Claims: refs("b")}), because: "AdoptingVolumes",
		},
		"what was taken is not begun over when the user takes the wish back": {
			reason: "S1", seen: left(3).claim("a"), because: "ClusterExisted",
		},
		"when all are taken the beginning is recorded as such": {
			reason: "S1: with the version that is noted, whatever is wanted",
			seen:   left(3).asks(v1beta2.AdoptAny).claim("a").claimOf("a", func(c *Claim) { c.Version = "3.5.35" }),
			do:     exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "a", Token: "fresh-token", Adopted: true}, Version: "3.5.35"}), because: "VolumesAdopted",
		},
		"without a version they are not gone on with": {
			reason: "S10: it might skip a minor", seen: left(3).asks(v1beta2.AdoptAny).claim("a"), because: "ClusterExisted",
		},
		"or with the one that the user names": {
			reason: "he knows", seen: left(3).asks(v1beta2.AdoptAny).claim("a").cluster(func(c *Cluster) { c.VersionGiven = true }),
			do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "a", Token: "fresh-token", Adopted: true}, Version: theVersion}), because: "VolumesAdopted",
		},
		"a wish without volumes begins a cluster": {
			reason: "there is nothing to lose", seen: nothing(3).asks(v1beta2.AdoptAny),
			do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}), because: "Bootstrapping",
		},
		"a wish for volumes of somebody who has left none begins none": {
			reason: "S1: they may be in another namespace", seen: nothing(3).asks("before"), because: "ClusterExisted",
		},
		"the Pods of all are recreated, without a permit to begin": {
			reason: "S2", seen: resumed(3, "a", "b", "c"), do: create(NewPod{Name: "x-a", Role: Returning}, NewPod{Name: "x-b", Role: Returning}, NewPod{Name: "x-c", Role: Returning}), because: "RestartingMember",
		},
		"an empty volume gets no permit to begin": {
			reason: "S1, S2: others have the data", seen: resumed(3, "a", "b").running("a", empty(0)).running("b", Answer{}), because: "AdoptingVolumes",
		},
		"one of three waits": {
			reason:  "S4: the others may come back",
			seen:    resumed(3, "a").running("a", answering("a", listed("a", "b", "c"), false)),
			because: "AdoptingVolumes",
		},
		"two of three are a quorum": {
			reason: "the third is replaced as any lost member",
			seen:   resumed(3, "a", "b").running("a", answering("a", listed("a", "b", "c"), true)).running("b", answering("b", listed("a", "b", "c"), true)),
			do:     exactly(LatchClusterID{ClusterID: theCluster, Index: theApplied}), because: "Bootstrapped",
		},
		"members of two clusters are none": {
			reason: "S1",
			seen: resumed(2, "a", "b").running("a", answering("a", listed("a"), true)).running("b", func() Answer {
				a := answering("b", listed("b"), true)
				a.ClusterID = otherCluster
				return a
			}()),
			because: "AdoptingVolumes",
		},
		"members of another name are none of ours": {
			reason: "S12", because: "AdoptingVolumes",
			seen: resumed(1, "a").running("a", answering("a", append(listed("a"), Member{ID: 99, Name: "y-b", Learner: true}), true)),
		},
		"a version that can't be had is corrected by the user": {
			reason: "nothing runs yet",
			seen: resumed(1, "a").running("a", Answer{}).pod("x-a", func(p *Pod) { p.Trouble = "ImagePullBackOff" }).
				cluster(func(c *Cluster) { c.WantedVersion = "3.6.50" }),
			do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "x-a", Token: "t", Adopted: true}, Version: "3.6.50"}), because: "VolumesAdopted",
		},
		"a version that no member runs is corrected before it is latched": {
			reason: "an image that can't be pulled would hold up every other version",
			seen: resumed(3, "a", "b").running("a", answering("a", listed("a", "b", "c"), true)).running("b", answering("b", listed("a", "b", "c"), true)).
				cluster(func(c *Cluster) { c.Version, c.WantedVersion = "3.6.99", "3.6.99" }),
			do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "x-a", Token: "t", Adopted: true}, Version: theVersion}), because: "VolumesAdopted",
		},
		"but not one that a member runs": {
			reason: "the others follow it",
			seen: resumed(3, "a", "b").running("a", answering("a", listed("a", "b", "c"), true)).running("b", answering("b", listed("a", "b", "c"), true)).
				pod("x-b", func(p *Pod) { p.Version = "3.6.99" }).cluster(func(c *Cluster) { c.Version, c.WantedVersion = "3.6.99", "3.6.99" }),
			do: exactly(LatchClusterID{ClusterID: theCluster, Index: theApplied}), because: "Bootstrapped",
		},
	}.run(t)
}

// TestWhoStaysAwayIsTold: a volume without a Pod says why, and until when.
func TestWhoStaysAwayIsTold(t *testing.T) {
	seen := resumed(3, "a", "b", "c").unplaced("a", now.Add(-time.Minute)).running("b", Answer{}).seen()
	if d, want := decided(seen), "x-c: its Pod is recreated once Pod x-a is scheduled, or at 2026-10-01T12:02:00Z"; !contains(d.Message, want) {
		t.Errorf("it is said %q, want %q in it", d.Message, want)
	}
}

// answering is what a member says that lists others.
func answering(name string, list []Member, read bool) Answer {
	a := serving(name)
	a.Read, a.Members = read, slices.Clone(list)
	if !read {
		a.Leader, a.Errors = 0, []string{"etcdserver: no leader"}
	}
	return a
}
