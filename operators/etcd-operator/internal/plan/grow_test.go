package plan

import (
	"strings"
	"testing"
	"time"
)

// joinPermit is the permit to join as one of these members. Their history is so long
// (theApplied) that the leader sends a snapshot.
func joinPermit(attempt int, members ...string) StartPermit {
	return StartPermit{Attempt: attempt, Members: members, CatchUp: true}
}

// minorVersion is etcd's cluster version where all run a version.
func minorVersion(v string) string { return v[:strings.LastIndex(v, ".")] + ".0" }

// version makes everybody run this version.
func (w *world) version(v string) *world {
	w.o.Cluster.Version, w.o.Cluster.WantedVersion = v, v
	for i := range w.o.Pods {
		w.o.Pods[i].Version = v
		if w.o.Pods[i].Answer.Reached {
			w.o.Pods[i].Answer.Version, w.o.Pods[i].Answer.ClusterVersion = v, minorVersion(v)
		}
	}
	return w
}

// unsettled makes b tell an older list than the others: without the last entry.
func (w *world) unsettled() *world { return w.tells("b", w.list[:len(w.list)-1]) }

func TestJoinersAreMadeBeforeTheyAreAdded(t *testing.T) {
	rows{
		"growth begins with all Pods at once": {
			reason: "their starts overlap, and etcd learns of a member only when its Pod waits",
			seen:   healthy(3).size(5), do: create(joiners(2)...), because: "CreatingMembers",
		},
		"Pods that exist are not recreated": {
			reason: "S11: repetition is harmless", seen: healthy(3).size(5).newJoiner("d").newJoiner("e"), because: "AddingMember",
		},
		"entries in the list count": {
			reason: "a half-done add is finished, not repeated", seen: healthy(3).size(5).unstarted("d"),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a joiner whose volume holds data waits for a while": {
			reason: "each volume might hold data: Pods and PVCs must not be created repeatedly",
			seen:   healthy(3).size(4).joiner("d").answer("d", refusesData).pod("d", func(p *Pod) { p.Created = now }), because: "AddingMember",
		},
		"a joiner whose volume holds data is replaced": {
			reason: "it never joins", seen: healthy(3).size(4).joiner("d").answer("d", refusesData).pod("d", func(p *Pod) { p.Created = old }), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a joiner whose volume holds data is deleted once another one waits": {
			reason: "S7: its Pod is deleted by uid, and then its PVC", seen: healthy(3).size(4).joiner("d").answer("d", refusesData).pod("d", func(p *Pod) { p.Created = old }).size(3), do: discard("d"), because: "DeletingPod",
		},
		"a Pod that has ended is deleted before another one is created": {
			reason: "it never joins, and they must not pile up", seen: healthy(3).size(4).joiner("d").finished("d"), do: discard("d"), because: "DeletingPod",
		},
		"a Pod that is being deleted does not count": {
			reason: "it never joins", seen: healthy(3).size(4).joiner("d").deleting("d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod whose node is gone for the timeout does not count": {
			reason: "S9", seen: healthy(3).size(4).newJoiner("d").lostNode(theTimeout, "d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod whose node is gone for less than the timeout counts": {
			reason: "S9", seen: healthy(3).size(4).newJoiner("d").lostNode(theTimeout-1, "d"), because: "AddingMember",
		},
		"a Pod that was a member before does not count": {
			reason: "S2: its disk may hold another member's votes", seen: healthy(3).size(4).joiner("d").role("d", Learner),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod that has used a start permit before does not count": {
			reason: "S2: it was a member, or tried to be", seen: healthy(3).size(4).joiner("d").answer("d", func(a *Answer) { a.Attempt = 1 }),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"one Pod that can't be scheduled does not freeze the other": {
			reason: "liveness: one Pending Pod never freezes the rest",
			seen: healthy(3).size(5).newJoiner("d").joiner("e").
				pod("d", func(p *Pod) { p.Unschedulable = "0/3 nodes are available" }),
			do: addLearnerOf("e"), because: "MemberAdded",
		},
		"nothing is added without a Pod that waits": {
			reason: "no name is looked up before its record exists", seen: healthy(3).size(4).newJoiner("d"), because: "AddingMember",
		},
		"nothing is added before the Pod's address is published": {
			reason: "a name that is looked up before is denied for up to 30 s",
			seen:   healthy(3).size(4).joiner("d").pod("d", func(p *Pod) { p.Addressed = false }), because: "AddingMember",
		},
		"a Pod that waits with its address published is added": {
			reason: "this is the moment", seen: healthy(3).size(4).joiner("d"), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"the two of the first growth are waited for together": {
			reason: "all are added before the first starts, so that the list does not change under it",
			seen:   healthy(1).size(3).joiner("b").joiner("c").answer("c", func(a *Answer) { *a = Answer{} }), because: "AddingMember",
		},
		"one that takes longer is not waited for": {
			reason: "one slow Pod never freezes the rest",
			seen: healthy(1).size(3).joiner("b").joiner("c").answer("c", func(a *Answer) { *a = Answer{} }).
				pod("c", func(p *Pod) { p.Created = now.Add(-joinTogether) }),
			do: addLearnerOf("b"), because: "MemberAdded",
		},
		"one in trouble is not waited for": {
			reason: "one slow Pod never freezes the rest",
			seen: healthy(1).size(3).joiner("b").joiner("c").answer("c", func(a *Answer) { *a = Answer{} }).
				pod("c", func(p *Pod) { p.Trouble, p.ImageUnavailable = "ImagePullBackOff", true }),
			do: addLearnerOf("b"), because: "MemberAdded",
		},
	}.run(t)
}

// S3: one membership change at a time, and several learners only where every
// member applies the same limit.
// shortLog is a cluster of three with so many entries, which the member d waits to join.
func shortLog(entries uint64) *world {
	w := healthy(3).size(4).joiner("d")
	for _, name := range []string{"a", "b", "c"} {
		w.answer(name, func(a *Answer) { a.Applied = entries })
	}
	return w
}

func TestSeveralLearners(t *testing.T) {
	twoJoin := func() *world { return healthy(1).size(3).unstarted("b").joiner("c") }
	one := open("b", joinPermit(1, "a", "b"))
	rows{
		"from 3.6 on a second learner is added": {
			reason: "S3: so that a cluster of n is ready in about the time of two",
			seen:   twoJoin(), do: addLearnerOf("c"), because: "MemberAdded",
		},
		"from 3.7 on a second learner is added": {
			reason: "S3", seen: twoJoin().version("3.7.3"), do: addLearnerOf("c"), because: "MemberAdded",
		},
		"before 3.6 there is one learner at a time": {
			reason: "S3: 3.5 knows no limit but 1", seen: twoJoin().version("3.5.35"), do: one, because: "StartingMember",
		},
		"the short log of one that came from 3.5 grows before a member joins": {
			reason: "S3: the joiner would replay it from its beginning, and apply a second learner that 3.5 has refused",
			seen:   shortLog(60).cluster(from35(40)), do: advance(41), because: "AddingMember",
		},
		"also before the way from 3.5 has ended": {
			reason: "S3: all run 3.6 already",
			seen:   shortLog(100).cluster(func(c *Cluster) { c.Version, c.Target, c.UpgradeSize = "3.5.35", theVersion, 4 }).clusterVersion("3.6.0"), do: advance(1), because: "AddingMember",
		},
		"a log of which etcd drops the beginning does not grow": {
			reason: "whoever joins gets a snapshot", seen: shortLog(101).cluster(from35(40)), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a short log without entries of 3.5 does not grow": {
			reason: "the joiner refuses what the others have refused", seen: shortLog(60), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a log that begins with a snapshot does not grow": {
			reason: "a restore has made it", seen: shortLog(60).cluster(from35(40)).marked(func(f *Fence) { f.Adopted.Restore = "r1" }), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a short log of 3.5 does not grow": {
			reason: "the joiner has the same limit", seen: shortLog(60).version("3.5.35"), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a member that reports less than 3.6 allows one": {
			reason: "S3: it would not apply the second", seen: twoJoin().answer("a", func(a *Answer) { a.Version = "3.5.35" }), do: one, because: "StartingMember",
		},
		"a member that reports no version allows one": {
			reason: "S3: unknown is not 3.6", seen: twoJoin().answer("a", func(a *Answer) { a.Version = "" }), do: one, because: "StartingMember",
		},
		"a member that does not answer allows one": {
			reason: "S3: unknown is not 3.6", seen: healthy(3).size(5).silent("c").unstarted("d").joiner("e"),
			do: open("d", joinPermit(1, "a", "b", "c", "d")), because: "StartingMember",
		},
		"a member with another limit allows one": {
			reason: "S3: members with different limits apply different lists, for good",
			seen:   twoJoin().pod("a", func(p *Pod) { p.Learners = 2 }), do: one, because: "StartingMember",
		},
		"a member without a limit allows one": {
			reason: "S3: etcd's own is 1", seen: twoJoin().pod("a", func(p *Pod) { p.Learners = 0 }), do: one, because: "StartingMember",
		},
		"an unstarted member with a lower limit never starts": {
			reason: "S3: it would come to another list as it replays the log; another takes its place",
			seen:   twoJoin().pod("b", func(p *Pod) { p.Learners = 2 }), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod with a lower limit is not recreated at once": {
			reason: "S3: it cannot join; whatever gives it that limit would give it to the next one as well",
			seen:   lowLimit(20 * time.Second), because: "AddingMember",
		},
		"a Pod with a lower limit makes room for another one after a while": {
			reason: "S3: the limit might have been given to that one alone",
			seen:   lowLimit(time.Minute), do: discard("c"), because: "DeletingPod",
		},
		"after a Pod with a lower limit another one is made": {
			reason: "the limit might have been given to that one alone",
			seen:   lowLimit(time.Minute).deleting("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a Pod with a lower limit that is to take a member's place holds nothing else up": {
			reason: "S6: the member that it is to replace serves",
			seen:   healthy(3).pod("b", cordoned).joiner("d").pod("d", func(p *Pod) { p.Learners = 2 }), because: "MovingMember",
		},
		"beside a Pod with a lower limit another one joins": {
			reason: "S3: it has the limit of the others",
			seen:   lowLimit(20 * time.Second).joiner("d"), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"a Pod with a lower limit holds no other one up": {
			reason: "two are missing",
			seen:   lowLimit(20 * time.Second).size(3), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"an unstarted member without a Pod allows one": {
			reason: "S3: nobody knows what it would run with; and it is itself removed",
			seen:   healthy(1).size(3).phantom("b").joiner("c").joiner("d"), do: remove("b"), because: "MemberRemoved",
		},
		"where nobody has a limit there is one learner at a time": {
			reason: "S3", because: "StartingMember", do: one,
			seen: twoJoin().pod("a", func(p *Pod) { p.Learners = 0 }).pod("b", func(p *Pod) { p.Learners = 0 }).pod("c", func(p *Pod) { p.Learners = 0 }),
		},
		"the common limit is kept": {
			reason: "S3: etcd refuses more", because: "StartingMember",
			seen: limited(healthy(1).size(7).unstarted("b").unstarted("c").joiner("d"), 2).joinersOf("e", "f", "g"),
			do:   open("b", joinPermit(1, "a", "b", "c")),
		},
		"no more members are added than size asks for": {
			reason: "S3", seen: healthy(1).size(3).unstarted("b").unstarted("c").joiner("d"),
			do: open("b", joinPermit(1, "a", "b", "c")), because: "StartingMember",
		},
		"nothing is added while members tell different lists": {
			reason: "S3: the last change has not settled", seen: healthy(3).size(5).unstarted("d").joiner("e").unsettled(), because: "AddingMember",
		},
		"nothing is added while less than a quorum is healthy": {
			reason: "S3: |H| >= q(|V|)", because: "NoQuorum",
			seen: healthy(3).size(4).silent("b", "c").joiner("d"),
		},
		"with a quorum healthy a learner is added": {
			reason: "S3: |H| >= q(|V|), and a learner costs no quorum", because: "MemberAdded",
			seen: healthy(3).size(4).silent("c").joiner("d"), do: addLearnerOf("d"),
		},
		"a learner's own list does not unsettle": {
			reason: "S3 asks the voters; a learner tells none", because: "MemberAdded",
			seen: healthy(1).size(3).learner("b").joiner("c").tells("b", nil).pod("b", func(p *Pod) { p.Answer.Applied = 1 }), do: addLearnerOf("c"),
		},
	}.run(t)
}

// lowLimit has a member, and a Pod that is to join and allows fewer learners.
func lowLimit(age time.Duration) *world {
	return healthy(1).size(2).joiner("c").pod("c", func(p *Pod) { p.Learners, p.Created = 2, now.Add(-age) })
}

func limited(w *world, learners int) *world {
	for i := range w.o.Pods {
		w.o.Pods[i].Learners = learners
	}
	return w
}

func (w *world) joinersOf(names ...string) *world {
	for _, name := range names {
		w.joiner(name).pod(name, func(p *Pod) { p.Learners = w.o.Pods[0].Learners })
	}
	return w
}

// S2: a permit to start is given once, to one member at a time, and never to one that
// has had data.
func TestStartPermits(t *testing.T) {
	rows{
		"an unstarted member whose Pod waits may start, with all members named": {
			reason: "S2 (b)", seen: healthy(3).size(4).unstarted("d"), do: open("d", joinPermit(1, "a", "b", "c", "d")), because: "StartingMember",
		},
		"one whose start failed may start again": {
			reason: "S2: its entry is still unstarted; the attempt is above the last one used",
			seen:   healthy(3).size(4).unstarted("d").answer("d", func(a *Answer) { a.Attempt = 2 }),
			do:     open("d", joinPermit(3, "a", "b", "c", "d")), because: "StartingMember",
		},
		"one whose start failed with its start permit still on the Pod may start again": {
			reason: "S2: the launcher does not use an attempt twice",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(1, "a", "d")).answer("d", func(a *Answer) { a.Attempt = 1 }),
			do:     open("d", joinPermit(2, "a", "b", "c", "d")), because: "StartingMember",
		},
		"one that has not used its start permit yet gets no other": {
			reason: "S2: it may be starting at this moment",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(1, "a", "b", "c", "d")), because: "WaitingForMember",
		},
		"one whose permit does not name the current members gets it again": {
			reason: "launcher and etcd refuse the old permit; both have the same attempt, so only one can be used",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(2, "a", "b", "d")).answer("d", func(a *Answer) { a.Attempt = 1 }),
			do:     open("d", joinPermit(2, "a", "b", "c", "d")), because: "StartingMember",
		},
		"one whose permit names a moved member at its usual peer URL gets it again": {
			reason: "the list has changed since, and etcd compares the peer URLs",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(1, "a", "b", "c", "d")).elsewhere("b"),
			do: open("d", StartPermit{
				Attempt: 1, Members: []string{"a", "b", "c", "d"}, Elsewhere: []PeerURLs{{Name: "b", At: "http://elsewhere:2380"}}, CatchUp: true,
			}), because: "StartingMember",
		},
		"one whose permit has an old peer URL of a member gets it again": {
			reason: "a user undid a change of the member list",
			seen: healthy(3).size(4).unstarted("d").permit("d", StartPermit{
				Attempt: 1, Members: []string{"a", "b", "c", "d"}, Elsewhere: []PeerURLs{{Name: "b", At: "http://elsewhere:2380"}}, CatchUp: true,
			}),
			do: open("d", joinPermit(1, "a", "b", "c", "d")), because: "StartingMember",
		},
		"one whose permit is outdated and whose launcher does not answer gets no other": {
			reason: "S2: etcd may be starting in its place",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(1, "a", "d")).silent("d"), because: "WaitingForMember",
		},
		"of two whose permits are outdated, the first does not wait for the second": {
			reason: "the second will wait for the first, so otherwise they would wait for each other",
			seen:   healthy(1).size(3).unstarted("b").unstarted("c").permit("b", joinPermit(1, "b")).permit("c", joinPermit(1, "b", "c")),
			do:     open("b", joinPermit(1, "a", "b", "c")), because: "StartingMember",
		},
		"one whose launcher does not answer gets no other": {
			reason: "S2: etcd may be starting in its place",
			seen:   healthy(3).size(4).unstarted("d").permit("d", joinPermit(1, "a", "b", "c", "d")).silent("d"), because: "WaitingForMember",
		},
		"one that is sent no snapshot serves at once": {
			reason: "the leader has all its log still",
			seen:   healthy(1).size(2).unstarted("b").answer("a", func(a *Answer) { a.Applied = 100 }),
			do:     open("b", StartPermit{Attempt: 1, Members: []string{"a", "b"}}), because: "StartingMember",
		},
		"etcd 3.5 keeps its log for longer": {
			reason: "the leader has all its log still",
			seen:   healthy(1).size(2).unstarted("b").version("3.5.35").answer("a", func(a *Answer) { a.Applied = 100_000 }),
			do:     open("b", StartPermit{Attempt: 1, Members: []string{"a", "b"}}), because: "StartingMember",
		},
		"a Pod that is no member may not start": {
			reason: "S2: it is added first", seen: healthy(3).joiner("d"), do: discard("d"), because: "DeletingPod",
		},
		"one starts after the other": {
			reason: "an etcd that joins asks every other, and one that is just starting keeps it waiting for 7 s",
			seen:   healthy(1).size(3).unstarted("b").unstarted("c").permit("b", joinPermit(1, "a", "b", "c")).silent("b"),
			do:     open("c", StartPermit{Attempt: 1, Members: []string{"a", "b", "c"}, After: []string{"b"}, CatchUp: true}), because: "StartingMember",
		},
		"the next starts when the first serves": {
			reason: "see above",
			seen:   healthy(1).size(3).learner("b").unstarted("c").permit("b", joinPermit(1, "a", "b", "c")).answer("b", func(a *Answer) { a.Applied = 1 }),
			do:     open("c", joinPermit(1, "a", "b", "c")), because: "StartingMember",
		},
		"nobody starts while members tell different lists": {
			reason: "S3: it could be told a list that is not the cluster's", seen: healthy(3).size(4).unstarted("d").unsettled(), because: "WaitingForMember",
		},
		"nobody starts before all are added who are about to be": {
			reason: "the list does not change under those that start",
			seen:   healthy(1).size(3).unstarted("b").joiner("c"), do: addLearnerOf("c"), because: "MemberAdded",
		},
		"nobody starts before the Pod's address is published": {
			reason: "the others look it up, and are denied for up to 30 s",
			seen:   healthy(3).size(4).unstarted("d").pod("d", func(p *Pod) { p.Addressed = false }), because: "WaitingForMember",
		},
		"a voter whose disk is empty is never let in again": {
			reason: "S2: it has forgotten its votes", seen: healthy(3).wiped("c"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a voter whose disk is empty is never let in again, in a new Pod either": {
			reason: "S2: it has forgotten its votes",
			seen:   healthy(3).volumes().role("c", Returning).answer("c", func(a *Answer) { *a = empty(0) }),
			do:     create(joiners(1)...), because: "CreatingMembers",
		},
		"a learner that has had data is never let in again": {
			reason: "S2: it is replaced under a new name", seen: healthy(3).size(4).learner("d").wiped("d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a member that has just started under the operator's eyes is no wiped one": {
			reason: "its launcher was asked a moment before it used its start permit",
			seen: healthy(3).size(4).learner("d").role("d", Joiner).permit("d", joinPermit(1, "a", "b", "c", "d")).
				answer("d", func(a *Answer) { *a = empty(0) }),
			do: setRole("d", Learner), because: "SettingRoles",
		},
		"the start permit of a member that has started is withdrawn": {
			reason: "S2: it was for once", seen: healthy(3).size(4).learner("d").permit("d", joinPermit(1, "a", "b", "c", "d")).answer("d", func(a *Answer) { a.Applied = 1 }),
			do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "d", UID: "uid-d"}}}), because: "MemberStarted",
		},
		"the start permit of a member that does not answer is withdrawn too": {
			reason: "S2: it has had data, or it would not be in the list as started", seen: healthy(3).permit("c", joinPermit(1, "a", "b", "c")).silent("c"),
			do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "c", UID: "uid-c"}}}), because: "MemberStarted",
		},
		"the start permit of a learner that has lost its disk and its record is withdrawn": {
			reason: "S2: attempt 0 is below the start permit's: it would start again without data",
			seen: healthy(3).size(4).learner("d").permit("d", joinPermit(1, "a", "b", "c", "d")).
				answer("d", func(a *Answer) { *a = Answer{Waiting: true} }),
			do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "d", UID: "uid-d"}}}), because: "MemberStarted",
		},
		"a learner gets no vote before its start permit is withdrawn": {
			reason: "S2: a serving voter that loses its disk and its record would start again without data",
			seen:   healthy(3).size(4).learner("d").permit("d", joinPermit(1, "a", "b", "c", "d")),
			do:     exactly(RevokeStartPermits{Pods: []PodRef{{Name: "d", UID: "uid-d"}}}), because: "MemberStarted",
		},
	}.run(t)
}

