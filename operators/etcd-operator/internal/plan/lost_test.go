package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// S9: unknown is not dead. Each row is a third member of three, without volumes
// unless it says so, with a replacement that waits: is it removed?
func TestWhenAMemberIsLost(t *testing.T) {
	three := func() *world { return healthy(3).joiner("d") }
	withVolumes := func() *world { return healthy(3).volumes().joiner("d") }
	at := func(ago time.Duration) time.Time { return now.Add(-ago) }
	for name, tc := range map[string]struct {
		seen *world
		want bool
	}{
		"its etcd does not answer":                               {three().silent("c"), false},
		"its etcd does not answer, and its containers crash":     {three().silent("c").pod("c", func(p *Pod) { p.Trouble = "CrashLoopBackOff" }), false},
		"its Pod is gone":                                        {three().gone("c"), true},
		"its Pod is gone, but not its volume":                    {withVolumes().gone("c"), false},
		"its Pod and its volume are gone":                        {withVolumes().dead("c"), true},
		"its Pod is gone, and its PVC's owner is in doubt":       {withVolumes().gone("c").doubtful("c"), false},
		"its Pod's owner is in doubt":                            {three().doubtfulPod("c"), false},
		"its Pod has ended, and its PVC's owner is in doubt":     {withVolumes().finished("c").doubtful("c"), false},
		"its Pod finds no node, and its PVC's owner is in doubt": {withVolumes().pod("c", unschedulable).pod("c", func(p *Pod) { p.Created = at(theTimeout - 1) }).doubtful("c"), false},
		"its volume is gone, but not its Pod":                    {withVolumes().noClaim("c"), false},
		"its Pod has ended":                                      {three().finished("c"), true},
		"its Pod has ended, but its volume exists":               {withVolumes().finished("c"), false},
		"its Pod has ended, and its volume is gone":              {withVolumes().finished("c").noClaim("c"), true},
		"its disk is empty":                                      {three().wiped("c"), true},
		"its volume is empty":                                    {withVolumes().wiped("c"), true},
		"its volume is empty in a Pod that was recreated":        {withVolumes().role("c", Returning).answer("c", func(a *Answer) { *a = empty(0) }), true},
		"its node is not ready for less than the timeout":        {three().lostNode(theTimeout-1, "c"), false},
		"its node is not ready for the timeout":                  {three().lostNode(theTimeout, "c"), true},
		"its node, with its volume, is not ready for that":       {withVolumes().lostNode(theTimeout, "c"), true},
		"its node is not ready, but it answers":                  {three().pod("c", func(p *Pod) { p.NodeLostSince = old }), false},
		"its Pod is being deleted for less than the timeout":     {three().silent("c").deletingSince(at(theTimeout-1), "c"), false},
		"its Pod is being deleted for the timeout":               {three().silent("c").deletingSince(at(theTimeout), "c"), true},
		"its Pod is being deleted for that, and it answers":      {three().deletingSince(at(theTimeout), "c"), false},
		"its Pod can't be scheduled for less than the timeout":   {three().pod("c", unschedulable).pod("c", func(p *Pod) { p.Created = at(theTimeout - 1) }), false},
		"its Pod can't be scheduled for the timeout":             {three().pod("c", unschedulable).pod("c", func(p *Pod) { p.Created = at(theTimeout) }), true},
		"its Pod is not scheduled, for no reported reason":       {three().pod("c", unschedulable).pod("c", func(p *Pod) { p.Unschedulable = "" }), false},
		"a launcher that has a permit to start waits in it":      {three().wiped("c").permit("c", joinPermit(2, "a", "b", "c")), false},
		"etcd of another cluster answers in its place":           {three().answer("c", func(a *Answer) { a.ClusterID = otherCluster }), false},
		"it reports an error":                                    {three().answer("c", func(a *Answer) { a.Errors = []string{"etcdserver: too many requests"} }), false},
		"it has no leader":                                       {three().answer("c", func(a *Answer) { a.Leader = 0 }), false},
	} {
		d := decided(tc.seen.seen())
		x, removed := d.Action.(RemoveMember)
		if removed != tc.want || (removed && x.Name != "c") {
			t.Errorf("%s: removed = %t, want %t (%T %s: %s)", name, removed, tc.want, d.Action, d.Reason, d.Message)
		}
	}
}

