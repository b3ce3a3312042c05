package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/maintenance"
)

// The worlds of these tests are a healthy cluster with alarms, and databases of a size:
//
//	healthy(3).alarm(NoSpace, "b").databases(100, 20).repairs()

const theQuota = 100 << 20

// alarm raises an alarm of a member; of nobody if it has no name.
func (w *world) alarm(kind AlarmKind, name string) *world {
	a := Alarm{Kind: kind}
	if name != "" {
		a.MemberID = id(name)
	}
	for i := range w.o.Pods {
		if p := &w.o.Pods[i]; p.Answer.Reached {
			p.Answer.Alarms = append(p.Answer.Alarms, a)
		}
	}
	return w
}

// newer lets a member have applied more than the others, and know of these alarms.
func (w *world) newer(name string, alarms ...Alarm) *world {
	return w.answer(name, func(a *Answer) { a.Applied, a.Alarms = a.Applied+2, alarms })
}

// database gives a member's database a size, of which some is in use; in percent of the
// quota.
func (w *world) database(name string, size, inUse int64) *world {
	return w.answer(name, func(a *Answer) { a.Quota, a.DBSize, a.DBSizeInUse = theQuota, size*theQuota/100, inUse*theQuota/100 })
}

// databases does that for all members.
func (w *world) databases(size, inUse int64) *world {
	for i := range w.o.Pods {
		w.database(w.o.Pods[i].Name, size, inUse)
	}
	return w
}

// repairs lets the operator make room.
func (w *world) repairs() *world {
	return w.cluster(func(c *Cluster) { c.Maintenance.AutoRepairSpace = true })
}

// repaired is a cluster that was compacted some time ago, to a revision.
func (w *world) repaired(ago time.Duration, revision int64) *world {
	return w.cluster(func(c *Cluster) {
		c.Maintenance.Begun, c.Maintenance.Repaired, c.Maintenance.CompactedRevision = now.Add(-ago), now.Add(-ago), revision
	})
}

func disarm(kind AlarmKind, id uint64) wanted {
	return func(o Observation) Action { return DisarmAlarm{MemberID: id, Alarm: kind, Members: listOf(o)} }
}

// full is a cluster whose databases have grown to their quota.
func full() *world { return healthy(3).alarm(NoSpace, "b").databases(101, 20) }

