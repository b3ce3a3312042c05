package plan

import (
	"strings"
	"testing"
	"time"
)

// cordoned is a Pod on a node that is to be emptied.
func cordoned(p *Pod) { p.Cordoned = true }

// emptied is a healthy cluster of three, one of whose nodes is to be emptied.
func emptied() *world { return healthy(3).pod("b", cordoned) }

// unclaimed is a healthy cluster of three on volumes, one of which is being deleted: Kubernetes waits
// for the end of its Pod.
func unclaimed() *world { return healthy(3).volumes().deletingClaim("b") }

// joinedBy is that cluster when another member has joined.
func (w *world) joinedBy(name string) *world {
	return w.voter(name).pod(name, func(p *Pod) { p.Created = now.Add(-time.Minute) })
}

func TestMembersAreMoved(t *testing.T) {
	rows{
		"another Pod is made first": {reason: "S4", seen: emptied(), do: create(joiners(1)...), because: "CreatingMembers"},
		"with volumes too":          {reason: "the node's disks may go with it", seen: emptied().volumes(), do: create(joiners(1)...), because: "CreatingMembers"},
		"nothing is done without room": {
			reason: "there is no harm in waiting", seen: emptied().newJoiner("d").pod("d", unschedulable), because: "MovingMember",
		},
		"it is added when it waits":   {reason: "its Pod has a place", seen: emptied().joiner("d"), do: addLearnerOf("d"), because: "MemberAdded"},
		"not from a node like that":   {reason: "nothing would be won", seen: emptied().joiner("d").pod("d", cordoned), because: "MovingMember"},
		"and goes from there in time": {reason: "another one may find a better place", seen: emptied().joiner("d").pod("d", cordoned).pod("d", func(p *Pod) { p.Created = old }), do: discard("d"), because: "DeletingPod"},
		"it is waited for":            {reason: "it catches up", seen: emptied().learner("d").answer("d", func(a *Answer) { a.Applied -= maxLag + 1 }), because: "MovingMember"},
		"it gets a vote":              {reason: "S5", seen: emptied().learner("d"), do: promoteOf("d"), because: "MemberPromoted"},
		"the other one is to leave":   {reason: "from its clients first", seen: emptied().joinedBy("d"), do: setRole("b", Leaving), because: "MovingMember"},
		"not while clients come":      {reason: "they would notice", seen: emptied().joinedBy("d").role("b", Leaving).pod("b", func(p *Pod) { p.Routed = true }), because: "MovingMember"},
		"not before the new one serves": {
			reason: "S6", seen: emptied().joinedBy("d").pod("d", func(p *Pod) { p.ReadySince = now.Add(-settleTime + 1) }), because: "MovingMember",
		},
		"not while the new one is not healthy": {
			reason: "it has not heard of its own vote yet", seen: emptied().joinedBy("d").silent("d"), because: "WaitingForMember",
		},
		"then it is removed": {reason: "S4", seen: emptied().joinedBy("d").role("b", Leaving), do: remove("b"), because: "MemberMoved"},
		"a leader transfers leadership first": {
			reason: "S8", seen: healthy(3).pod("a", cordoned).joinedBy("d").role("a", Leaving), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership",
		},
		"its Pod goes after":    {reason: "its Pod is orphaned", seen: healthy(3).joiner("d").role("d", Leaving), do: discard("d"), because: "DeletingPod"},
		"the leader comes last": {reason: "S8", seen: healthy(3).pod("a", cordoned).pod("c", cordoned).joinedBy("d"), do: setRole("c", Leaving), because: "MovingMember"},
		"an only member": {
			reason: "there is another one when it goes", seen: healthy(1).pod("a", cordoned).learner("b"), do: promoteOf("b"), because: "MemberPromoted",
		},

		"not while another is not healthy":      {reason: "S6", seen: emptied().silent("c"), because: "WaitingForMember"},
		"not while another is lost":             {reason: "it is what the place is for", seen: emptied().dead("c"), do: create(joiners(1)...), because: "CreatingMembers"},
		"one that is lost meanwhile is removed": {reason: "the newcomer gets its place", seen: emptied().learner("d").dead("c"), do: remove("c"), because: "ReplacingDeadMember"},
		"not while members change their version": {
			reason: "S6", seen: upgrading("3.7.3").pod("b", cordoned), do: setRole("b", Restarting), because: "UpgradingMember",
		},
		"a Pod that waits without room holds nothing up": {
			reason: "it may take long", seen: emptied().newJoiner("d").pod("d", unschedulable).wants("3.7.3"), do: record(theVersion, "3.7.3"), because: "UpgradeStarted",
		},

		"uncordoned before it was added":   {reason: "nobody needs it", seen: healthy(3).joiner("d"), do: discard("d"), because: "DeletingPod"},
		"uncordoned before it got a vote":  {reason: "nobody needs it", seen: healthy(3).learner("d"), do: remove("d"), because: "MemberRemoved"},
		"uncordoned after it got its vote": {reason: "one of the four is too many", seen: healthy(3).joinedBy("d"), do: setRole("d", Leaving), because: "ScalingDown"},
		"one of a cluster that shrinks":    {reason: "it is the one to go", seen: healthy(4).pod("b", cordoned).size(3), do: setRole("b", Leaving), because: "MovingMember"},

		"one whose PVC is being deleted": {
			reason: "its data goes with its Pod", seen: unclaimed(), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"no Pod is recreated on that": {
			reason: "it would be lost", seen: unclaimed().reshape().newJoiner("d").shaped("d").pod("d", unschedulable).shaped("a", "c"), because: "MovingMember",
		},
		"it is removed after":            {reason: "S4", seen: unclaimed().joinedBy("d").claim("d").role("b", Leaving), do: remove("b"), because: "MemberMoved"},
		"and its Pod goes":               {reason: "its Pod is orphaned", seen: healthy(3).volumes().joiner("d").claim("d").deletingClaim("d").role("d", Leaving), do: discard("d"), because: "DeletingPod"},
		"not without quorum of the rest": {reason: "S4", seen: unclaimed().silent("c"), because: "WaitingForMember"},

		"a member whose Pod is not as the spec says": {
			reason: "without a volume it can't be recreated", seen: healthy(3).reshape(), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"is replaced the same way": {
			reason: "S4", seen: healthy(3).reshape().joinedBy("d").role("b", Leaving), do: remove("b"), because: "MemberUpdated",
		},
		"not by one that does not run": {
			reason: "all three serve on", seen: healthy(3).reshape().newJoiner("d").shaped("d").pod("d", func(p *Pod) { p.Node = "n" }).pod("d", backingOff), because: "UpdatingMembers",
		},
	}.run(t)
}

// A Pod that finds no room is no trouble of the cluster, and is told of.
func TestNoRoom(t *testing.T) {
	d := decided(emptied().newJoiner("d").pod("d", unschedulable).seen())
	if !strings.Contains(d.Message, "its node node-b is cordoned") || !strings.Contains(d.Message, "0/3 nodes are available") {
		t.Errorf("it is said: %s; want which node, and why there is no room", d.Message)
	}
	if got := strings.Join(said(d.Status), "\n"); !strings.Contains(got, "Degraded=False") || !strings.Contains(got, "Progressing=True MovingMember") {
		t.Errorf("conditions are %s", got)
	}
}