// S5: a learner gets its vote only if the cluster would survive its death at that
// moment.
func TestPromotion(t *testing.T) {
	four := func() *world { return healthy(3).size(4).learner("d") }
	rows{
		"a learner that has caught up gets its vote": {
			reason: "S5", seen: four(), do: promoteOf("d"), because: "MemberPromoted",
		},
		"a dead learner that had caught up gets none": {
			reason: "S5: etcd itself would promote it, and lose its quorum of four with the next failure",
			seen:   four().dead("d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a learner that does not answer gets none": {
			reason: "S5: it must have answered itself in this observation", seen: four().silent("d"), because: "WaitingForMember",
		},
		"a learner that is as far behind as may be gets its vote": {
			reason: "S5: within N", seen: four().answer("d", func(a *Answer) { a.Applied = theApplied - maxLag }), do: promoteOf("d"), because: "MemberPromoted",
		},
		"a learner that is one entry further behind gets none": {
			reason: "S5: within N", seen: four().answer("d", func(a *Answer) { a.Applied = theApplied - maxLag - 1 }), because: "WaitingForMember",
		},
		"a learner with an alarm gets none": {
			reason: "S5: it is not healthy", seen: four().answer("d", func(a *Answer) { a.Errors = []string{"etcdserver: too many requests"} }), because: "WaitingForMember",
		},
		"a learner of another cluster gets none": {
			reason: "S5: it has the cluster's id", seen: four().answer("d", func(a *Answer) { a.ClusterID = otherCluster }), because: "WaitingForMember",
		},
		"a learner that answers with another member's id gets none": {
			reason: "S5: it is not the one in the list", seen: four().answer("d", func(a *Answer) { a.MemberID = id("z") }), because: "WaitingForMember",
		},
		"a learner that follows another leader gets none": {
			reason: "S5: it may be partitioned from this one", seen: four().answer("d", func(a *Answer) { a.Leader = id("b") }), because: "WaitingForMember",
		},
		"a learner in another term gets none": {
			reason: "S5: it may be partitioned from this leader", seen: four().answer("d", func(a *Answer) { a.Term-- }), because: "WaitingForMember",
		},
		"a learner without a leader gets none": {
			reason: "S5", seen: four().answer("d", func(a *Answer) { a.Leader = 0 }), because: "WaitingForMember",
		},
		"a learner that has not published itself gets none": {
			reason: "S5: an unstarted entry is nobody", seen: healthy(3).size(4).unstarted("d").answer("d", func(a *Answer) { *a = serving("d"); a.Learner = true }),
			because: "WaitingForMember",
		},
		"a learner whose Pod is being deleted gets none": {
			reason: "S5: it would be dead at once", seen: four().deleting("d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a learner whose Pod is being deleted gets none, though its replacement waits": {
			reason: "S5: it would be dead at once", seen: four().deleting("d").joiner("e"), because: "AddingMember",
		},
		"one at a time gets its vote": {
			reason: "S5: one promotion per observation", seen: healthy(1).size(3).learner("b").learner("c"), do: promoteOf("b"), because: "MemberPromoted",
		},
		"the second gets none while the first is not applied everywhere": {
			reason: "S3: the last change has not settled",
			seen:   healthy(2).size(3).learner("c").tells("b", []Member{{ID: id("a"), Name: "a", Started: true}, {ID: id("b"), Name: "b", Started: true, Learner: true}, {ID: id("c"), Name: "c", Started: true, Learner: true}}), because: "WaitingForMember",
		},
		"none gets a vote beyond size": {
			reason: "it is not wanted", seen: healthy(3).learner("d"), do: remove("d"), because: "MemberRemoved",
		},
		"a learner that has got its vote and does not know it yet is no voter that serves": {
			reason: "it still refuses clients", seen: healthy(3).role("c", Learner).answer("c", func(a *Answer) { a.Learner, a.Read = true, false }),
			because: "WaitingForMember",
		},
		"a learner that has its vote is marked a voter": {
			reason: "the client Service and the budget follow the mark", seen: healthy(3).role("c", Learner), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a joiner that has started is marked a learner": {
			reason: "S2: from here on an empty disk is a lost one",
			seen:   four().role("d", Joiner), do: setRole("d", Learner), because: "SettingRoles",
		},
	}.run(t)
}

// The least number of healthy voters with which a learner gets its vote: q(n+1),
// but where one voter becomes two, where it cannot be kept.
func TestPromotionKeepsQuorum(t *testing.T) {
	for n, least := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 4} {
		for h := 0; h <= n; h++ {
			w := healthy(n).size(n + 1).learner("z")
			for i := h; i < n; i++ {
				w.silent(string(rune('a' + i)))
			}
			d := decided(w.seen())
			_, promoted := d.Action.(Promote)
			if promoted != (h >= least) {
				t.Errorf("%d of %d voters healthy: promoted = %t (%s: %s)", h, n, promoted, d.Reason, d.Message)
			}
		}
	}
}

// A member that is just starting is looked at again at once, and one that has been
// starting for long, later.
func TestPollIntervals(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: fastPoll, newPodAge: fastPoll, newPodAge + 1: shortly, oldPodAge: shortly, oldPodAge + 1: slowly,
	} {
		d := decided(healthy(3).silent("c").pod("c", func(p *Pod) { p.Created = now.Add(-age) }).seen())
		if d.RequeueAfter != want {
			t.Errorf("a member that does not answer, with a Pod of %s: again after %s, want %s", age, d.RequeueAfter, want)
		}
	}
}

// refusesData makes an Answer that of a launcher that found data on a new member's volume.
func refusesData(a *Answer) { *a = Answer{Refusing: true, Blocked: "its launcher does not start etcd"} }
