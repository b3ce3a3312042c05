package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// foreign adds a voter that a person has added, or a learner.
func (w *world) foreign(name string, learner, started bool) *world {
	w.list = append(w.list, Member{ID: id(name), Name: name, Learner: learner, Started: started, Foreign: true, At: "http://elsewhere:2380"})
	return w
}

// elsewhere gives a member another peer URL than the operator has given it.
func (w *world) elsewhere(name string) *world {
	for i := range w.list {
		if w.list[i].Name == name {
			w.list[i].At = "http://elsewhere:2380"
		}
	}
	return w
}

// What a person adds or changes with etcdctl is not managed, and counts in each quorum (S9).
func TestUnmanagedMembers(t *testing.T) {
	const left = v1beta2.ClusterReasonUnmanagedMembers
	rows{
		"a voter that a person has added, and that has not started, is not removed": {
			reason: "its Pod is gone for the operator, which never was one", seen: healthy(3).foreign("z", false, false), because: left,
		},
		"nor one that has": {reason: "the same", seen: healthy(3).foreign("z", false, true), because: left},
		"nor a learner, nor is it promoted": {
			reason: "whoever added it promotes it", seen: healthy(3).foreign("z", true, true), because: left,
		},
		"nor is one of the operator's own removed for it": {
			reason: "size counts the operator's members", seen: healthy(3).foreign("y", false, true).foreign("z", false, true).
				cluster(func(c *Cluster) { c.Size = 3 }), because: left,
		},
		"the size is kept beside it: one of the operator's own is added": {
			reason: "3 of its own are wanted", seen: healthy(2).foreign("z", false, true).size(3), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"what is lost of its own is replaced, as the quorum with it allows": {
			reason: "3 of 4 voters answer, and 3 of 3 would", seen: healthy(4).size(4).foreign("z", false, true).dead("d").joiner("n"), do: remove("d"), because: "ReplacingDeadMember",
		},
		"nothing is removed where the others would be no quorum": {
			reason: "2 of 4 voters answer: it counts", seen: healthy(3).foreign("z", false, true).dead("c").joiner("n"), because: "NoQuorum",
		},
		"it is not the one to leave on the way down": {
			reason: "the youngest of the operator's own is", seen: healthy(3).foreign("0", false, true).size(2).role("c", Leaving), do: remove("c"), because: "MemberRemoved",
		},
		"nor does another leave while it is down": {
			reason: "S6: it would be the one to leave, were it the operator's to remove", because: "ScalingDown",
			seen: healthy(5).size(3).elsewhere("b").dead("b").role("e", Leaving),
		},
		"a live voter whose peer URL was changed is not removed": {
			reason: "it serves: its id says so", seen: healthy(3).elsewhere("b"), because: left,
		},
		"nor when its Pod is gone": {
			reason: "a person may have moved it there", seen: healthy(3).elsewhere("b").dead("b"), because: left,
		},
		"nor when its disk is empty": {reason: "the same", seen: healthy(3).elsewhere("b").wiped("b"), because: "WaitingForMember"},
		"nor when its data is damaged": {
			reason: "the same", seen: healthy(3).volumes().elsewhere("b").silent("b").pod("b", crashing(5)), because: "WaitingForMember",
		},
		"the other that is lost is": {
			reason: "it is the operator's own", seen: healthy(4).size(3).elsewhere("b").dead("c"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"a member that has not started and whose peer URL is of the operator's naming is its own": {
			reason: "what a crashed operator left half done (S4)", seen: healthy(3).phantom("d"), do: remove("d"), because: "MemberRemoved",
		},
		"no member is restarted or moved meanwhile": {
			reason: "nobody knows whether it lives",
			seen:   healthy(3).foreign("z", false, true).pod("b", func(p *Pod) { p.Cordoned = true }), because: left,
		},
		"who joins is told where it is": {
			reason: "etcd compares the list that it is told with the members' own",
			seen:   healthy(2).foreign("z", false, true).size(3).unstarted("n"),
			do:     open("n", StartPermit{Attempt: 1, Members: []string{"a", "b", "n", "z"}, Elsewhere: []PeerURLs{{Name: "z", At: "http://elsewhere:2380"}}, CatchUp: true}), because: "StartingMember",
		},
		"a Pod that answers as a member is no leftover, whatever the list calls the member": {
			reason: "matched by id", seen: withListName(healthy(3), "b", "other").size(2), because: left,
		},
	}.run(t)
}

// withListName makes the list call a member by another name than its Pod has.
func withListName(w *world, name, other string) *world {
	for i := range w.list {
		if w.list[i].Name == name {
			w.list[i].Name, w.list[i].Foreign = other, true
		}
	}
	return w
}

// Who is not managed is said, with the command that ends it, and the numbers are of the
// operator's own members.
func TestUnmanagedMembersAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		seen  *world
		words []string
		ready string
	}{
		"added":   {healthy(3).foreign("z", false, true), []string{"member z", fmt.Sprintf("etcdctl member remove %016x", id("z")), "http://elsewhere:2380"}, "3/3"},
		"changed": {healthy(3).elsewhere("b"), []string{"member b", fmt.Sprintf("etcdctl member update %016x --peer-urls=http://b.x.ns.svc:2380", id("b"))}, "3/3"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(tc.seen.seen())
			said := ""
			for _, c := range d.Status.Conditions {
				if c.Type == v1beta2.ConditionUnmanagedMembers {
					said = string(c.Status) + " " + c.Message
				}
			}
			for _, word := range append(tc.words, "True ") {
				if !strings.Contains(said, word) {
					t.Errorf("the condition is %q, want it to say %q", said, word)
				}
			}
			if d.Status.ReadyMembers != tc.ready || !d.Outcome.AwaitsUser() || d.SkipChildren || d.RequeueAfter < time.Minute {
				t.Errorf("%s ready, reason %s, again in %s, skips children %t", d.Status.ReadyMembers, d.Reason, d.RequeueAfter, d.SkipChildren)
			}
			n := 0
			for _, m := range d.Status.MemberDetails {
				if m.Unmanaged {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d members are told to be unmanaged, want 1: %+v", n, d.Status.MemberDetails)
			}
		})
	}
}

// A voter that nobody asks is not known to be lost, also when only the last report tells
// of it: no majority counts as lost by it.
func TestAForeignVoterIsNotLost(t *testing.T) {
	w := healthy(2).foreign("z", false, true)
	last := decided(w.seen()).Status
	o := w.dead("b").lastStatus(last).silent("a").seen()
	if v := newView(o); v.QuorumLost() != "" || len(v.KnownVoters()) != 3 {
		t.Errorf("the loss of %d voters is %q, want none of 3: one is lost", len(v.KnownVoters()), v.QuorumLost())
	}
}
