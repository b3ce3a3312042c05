package plan

import (
	"strings"
	"testing"
	"time"
)

// reshaped is a healthy cluster of three with volumes whose Pods were made under another
// template.
func reshaped() *world { return healthy(3).volumes().reshape() }

// reshape edits the spec of Pods.
func (w *world) reshape() *world {
	w.o.Cluster.Template = "new"
	for i := range w.o.Pods {
		w.o.Pods[i].Template = "old"
	}
	return w
}

// shaped are members whose Pods are as the spec says.
func (w *world) shaped(names ...string) *world {
	for _, name := range names {
		w.pod(name, func(p *Pod) { p.Template = w.o.Cluster.Template })
	}
	return w
}

// updating has the last status name the member whose Pod is being recreated.
func (w *world) updating(name string) *world {
	return w.cluster(func(c *Cluster) { c.LastStatus.UpdatingMember = name })
}

func recreate(name string) wanted { return exactly(RecreatePod{Name: name, UID: "uid-" + name}) }

func backingOff(p *Pod) { p.Trouble, p.Answer = "CrashLoopBackOff: back-off", Answer{} }

// returned is a member whose Pod has been recreated and has not come to run.
func (w *world) returned(name string, change func(*Pod)) *world {
	return w.shaped(name).role(name, Returning).silent(name).pod(name, func(p *Pod) { p.Created, p.UnreadySince = now, now }).pod(name, change)
}