// The time that a member's node may be gone is the user's to set.
func TestMemberTimeoutIsTheSpecs(t *testing.T) {
	for timeout, want := range map[time.Duration]bool{10 * time.Second: true, time.Minute: true, time.Minute + 1: false} {
		d := decided(healthy(3).joiner("d").lostNode(time.Minute, "c").cluster(func(c *Cluster) { c.MemberTimeout = timeout }).seen())
		if _, removed := d.Action.(RemoveMember); removed != want {
			t.Errorf("node gone for a minute, memberTimeout %s: removed = %t, want %t", timeout, removed, want)
		}
	}
}

// Volumes outlive Pods: members come back on them.
func TestVolumes(t *testing.T) {
	three := func() *world { return healthy(3).volumes() }
	rows{
		"a lost Pod comes back under its name on its volume": {
			reason: "its data is there", seen: three().gone("c"), do: returning("c"), because: "RestartingMember",
		},
		"all lost Pods come back at once": {
			reason: "it needs no quorum, and members heal the cluster together",
			seen:   three().gone("a", "b", "c"), do: returning("a", "b", "c"), because: "RestartingMember",
		},
		"a lost Pod does not come back on a volume that is being deleted": {
			reason: "the data is going", seen: three().gone("c").deletingClaim("c"), because: "WaitingForMember",
		},
		"a member that does not run for long on a volume that is being deleted is lost": {
			reason: "its Pod cannot be recreated on it", seen: three().deletingClaim("c").silent("c").pod("c", backingOff).pod("c", func(p *Pod) { p.UnreadySince = old }), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"it is removed once another Pod waits": {
			reason: "S4", seen: three().deletingClaim("c").silent("c").pod("c", backingOff).pod("c", func(p *Pod) { p.UnreadySince = old }).joiner("d").claim("d"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"not one that may come to run yet": {
			reason: "S9", seen: three().deletingClaim("c").silent("c").pod("c", backingOff).pod("c", func(p *Pod) { p.UnreadySince = now }), because: "WaitingForMember",
		},
		"a Pod that has ended is deleted, to come back on its volume": {
			reason: "S7: by uid, never by force", seen: three().finished("c"), do: restart("c"), because: "RestartingMember",
		},
		"a Pod that has ended is deleted without a quorum too": {
			reason: "it is what brings the quorum back", seen: three().finished("b", "c").noQuorum(), do: restart("b"), because: "RestartingMember",
		},
		"a Pod that has ended and is being deleted is waited for": {
			reason: "S7: a name whose old Pod object still exists is never used again", seen: three().finished("c").deleting("c"), because: "WaitingForMember",
		},
		"a Pod that has ended without a volume is not recreated": {
			reason: "the data went with it", seen: healthy(3).finished("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod that is being deleted is waited for where there is its volume": {
			reason: "it comes back", seen: three().silent("c").deleting("c"), because: "WaitingForMember",
		},
		"a replacement is made ready while a Pod without volume is being deleted": {
			reason: "it never comes back", seen: healthy(3).silent("c").deleting("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a member that is back on its volume is marked a voter when it is healthy": {
			reason: "the client Service selects it again", seen: three().role("c", Returning), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a member that is back on its volume and catches up is not marked yet": {
			reason: "it would serve old data to whoever asks for that",
			seen:   three().role("c", Returning).answer("c", func(a *Answer) { a.Applied = 1 }), because: "WaitingForMember",
		},
		"no Pod is created on a volume while another Pod of the name is in doubt": {
			reason: "the name is taken: each create would fail", seen: three().doubtfulPod("c"), because: "WaitingForMember",
		},
		"a member on a volume whose owner is in doubt serves, and is not restarted": {
			reason: "its Pod would not come back", seen: three().doubtful("c").pod("b", func(p *Pod) { p.Template = "old" }), because: "UpdatingMembers",
		},
		"a lost volume means a new member": {
			reason: "the data is gone", seen: three().dead("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a volume that came back empty means a new member": {
			reason: "S2: it must not vote again", seen: three().wiped("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"the volume of a joiner that was lost is deleted": {
			reason: "S7: it is no member's", seen: three().joiner("d").gone("d"), do: discardClaim("d"), because: "DeletingVolume",
		},
		"the volume of a member that was never started is not given a Pod": {
			reason: "there is nothing on it", seen: three().size(4).phantom("d").claim("d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
	}.run(t)
}

func (w *world) deletingClaim(name string) *world {
	for i := range w.o.Claims {
		if w.o.Claims[i].Name == name {
			w.o.Claims[i].Deleting = true
		}
	}
	return w
}

// Without a quorum the operator does not delete a Pod whose PVC is being deleted: the data would be lost with it. The
// message contains the command that gives up the data.
func TestTerminatingVolumeWithoutAQuorum(t *testing.T) {
	const command = "; only to give up the data of c, whose PVC is being deleted: kubectl -n ns delete pod c"
	crashing := func(p *Pod) { p.Trouble = "CrashLoopBackOff" }
	for name, row := range map[string]struct {
		seen *world
		want bool
	}{
		"its Pod does not run":           {healthy(3).volumes().noQuorum().silent("b", "c").pod("c", crashing).deletingClaim("c"), true},
		"its PVC is not deleted":         {healthy(3).volumes().noQuorum().silent("b", "c").pod("c", crashing), false},
		"its Pod is already deleted":     {healthy(3).volumes().noQuorum().silent("b", "c").pod("c", crashing).deletingClaim("c").deleting("c"), false},
		"its Pod runs and does not vote": {healthy(3).volumes().noQuorum().silent("b", "c").deletingClaim("c"), false},
	} {
		d := decided(row.seen.seen())
		if got := strings.Contains(d.Message, command); d.Action != nil || got != row.want {
			t.Errorf("%s: action %T, and the message %q has the command: %t; want no action and %t", name, d.Action, d.Message, got, row.want)
		}
	}
}

// S7: while a quorum is lost nothing is deleted that might hold data.
func TestLeftovers(t *testing.T) {
	rows{
		"the Pod of a removed member is deleted": {
			reason: "S7: it is out of the list", seen: healthy(3).add("d", Leaving, Answer{}), do: discard("d"), because: "DeletingPod",
		},
		"the Pod of a removed member is deleted while etcd still answers in it": {
			reason: "S7: it is out of the list", seen: healthy(3).add("d", Leaving, serving("d")).tells("d", nil), do: discard("d"), because: "DeletingPod",
		},
		"the Pod of a removed member is not deleted twice": {
			reason: "S11", seen: healthy(3).add("d", Leaving, Answer{}).deleting("d"), because: "DeletingPod",
		},
		"its volume stays while the Pod is there": {
			reason: "S7", seen: healthy(3).volumes().add("d", Leaving, Answer{}).deleting("d"), because: "DeletingPod",
		},
		"its volume is deleted when the Pod is gone": {
			reason: "S7: it is out of the list", seen: healthy(3).volumes().claim("d"), do: discardClaim("d"), because: "DeletingVolume",
		},
		"a volume that is being deleted is left to it": {
			reason: "S11", seen: healthy(3).volumes().claim("d").deletingClaim("d"), because: "UpToDate",
		},
		"a joiner that is not needed any more is deleted": {
			reason: "size has shrunk again", seen: healthy(3).joiner("d"), do: discard("d"), because: "DeletingPod",
		},
		"of several joiners the least ready is deleted": {
			reason: "the other will join sooner", seen: healthy(3).size(4).newJoiner("d").joiner("e").silent("e"),
			do: discard("d"), because: "DeletingPod",
		},
		"no Pod is deleted while members tell different lists": {
			reason: "S3: it may be a member's", seen: healthy(3).add("d", Leaving, Answer{}).unsettled(), because: "WaitingForMember",
		},
		"no volume is deleted while members tell different lists": {
			reason: "S3: it may be a member's", seen: healthy(3).volumes().claim("d").unsettled(), because: "WaitingForMember",
		},
		"no Pod is deleted without a quorum": {
			reason: "S7", seen: healthy(3).noQuorum().add("d", Leaving, Answer{}), because: "NoQuorum",
		},
		"no volume is deleted without a quorum": {
			reason: "S7", seen: healthy(3).volumes().noQuorum().claim("d").add("d", Leaving, Answer{}), because: "NoQuorum",
		},
		"no Pod of a member is deleted because it does not answer": {
			reason: "S9", seen: healthy(3).silent("c"), because: "WaitingForMember",
		},
		"without a quorum every volume gets its Pod, whosever it is": {
			reason: "nobody can tell whose it is, and a launcher on an empty one waits", seen: healthy(3).volumes().noQuorum().claim("d"),
			do: returning("d"), because: "RestartingMember",
		},
	}.run(t)
}

// Without a quorum the cluster waits, and says so; that it is lost is said only when
// it is certain.
func TestQuorumLost(t *testing.T) {
	rows{
		"two of three do not answer": {
			reason: "S9: unknown is not dead", seen: healthy(3).silent("b", "c").noQuorum(), because: "NoQuorum",
		},
		"nobody answers": {
			reason: "S9", seen: healthy(3).silent("a", "b", "c").lastStatus(reported("a", "b", "c")), because: "NoQuorum",
		},
		"nobody answers, and nobody has ever reported a voter": {
			reason: "nothing is known to be lost", seen: healthy(3).silent("a", "b", "c"), because: "NoQuorum",
		},
		"the nodes of two of three are gone for long": {
			reason: "they may come back with the data", seen: healthy(3).noQuorum().lostNode(time.Hour, "b", "c"), because: "NoQuorum",
		},
		"the Pods of two of three are gone": {
			reason: "without volumes the data is gone with them", seen: healthy(3).noQuorum().dead("b", "c"), because: "QuorumLost",
		},
		"the Pod of one of three is gone and another does not answer": {
			reason: "a majority's data may still be there", seen: healthy(3).noQuorum().dead("c").silent("b"), because: "NoQuorum",
		},
		"all Pods are gone": {
			reason: "S1: no fresh cluster is made over a lost one", seen: healthy(3).dead("a", "b", "c").lastStatus(reported("a", "b", "c")), because: "QuorumLost",
		},
		"two of three Pods are gone and the third restarts": {
			reason: "a member that restarts without quorum does not answer, but who was a voter was reported",
			seen:   healthy(3).dead("b", "c").silent("a").lastStatus(reported("a", "b", "c")), because: "QuorumLost",
		},
		"two of three Pods have ended": {
			reason: "they never run again", seen: healthy(3).noQuorum().finished("b", "c"), because: "QuorumLost",
		},
		"the disks of two of three are empty": {
			reason: "the data is gone", seen: healthy(3).noQuorum().wiped("b", "c"), because: "QuorumLost",
		},
		"the volumes of two of three are gone with their Pods": {
			reason: "the data is gone", seen: healthy(3).volumes().noQuorum().dead("b", "c"), because: "QuorumLost",
		},
		"of four two are lost": {
			reason: "two are no quorum of four", seen: healthy(4).noQuorum().dead("c", "d"), because: "QuorumLost",
		},
		"of five two are lost, and etcd elects": {
			reason: "three are a quorum of five", seen: healthy(5).noQuorum().dead("d", "e"), because: "NoQuorum",
		},
		"of five three are lost": {
			reason: "two are no quorum of five", seen: healthy(5).noQuorum().dead("c", "d", "e"), because: "QuorumLost",
		},
		"learners do not count": {
			reason: "they have no vote", seen: healthy(3).size(5).learner("d").learner("e").noQuorum().dead("d", "e"), because: "NoQuorum",
		},
		"a quorum of another cluster is none": {
			reason: "S2: a wiped seed that began again serves a second cluster", because: "NoQuorum",
			seen: healthy(3).silent("b", "c").answer("a", func(a *Answer) { a.ClusterID = otherCluster }).lastStatus(reported("a", "b", "c")),
		},
		"a member serves reads though too few answer the operator": {
			reason: "S9: the operator may be partitioned from the others", seen: healthy(3).dead("b").silent("c"), because: "NoQuorum",
		},
	}.run(t)
}

// unreported is a cluster that nobody tells of, whose report names a, b and c. The Pod of d has found
// no place for so long, and e has none of the data that its volume was made for.
func unreported(waits time.Duration) *world {
	w := healthy(3).volumes().silent("a", "b", "c").add("d", Returning, Answer{}).add("e", Returning, empty(0))
	for _, name := range []string{"a", "b", "c"} {
		w.o.Cluster.LastStatus.MemberDetails = append(w.o.Cluster.LastStatus.MemberDetails, v1beta2.MemberDetail{Name: name, Role: v1beta2.MemberVoter})
	}
	return w.pod("d", unschedulable).pod("d", func(p *Pod) { p.Created = now.Add(-waits) })
}

// Without a quorum a member's Pod has the first claim on a place.
func TestMakingRoom(t *testing.T) {
	rows{
		"a joiner gives way to a member that can't be scheduled": {
			reason: "without the member there is never a quorum again",
			seen:   healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable).joiner("d"), do: restart("d"), because: "MakingRoom",
		},
		"a Pod that returned after the member's Pod does not give way at once": {
			reason: "the member might not fit there, and the Pod would be deleted again each time that it was recreated",
			seen:   healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable).add("d", Returning, empty(0)).pod("d", young), because: "NoQuorum",
		},
		"no other Pod gives way while one is being deleted": {
			reason: "its room might be enough",
			seen:   healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable).joiner("d").joiner("e").deleting("e"), because: "NoQuorum",
		},
		"a joiner that has no place does not give way": {
			reason: "it takes none", seen: healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable).newJoiner("d"), because: "NoQuorum",
		},
		"a Pod that was made for a volume without data gives way too": {
			reason: "without a quorum every volume gets its Pod, that of a joiner too",
			seen:   healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable).add("d", Returning, empty(0)), do: restart("d"), because: "MakingRoom",
		},
		"a member that may have data does not give way": {
			reason: "S7", seen: healthy(3).volumes().noQuorum().silent("b").pod("c", unschedulable), because: "NoQuorum",
		},
		"one without data gives way to one that no report names": {
			reason: "it may have got its vote since the last report, and be missing for a quorum",
			seen:   unreported(3 * facts.OldPodAge / 2), do: restart("e"), because: "MakingRoom",
		},
		"it is not recreated while that one finds no place": {
			reason: "it would take the place again", seen: unreported(3 * facts.OldPodAge / 2).gone("e"), because: "NoQuorum",
		},
		"at first it does not give way": {
			reason: "nor to each other, again and again, do those without data", seen: unreported(time.Minute), because: "NoQuorum",
		},
		"who may have data does not give way to one that no report names": {
			reason: "S7", seen: unreported(3 * facts.OldPodAge / 2).silent("e"), because: "NoQuorum",
		},
		"nobody gives way to a joiner": {
			reason: "it never had a vote", seen: unreported(3*facts.OldPodAge/2).role("d", Joiner), because: "NoQuorum",
		},
		"with a quorum a joiner leaves the node of a voter's volume": {
			reason: "while the voter's Pod was away it has come there, and it can go elsewhere",
			seen:   healthy(3).volumes().pod("c", unschedulable).pod("c", young).volumeOn("c", "n").joiner("d").pod("d", onNode("n")), do: restart("d"), because: "MakingRoom",
		},
		"not once the voter is to be replaced": {
			reason: "the joiner may be the replacement",
			seen:   healthy(3).volumes().pod("c", unschedulable).volumeOn("c", "n").joiner("d").pod("d", onNode("n")), do: remove("c"), because: "ReplacingDeadMember",
		},
		"nor one that has been a member": {
			reason: "S7", seen: healthy(3).volumes().size(4).pod("c", unschedulable).pod("c", young).volumeOn("c", "n").learner("d").pod("d", onNode("n")), because: "WaitingForMember",
		},
		"with a quorum nobody else gives way": {
			reason: "the joiner may be the replacement", seen: healthy(3).volumes().size(4).pod("c", unschedulable).pod("c", young).joiner("d"),
			do: addLearnerOf("d"), because: "MemberAdded",
		},
	}.run(t)
}