func TestNoSpace(t *testing.T) {
	rows{
		"nothing is done unless the user allows it": {reason: "the history of keys is the user's", seen: full(), because: "NoSpace"},
		"it is compacted first": {
			reason: "a defragmentation frees only what nobody uses", seen: full().repairs(), do: exactly(Compact{Revision: 1, At: now}), because: "RepairingSpace",
		},
		"not while a member is away": {reason: "S6", seen: full().repairs().silent("c"), because: "WaitingForMember"},
		"not while a Pod is not ready": {
			reason: "S6", seen: full().repairs().pod("c", func(p *Pod) { p.UnreadySince = now }), because: "RepairingSpace",
		},
		"the members are defragmented then": {
			reason: "the file is what counts against the quota", seen: full().repairs().repaired(10*time.Second, 1), do: setRole("b", Defragmenting), because: "Defragmenting",
		},
		"though members move to another version": {
			reason: "they do not while an alarm is raised: neither would ever go on", seen: full().repairs().repaired(10*time.Second, 1).wants("3.7.3").cluster(func(c *Cluster) { c.Target = "3.7.3" }),
			do: setRole("b", Defragmenting), because: "Defragmenting",
		},
		"one that is not wanted leaves first": {
			reason: "as above: its replacement has the quota that the user has raised", seen: full().repairs().size(2).repaired(10*time.Second, 1).wants("3.7.3").cluster(func(c *Cluster) { c.Target = "3.7.3" }),
			do: setRole("b", Leaving), because: "ScalingDown",
		},
		"the alarm is taken back when all have room": {
			reason: "etcd takes writes again", seen: full().databases(20, 20).repairs().repaired(10*time.Second, 1), do: disarm(NoSpace, id("b")), because: "SpaceRepaired",
		},
		"and if the quota was raised": {reason: "there is room", seen: full().databases(79, 79).repairs(), do: disarm(NoSpace, id("b")), because: "SpaceRepaired"},
		"one after the other":         {reason: "one action at a time", seen: full().alarm(NoSpace, "c").databases(20, 20).repairs(), do: disarm(NoSpace, id("b")), because: "SpaceRepaired"},
		"not while one is full": {
			reason: "etcd would raise it again", seen: full().databases(20, 20).database("c", 81, 20).repairs().repaired(time.Minute, 1).done("a", "b", "c"), because: "NoSpace",
		},
		"not while a quota is not known": {
			reason: "nobody knows whether there is room", seen: full().databases(20, 20).answer("c", func(a *Answer) { a.Quota = 0 }).repairs().repaired(time.Minute, 1).done("a", "b", "c"), because: "NoSpace",
		},
		"not again at once": {
			reason: "what was not won is not won now", seen: full().repairs().repaired(time.Minute, 1).done("a", "b", "c").answer("a", func(a *Answer) { a.Revision = 5 }), because: "NoSpace",
		},
		"again when keys were deleted": {
			reason: "there is more to compact", seen: full().databases(101, 101).repairs().repaired(time.Hour, 1).done("a", "b", "c").answer("a", func(a *Answer) { a.Revision = 5 }),
			do: exactly(Compact{Revision: 5, At: now}), because: "RepairingSpace",
		},
		"again when there is free space": {
			reason: "the compaction may have ended after the defragmentation", seen: full().repairs().repaired(time.Hour, 1).done("a", "b", "c"), do: exactly(Compact{Revision: 1, At: now}), because: "RepairingSpace",
		},
		"not again before a member has another quota": {
			reason: "what was not won is not won now, and the user may have raised it", seen: full().volumes().reshape().repairs().repaired(time.Hour, 1).done("a", "b", "c"), do: setRole("b", Restarting), because: "UpdatingMembers",
		},
		"again where no member can start": {
			reason: "each would wait for the other", do: exactly(Compact{Revision: 1, At: now}), because: "RepairingSpace",
			seen: full().volumes().reshape().repairs().repaired(time.Hour, 1).done("a", "b", "c").cluster(func(c *Cluster) { c.TLS = TLS{Problem: CertificatesInvalid, Message: "expired"} }),
		},
		"not for ever": {
			reason: "all of it is live", seen: full().databases(101, 100).repairs().repaired(time.Hour, 1).done("a", "b", "c"), because: "NoSpace",
		},
		"a restart that has begun comes first": {
			reason: "each would wait for the other", seen: full().repairs().aside("b").cluster(func(c *Cluster) { c.Repository = "mirror/etcd" }),
			do: exactly(ChangeImage{Name: "b", UID: "uid-b", Repository: "mirror/etcd", Version: theVersion}), because: "UpgradingMember",
		},
		"members are replaced all the same": {
			reason: "it is no matter of members", seen: full().dead("c").joiner("d"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"the version stays": {reason: "S10: no alarms", seen: full().wants("3.7.3"), because: "UpgradePending"},
		"no member gets another version": {
			reason: "S10: no alarms", seen: upgrading("3.7.3").alarm(NoSpace, "b").databases(101, 20), because: "UpgradingMember",
		},
		"one that was to get it serves on": {
			reason: "clients are to find it", seen: upgrading("3.7.3").aside("b").alarm(NoSpace, "b").databases(101, 20), do: setRole("b", Voter), because: "SettingRoles",
		},
	}.run(t)
}

// A quota that the user raises while members move to another version gets to them before
// that goes on: nothing else ends the alarm that it waits for.
func TestNoSpaceWhileTheVersionChanges(t *testing.T) {
	full := func() *world { return upgrading("3.7.3").volumes().reshape().alarm(NoSpace, "b").databases(101, 20) }
	rows{
		"a member is restarted with it": {reason: "members read their quota when they start", seen: full(), do: setRole("b", Restarting), because: "UpdatingMembers"},
		"in another Pod":                {reason: "S10: the version waits for the alarm", seen: full().aside("b"), do: recreate("b"), because: "UpdatingMembers"},
		"that runs the version it ran":  {reason: "S10: the version waits for the alarm", seen: full().gone("b").updating("b"), do: returning("b"), because: "UpdatingMembers"},
		"one that had moved goes on with what it ran": {
			reason: "S10: no version changes", seen: full().runs("c", "3.7.3").gone("b").updating("b").ran("b", "3.7.3"),
			do: create(NewPod{Name: "b", Role: Returning, Version: "3.7.3"}), because: "UpdatingMembers",
		},
		"an only member goes on with what it ran": {
			reason: "S10: no version changes", seen: healthy(1).wants("3.7.3").cluster(func(c *Cluster) { c.Target, c.UpgradeSize = "3.7.3", 1 }).volumes().gone("a").updating("a").ran("a", theVersion),
			do: create(NewPod{Name: "a", Role: Returning, Version: theVersion}), because: "UpdatingMembers",
		},
		"one that has moved already too": {reason: "its quota counts as well", seen: full().runs("b", "3.7.3").shaped("c").aside("b"), do: recreate("b"), because: "UpdatingMembers"},
		"each of them":                   {reason: "their quotas count as well", seen: full().shaped("b"), do: setRole("c", Restarting), because: "UpdatingMembers"},
		"then the alarm is waited for":   {reason: "S10: no alarms", seen: full().shaped("a", "b", "c"), because: "UpgradingMember"},
		"and the version changes":        {reason: "nothing is in its way", seen: upgrading("3.7.3").volumes().reshape().shaped("a", "b", "c"), do: setRole("b", Restarting), because: "UpgradingMember"},
		"without volumes another member comes": {
			reason: "S7: its data would go with its Pod", seen: upgrading("3.7.3").reshape().alarm(NoSpace, "b").databases(101, 20),
			do: create(joiners(1)...), because: "CreatingMembers",
		},
		"and the first goes": {
			reason: "there is one more than are wanted", seen: upgrading("3.7.3").reshape().voter("d").shaped("d").alarm(NoSpace, "b").databases(101, 20),
			do: setRole("b", Leaving), because: "UpdatingMembers",
		},
	}.run(t)
}

// ran has the last status tell what a member ran.
func (w *world) ran(name, version string) *world {
	return w.cluster(func(c *Cluster) {
		c.LastStatus.MemberDetails = append(c.LastStatus.MemberDetails, v1beta2.MemberDetail{Name: name, Version: version})
	})
}

// This tests the rule alone: in the runbook, another rule precedes it in some of these cases.
func TestDisarmRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		seen   *world
		want   string // the member whose alarm is disarmed
		reason string
	}{
		"of a removed member": {healthy(3).alarm(Corrupt, "z"), "z", "the remaining members agree"},
		"of a member":         {healthy(3).alarm(Corrupt, "c"), "", "it is replaced"},
		"of an unknown one":   {healthy(3).alarm(Corrupt, ""), "", "any member might differ, including one that remains"},
		"of both":             {healthy(3).alarm(Corrupt, "").alarm(Corrupt, "z"), "z", "the remaining members agree"},
		"not settled":         {healthy(3).alarm(Corrupt, "z").unsettled(), "", "another member's list might contain it"},
	} {
		var want action.Action
		if tc.want != "" {
			want = action.DisarmAlarm{MemberID: id(tc.want), Alarm: Corrupt, Members: tc.seen.list}
		}
		var got action.Action
		if s := maintenance.DisarmRemoved(newView(tc.seen.seen())); s != nil {
			got = s.Action
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: action (-want +got):\n%s\nreason for this test: %s", name, diff, tc.reason)
		}
	}
}

