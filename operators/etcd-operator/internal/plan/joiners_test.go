package plan

import (
	"testing"
	"time"
)

// strandedFor adds a Pod that is to join and has not come to run on its node for so long.
func (w *world) strandedFor(d time.Duration, name string) *world {
	return w.newJoiner(name).pod(name, func(p *Pod) {
		p.Created, p.UnreadySince = now.Add(-d), now.Add(-d)
		p.Node, p.Trouble, p.ImageUnavailable = "n-bad", "ImagePullBackOff: no route to the registry", true
	})
}

func TestJoinersThatNeverRun(t *testing.T) {
	rows{
		"a joiner that has ended before the cluster began is deleted first": {
			reason: "those that are evicted must not pile up",
			seen:   begun(3).voter("a").silent("a").role("a", Seed).joiner("d").finished("d"),
			do:     exactly(DeletePod{Name: "d", UID: "uid-d"}), because: "DeletingPod",
		},
		"then another one is created": {
			reason: "as many as are wanted", seen: begun(3).voter("a").silent("a").role("a", Seed).joiner("d").finished("d").deleting("d").joiner("e"),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"another joiner is created beside one that does not come to run": {
			reason: "its node may be the matter", seen: healthy(3).size(4).strandedFor(strandedAge, "d"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"the same of one whose containers are not made": {
			reason: "as above",
			seen:   healthy(3).size(4).strandedFor(strandedAge, "d").pod("d", func(p *Pod) { p.Trouble, p.Creating = "", true }),
			do:     create(joiners(1)...), because: "CreatingMembers",
		},
		"not before it has had time": {
			reason: "an image may be large", seen: healthy(3).size(4).strandedFor(strandedAge-time.Second, "d"), because: "AddingMember",
		},
		"not for one that finds no node": {
			reason: "another one finds none either",
			seen:   healthy(3).size(4).strandedFor(time.Hour, "d").pod("d", unschedulable), because: "AddingMember",
		},
		"but for one that finds none for the volume of an earlier Pod": {
			reason: "that may be bound to a node that is gone",
			seen:   healthy(3).size(4).newJoiner("d").volumes().pod("d", unschedulable).pod("d", func(p *Pod) { p.Created = now.Add(-theTimeout) }),
			do:     create(joiners(1)...), because: "CreatingMembers",
		},
		"not before the timeout": {
			reason: "room may be made",
			seen:   healthy(3).size(4).newJoiner("d").volumes().pod("d", unschedulable).pod("d", func(p *Pod) { p.Created = now.Add(1 - theTimeout) }), because: "AddingMember",
		},
		"nor for one that has a volume of its own": {
			reason: "another one finds no node either",
			seen:   healthy(3).size(4).newJoiner("d").volumes().pod("d", unschedulable).pod("d", func(p *Pod) { p.Created = old }), because: "AddingMember",
		},
		"one at a time": {
			reason: "the number of Pods is bounded",
			seen:   healthy(3).size(5).strandedFor(strandedAge, "d").strandedFor(strandedAge, "e").newJoiner("f"), because: "AddingMember",
		},
		"the other one joins": {
			reason: "it is ready", seen: healthy(3).size(4).strandedFor(strandedAge, "d").joiner("e"), do: addLearnerOf("e"), because: "MemberAdded",
		},
		"the one that never came to run is deleted then": {
			reason: "it is of no use any more", seen: healthy(4).strandedFor(strandedAge, "e"), do: discard("e"), because: "DeletingPod",
		},
		"when the other one does not come to run either, the older one gives way": {
			reason: "a third node may do",
			seen:   healthy(3).size(4).strandedFor(2*strandedAge, "e").strandedFor(strandedAge, "d"), do: discard("e"), because: "DeletingPod",
		},
		"when the first one comes to run after all, it joins": {
			reason: "nothing is lost by waiting for it", seen: healthy(3).size(4).joiner("d").newJoiner("e"), do: addLearnerOf("d"), because: "MemberAdded",
		},
		"no other one is created while the API server refuses it": {
			reason: "as for any joiner", seen: healthy(3).size(4).strandedFor(strandedAge, "d").rejected(Joiner, "r"), because: "AddingMember",
		},
	}.run(t)
}