func TestPodsAreRecreatedOneAtATime(t *testing.T) {
	last := func() *world { return reshaped().shaped("b", "c") }
	rows{
		"a follower first, and from its clients first": {reason: "S8", seen: reshaped(), do: setRole("b", Restarting), because: "UpdatingMembers"},
		"not while clients are sent to it": {
			reason: "they would notice", seen: reshaped().aside("b").pod("b", func(p *Pod) { p.Routed = true }), because: "UpdatingMembers",
		},
		"then its Pod goes": {reason: "it is recreated on its volume", seen: reshaped().aside("b"), do: recreate("b"), because: "UpdatingMembers"},
		"it is waited for": {
			reason: "S6", seen: reshaped().aside("b").deleting("b"), because: "UpdatingMembers",
		},
		"and recreated": {
			reason: "S7: its data is on its volume", seen: reshaped().gone("b").updating("b"), do: returning("b"), because: "UpdatingMembers",
		},
		"it is told when it is back": {
			reason: "one event per member", seen: reshaped().shaped("b").role("b", Returning), do: setRole("b", Voter), because: "MemberUpdated",
		},
		"the last one too": {
			reason: "one event per member", seen: reshaped().shaped("a", "b", "c").role("a", Returning).updating("a"), do: setRole("a", Voter), because: "MemberUpdated",
		},
		"a Pod that came back for another reason is not": {
			reason: "nothing was updated", seen: reshaped().shaped("a", "b", "c").role("a", Returning), do: setRole("a", Voter), because: "SettingRoles",
		},
		"the next one when it has settled": {
			reason: "S6", seen: reshaped().shaped("b").pod("b", func(p *Pod) { p.ReadySince = now.Add(-settleTime + 1) }), because: "UpdatingMembers",
		},
		"the next follower":       {reason: "all is well again", seen: reshaped().shaped("b"), do: setRole("c", Restarting), because: "UpdatingMembers"},
		"the leader last":         {reason: "S8", seen: last(), do: setRole("a", Restarting), because: "UpdatingMembers"},
		"it transfers leadership": {reason: "S8", seen: last().aside("a"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership"},
		"and goes after":          {reason: "S8", seen: last().aside("a").leader("b"), do: recreate("a"), because: "UpdatingMembers"},
		"an only member too":      {reason: "there is no other way", seen: healthy(1).volumes().reshape().aside("a"), do: recreate("a"), because: "UpdatingMembers"},
		"its quorum is waited for": {
			reason: "it is the only member", seen: healthy(1).volumes().reshape().aside("a").deleting("a").silent("a").updating("a"), because: "UpdatingMembers",
		},

		"not while another is not healthy":      {reason: "S6", seen: reshaped().silent("c"), because: "WaitingForMember"},
		"not while a node is not ready":         {reason: "S6", seen: reshaped().pod("c", func(p *Pod) { p.NodeLostSince = now }), because: "UpdatingMembers"},
		"not while it has no volume":            {reason: "S7", seen: reshaped().noClaim("b").shaped("a", "c"), because: "UpToDate"},
		"not where it might find no place":      {reason: "a cordoned node takes no Pod: its member is moved", seen: last().pod("a", cordoned), do: create(joiners(1)...), because: "CreatingMembers"},
		"set back before anything was done":     {reason: "it serves on", seen: last().shaped("a").aside("a"), do: setRole("a", Voter), because: "MemberUpgraded"},
		"set back half-way":                     {reason: "those that were changed go back", seen: reshaped().cluster(func(c *Cluster) { c.Template = "old" }).pod("b", func(p *Pod) { p.Template = "new" }), do: setRole("b", Restarting), because: "UpdatingMembers"},
		"a Pod that does not tell":              {reason: "it was made before there were templates", seen: reshaped().pod("b", func(p *Pod) { p.Template = "" }).shaped("a", "c"), because: "UpToDate"},
		"another version is wanted too":         {reason: "one after the other", seen: reshaped().wants("3.7.3"), do: setRole("b", Restarting), because: "UpdatingMembers"},
		"while members move to another version": {reason: "that comes first", seen: upgrading("3.7.3").volumes().reshape().aside("b"), do: changeImage("b", "3.7.3"), because: "UpgradingMember"},
		"another repository goes along": {
			reason: "the new Pod has it", seen: reshaped().cluster(func(c *Cluster) { c.Repository = "mirror/etcd" }).aside("b"), do: recreate("b"), because: "UpdatingMembers",
		},
	}.run(t)
}

func TestTemplatesUnderWhichNothingRuns(t *testing.T) {
	back := func(c *Cluster) { c.Template = "old" }
	place := func() *world { return reshaped().returned("b", unschedulable) }
	rows{
		"it stops there":              {reason: "S6", seen: place(), because: "UpdatingMembers"},
		"set back":                    {reason: "its data is on its volume", seen: place().cluster(back), do: restart("b"), because: "UpdatingMembers"},
		"set back, of one that fails": {reason: "the same", seen: reshaped().returned("b", backingOff).cluster(back), do: restart("b"), because: "UpdatingMembers"},
		"without a quorum":            {reason: "it may be what brings it back", seen: place().silent("c").noQuorum().cluster(back), do: restart("b"), because: "UpdatingMembers"},
		"not one that may run": {
			reason: "S6", seen: reshaped().returned("b", func(*Pod) {}).cluster(back), because: "UpdatingMembers",
		},
		"not one without a volume": {
			reason: "S7", seen: healthy(3).reshape().silent("b").pod("b", backingOff), because: "WaitingForMember",
		},
		"a joiner that nobody can place": {
			reason: "the next edit makes another one", seen: healthy(3).size(4).reshape().shaped("a", "b", "c").newJoiner("d").pod("d", unschedulable).pod("d", func(p *Pod) { p.Template = "old" }),
			do: discard("d"), because: "DeletingPod",
		},
		"a learner that fails": {
			reason: "it has no vote to lose", seen: healthy(3).size(4).learner("d").reshape().shaped("a", "b", "c").pod("d", backingOff).joiner("e").shaped("e"), do: remove("d"), because: "MemberRemoved",
		},
		"a learner that fails, on a volume": {
			reason: "it can be recreated", seen: healthy(3).size(4).learner("d").volumes().reshape().shaped("a", "b", "c").pod("d", backingOff), do: restart("d"), because: "UpdatingMembers",
		},
		"a seed that nobody can place": {
			reason: "it has never served: it is begun anew", because: "Bootstrapping",
			seen: begun(1).add("a", Seed, Answer{}).reshape().pod("a", unschedulable), do: exactly(RecordBootstrap{Bootstrap: Bootstrap{Member: "n1", Token: "fresh-token"}, Version: theVersion}),
		},
	}.run(t)
	if d := decided(place().seen()); !strings.Contains(d.Message, "0 of 3 members are up to date; waiting for member b: its Pod is unschedulable: 0/3 nodes") ||
		!strings.Contains(d.Message, "revert it") {
		t.Errorf("it is said: %s; want how far it is, which member, why, and what to do", d.Message)
	}
}

// What is said of an update says nothing of versions, sizes or losses.
func TestConditionsOfUpdates(t *testing.T) {
	for name, w := range map[string]*world{
		"a Pod is to be recreated": reshaped(),
		"a member is replaced":     healthy(3).reshape().shaped("a").learner("d").answer("d", func(a *Answer) { a.Applied -= maxLag + 1 }),
		"there is one more":        healthy(4).size(3).reshape().shaped("a", "b", "d").pod("d", func(p *Pod) { p.ReadySince = now.Add(-time.Second) }),
	} {
		for _, want := range []string{"Progressing=True UpdatingMembers", "Upgrading=False AtVersion", "Scaling=False AtSize", "Recovering=False NothingToRecover", "Degraded=False AllHealthy"} {
			if got := said(decided(w.seen()).Status); !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%s: it is said %q, want %s", name, got, want)
			}
		}
	}
}

// What a Pod that is gone was like can't be seen any more: the status names its member until
// clients find it again.
func TestTheMemberThatIsUpdated(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		want string
	}{
		"none":                               {reshaped().silent("c"), ""},
		"clients are about to be taken away": {reshaped(), "b"},
		"its Pod is about to go":             {reshaped().aside("b"), "b"},
		"its Pod does not run":               {reshaped().pod("b", unschedulable).silent("b"), "b"},
		"its Pod goes":                       {reshaped().aside("b").deleting("b").updating("b"), "b"},
		"its Pod is gone":                    {reshaped().gone("b").updating("b"), "b"},
		"its Pod is back":                    {reshaped().shaped("b").role("b", Returning).updating("b"), "b"},
		"it serves again":                    {reshaped().shaped("a", "b", "c").updating("b"), ""},
		"its volume is gone too":             {reshaped().shaped("a", "c").gone("b").noClaim("b").updating("b"), ""},
		"a Pod that went by itself":          {reshaped().gone("b"), ""},
		"another version comes first":        {upgrading("3.7.3").volumes().reshape(), ""},
	} {
		if got := decided(tc.seen.seen()).Status.UpdatingMember; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