func TestCorrupt(t *testing.T) {
	rows{
		"the member is removed at once": {
			reason: "etcd refuses writes as long as the alarm is raised, and nothing heals it", seen: healthy(3).role("c", Leaving).alarm(Corrupt, "c").newJoiner("d"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"it counts no longer for the PodDisruptionBudget": {
			reason: "its Pod is ready until it has ended", seen: healthy(3).alarm(Corrupt, "c").newJoiner("d"), do: setRole("c", Leaving), because: "ReplacingDeadMember",
		},
		"a Pod for the next one is made first": {reason: "its start takes time", seen: healthy(3).alarm(Corrupt, "c"), do: create(joiners(1)...), because: "CreatingMembers"},
		"the leader steps aside": {
			reason: "S8, and nobody is to get a snapshot from it", seen: healthy(3).alarm(Corrupt, "a").joiner("d"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership",
		},
		"a learner goes, too": {reason: "its data is not to get a vote", seen: healthy(2).size(3).learner("c").alarm(Corrupt, "c").joiner("d"), do: remove("c"), because: "MemberRemoved"},
		"its alarm is taken back when it is out": {
			reason: "what is left agrees", seen: healthy(2).alarm(Corrupt, "z"), do: disarm(Corrupt, id("z")), because: "AlarmDisarmed",
		},
		"not while it is in":         {reason: "its data still differs", seen: healthy(3).alarm(Corrupt, "c").silent("b"), because: "Corrupt"},
		"nothing against a majority": {reason: "nobody knows who is right", seen: healthy(3).alarm(Corrupt, "b").alarm(Corrupt, "c").joiner("d"), because: "Corrupt"},
		"nothing of two":             {reason: "one against one", seen: healthy(2).alarm(Corrupt, "b"), because: "Corrupt"},
		"nothing of one":             {reason: "there is no other data", seen: healthy(1).alarm(Corrupt, "a"), because: "Corrupt"},
		"nothing if nobody is named": {reason: "etcd itself does not know", seen: healthy(3).alarm(Corrupt, ""), because: "Corrupt"},
		"nothing if one is not named": {
			reason: "who is named may be right", seen: healthy(3).alarm(Corrupt, "").alarm(Corrupt, "c").joiner("d"), because: "Corrupt",
		},
		"one that only the furthest has heard of": {
			reason: "members apply an alarm one after the other: it is raised", seen: healthy(3).silent("c").newer("b", Alarm{MemberID: id("c"), Kind: Corrupt}).joiner("d"),
			do: remove("c"), because: "ReplacingDeadMember",
		},
		"one that the furthest knows to be disarmed": {
			reason: "members apply that one after the other, too: c merely does not answer", seen: healthy(3).alarm(Corrupt, "c").silent("c").newer("b"), because: "WaitingForMember",
		},
		"no alarm of nobody is taken back": {reason: "its cause is not gone", seen: healthy(3).alarm(Corrupt, "").dead("c"), because: "Corrupt"},
	}.run(t)
}

func TestAlarmsAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		seen              *world
		available, reason string
		want              []string
	}{
		"no space, and not allowed": {full(), "False", "NoSpace", []string{"alarm NOSPACE on member b", "refuses writes", "delete keys", "raise the quota", "etcdctl alarm disarm", "spec.maintenance.autoRepairSpace"}},
		"no space, being repaired":  {full().repairs(), "False", "NoSpace", []string{"alarm NOSPACE on member b", "the operator is compacting"}},
		"no space to be won":        {full().databases(101, 100).repairs().repaired(time.Hour, 1).done("a", "b", "c"), "False", "NoSpace", []string{"did not free enough space", "delete keys", "raise the quota"}},
		"no space, and one away":    {full().silent("c"), "False", "NoSpace", []string{"alarm NOSPACE on member b", "c: ", "does not answer"}},
		"one is corrupt":            {healthy(3).alarm(Corrupt, "c"), "False", "Corrupt", []string{"alarm CORRUPT on member c", "replaces these members"}},
		"two are corrupt":           {healthy(3).alarm(Corrupt, "b").alarm(Corrupt, "c"), "False", "Corrupt", []string{"alarm CORRUPT on member b, alarm CORRUPT on member c", "no quorum", "backup"}},
		"somebody is corrupt":       {healthy(3).alarm(Corrupt, ""), "False", "Corrupt", []string{"alarm CORRUPT on an unknown member", "endpoint hashkv"}},
		"one that was removed":      {healthy(3).alarm(Corrupt, "z"), "False", "Corrupt", []string{"alarm CORRUPT on member 0000000000000023"}},
		"none":                      {healthy(3), "True", "AllHealthy", []string{"all voters are healthy"}},
	} {
		d := decided(tc.seen.seen())
		isToldOnce(t, &d)
		available, degraded := conditionOf(d.Status, v1beta2.ConditionAvailable), conditionOf(d.Status, v1beta2.ConditionDegraded)
		if string(available.Status) != tc.available || degraded.Reason != tc.reason {
			t.Errorf("%s: Available is %s, and Degraded has reason %s: %s", name, available.Status, degraded.Reason, degraded.Message)
		}
		for _, want := range tc.want {
			if said := available.Message + "\n" + degraded.Message; !contains(said, want) {
				t.Errorf("%s: it is said %q, want %q in it", name, said, want)
			}
		}
	}
}
