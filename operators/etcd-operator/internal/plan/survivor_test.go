package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// lost is a cluster of five of which c, d and e are gone for good, for a minute, and which
// may begin anew: a and b are left, and b knows of more.
func lost() *world {
	w := healthy(5).noQuorum().dead("c", "d", "e")
	w.cluster(func(c *Cluster) { c.Survive, c.QuorumLostSince = true, now.Add(-time.Minute) })
	for _, name := range []string{"a", "b"} {
		w.answer(name, func(a *Answer) { a.Leader, a.Read, a.Errors, a.Committed = 0, false, nil, theApplied-10 })
	}
	w.answer("a", func(a *Answer) { a.Revision = 60 })
	return w.answer("b", func(a *Answer) { a.Committed, a.Revision = theApplied, 70 })
}

// theRecovery is what lost leads to.
func theRecovery() Recovery {
	return Recovery{
		Phase: v1beta2.RecoverySeeding, ClusterID: theCluster, Survivor: "b", SurvivorUID: "uid-b", MemberID: id("b"), Committed: theApplied,
		Revision: 70, BeginsAt: 70 + minBump, Seed: "n1", Token: "fresh-token", Version: theVersion,
		Survivors: []string{"a", "b"}, Members: []string{"a", "b", "c", "d", "e"},
	}
}

func chosen(Observation) Action { return RecordSurvivor{Recovery: theRecovery()} }

// reseeding is lost when b was chosen, and its survivors are marked.
func reseeding() *world {
	r := theRecovery()
	return lost().role("a", Survivor).role("b", Survivor).cluster(func(c *Cluster) { c.Recovery = &r })
}

// seeded is reseeding when the seed serves.
func seeded() *world {
	self := Member{ID: 500, Name: "n1", Started: true}
	w := reseeding().add("n1", Seed, Answer{Reached: true, Read: true, ClusterID: otherCluster, MemberID: self.ID, Leader: self.ID, Version: theVersion})
	w.told["n1"] = []Member{self}
	return w.pod("n1", func(p *Pod) { p.Reseed = "fresh-token" })
}

// Who is chosen, and when nobody is.
func TestChooseSurvivor(t *testing.T) {
	rows{
		"the one that knows of the most": {
			reason: "the largest committed index, of all that are left", seen: lost(), do: chosen, because: "SurvivorChosen",
		},
		"whatever its term": {
			reason: "a term says nothing of the log", seen: lost().answer("a", func(a *Answer) { a.Term += 5 }), do: chosen, because: "SurvivorChosen",
		},
		"once, by the annotation": {
			reason: "it names the cluster that is lost",
			seen:   lost().cluster(func(c *Cluster) { c.Survive, c.Recover = false, "00000000000000c1" }), do: chosen, because: "SurvivorChosen",
		},
		"not by the annotation of another cluster": {
			reason: "it was for another loss",
			seen:   lost().cluster(func(c *Cluster) { c.Survive, c.Recover = false, "00000000000000c2" }), because: "QuorumLost",
		},
		"nobody unless a user wants it": {
			reason: "writes may be lost", seen: lost().cluster(func(c *Cluster) { c.Survive = false }), because: "QuorumLost",
		},
		"no survivor while the owner of a voter's PVC is in doubt": {
			reason: "S13: it might hold newer data", seen: lost().doubtful("c"), because: "NoQuorum",
		},
		"no survivor while the owner of another PVC is in doubt": {
			reason: "S13: it might belong to a member that no list contains", seen: lost().doubtful("f"), because: "QuorumLost",
		},
		"nobody at once": {
			reason: "S13: the doubt must have time to show", seen: lost().cluster(func(c *Cluster) { c.QuorumLostSince = now.Add(-standTime + 1) }), because: "QuorumLost",
		},
		"nobody while something begun may land": {
			reason: "an operator before this one may have made a Pod", seen: lost().since(landing - 1), because: "QuorumLost",
		},
		"nobody while one that might hold data does not answer": {
			reason: "S9: it may know of more", seen: lost().silent("a"), because: "QuorumLost",
		},
		"nobody with a corrupt member": {
			reason: "which of them is damaged is not said", seen: lost().answer("a", func(a *Answer) { a.Alarms = []Alarm{{MemberID: 10, Kind: Corrupt}} }), because: "QuorumLost",
		},
		"nobody with a leader": {
			reason: "the cluster may serve again", seen: lost().answer("a", func(a *Answer) { a.Leader = id("b") }), because: "QuorumLost",
		},
		"nobody while one applies what it has": {
			reason: "its snapshot would lack it", seen: lost().answer("b", func(a *Answer) { a.Applied = a.Committed - 1 }), because: "QuorumLost",
		},
		"nobody while a member of another cluster answers": {
			reason: "all must be of one cluster", seen: lost().add("f", Voter, Answer{Reached: true, ClusterID: otherCluster, MemberID: 77}), because: "QuorumLost",
		},
		"nobody if by some list a majority is left": {
			reason: "a shrink that the other had not heard of", seen: lost().answer("a", func(a *Answer) { a.Term-- }).tells("a", []Member{{ID: id("a"), Name: "a", Started: true}, {ID: id("b"), Name: "b", Started: true}}), because: "QuorumLost",
		},
		"nobody while a quorum serves": {
			reason: "it is not lost", seen: healthy(3).cluster(func(c *Cluster) { c.Survive, c.QuorumLostSince = true, old }), because: "UpToDate",
		},
		"nobody twice": {
			reason: "the seed was lost before it had grown: like any member, it has lost its data",
			seen: lost().cluster(func(c *Cluster) {
				r := theRecovery()
				r.Phase = v1beta2.RecoveryGrowing
				c.Recovery = &r
			}),
			because: "QuorumLost",
		},
	}.run(t)
}

// From the choice to the adoption, one step after the other.
func TestReseed(t *testing.T) {
	r := theRecovery()
	rows{
		"the survivors lose their clients first": {
			reason: "S13: none of them may take a write that the seed lacks", seen: reseeding().role("a", Voter),
			do: func(Observation) Action { return SetRoles{Roles: []PodRole{{Name: "a", UID: "uid-a", Role: Survivor}}} }, because: "RecoveringFromSurvivor",
		},
		"then the seed is made": {
			reason: "under its recorded name", seen: reseeding(),
			do: func(o Observation) Action {
				return CreatePods{Pods: []NewPod{{Name: "n1", Role: Seed, Version: theVersion, Recovery: o.Cluster.Recovery}}}
			}, because: "RecoveringFromSurvivor",
		},
		"its permit is revoked when it serves": {
			reason: "S2: it is for once", seen: seeded().pod("n1", func(p *Pod) { p.SurvivorPermit = true }),
			do: func(Observation) Action { return RevokeSurvivorPermit{Name: "n1", UID: "uid-n1"} }, because: "RecoveringFromSurvivor",
		},
		"and it is adopted": {
			reason: "it serves alone, and the old cluster does not", seen: seeded(),
			do: func(Observation) Action {
				return AdoptSurvivor{Name: "n1", UID: "uid-n1", ClusterID: otherCluster, Token: r.Token}
			}, because: "SurvivorAdopted",
		},
		"not while an old member has a leader": {
			reason: "the old cluster may serve again", seen: seeded().answer("a", func(a *Answer) { a.Leader = id("b") }), because: "RecoveringFromSurvivor",
		},
		"it is aborted when the old cluster serves": {
			reason: "S13: that is the truth", seen: seeded().answer("a", func(a *Answer) { a.Leader, a.Read = id("b"), true }),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"or when a member comes back": {
			reason: "nobody has asked it", seen: seeded().add("c", Voter, Answer{Reached: true, ClusterID: theCluster, MemberID: id("c"), Committed: 1}),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"or when one knows of more": {
			reason: "a quorum was there in between", seen: seeded().answer("a", func(a *Answer) { a.Committed = theApplied + 1 }),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"or when its user has changed his mind": {
			reason: "nothing is lost yet", seen: seeded().cluster(func(c *Cluster) { c.Survive = false }),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"or when the survivor is gone before the seed is made": {
			reason: "the choice is made anew", seen: func() *world {
				w := reseeding().dead("b")
				return w
			}(),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"or when the seed has no data": {
			reason: "its disk was lost", seen: seeded().answer("n1", func(a *Answer) { *a = empty(0) }),
			do: func(Observation) Action { return EndRecovery{Token: r.Token} }, because: "RecoveryAborted",
		},
		"a survivor that falls silent is not waited for": {
			reason: "what it knew was told, it has no clients, and without the others it can't take a write", seen: seeded().silent("a"),
			do: func(Observation) Action {
				return AdoptSurvivor{Name: "n1", UID: "uid-n1", ClusterID: otherCluster, Token: r.Token}
			}, because: "SurvivorAdopted",
		},
		"the seed of a recovery that was aborted is deleted": {
			reason: "before the choice is made anew", seen: seeded().cluster(func(c *Cluster) { c.Recovery = nil }),
			do: func(Observation) Action { return DropSeed{Name: "n1", PodUID: "uid-n1", Token: r.Token} }, because: "SeedDiscarded",
		},
		"nothing is done while it is paused": {
			reason: "S12", seen: seeded().cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
	}.run(t)
}

// Two launchers that do not say whose they are, or have looked only once, are no loss of a
// majority: they may be other Pods', at addresses that were those of members with data.
func TestDoubtfulLossIsNone(t *testing.T) {
	for name, doubt := range map[string]func(*Answer){
		"of no identity":          func(a *Answer) { a.Identified = false },
		"that have looked once":   func(a *Answer) { a.Waited = 0 },
		"of which one is blocked": func(a *Answer) { *a = Answer{Blocked: "the launcher of another Pod answers"} },
	} {
		w := healthy(3).noQuorum().wiped("b", "c").cluster(func(c *Cluster) { c.Survive, c.QuorumLostSince = true, old }).answer("c", doubt).answer("b", doubt)
		d := decided(w.seen())
		if _, chosen := d.Action.(RecordSurvivor); chosen || d.Reason == "QuorumLost" || d.Status.QuorumLostSince != nil {
			t.Errorf("launchers %s: %T %s: %s", name, d.Action, d.Reason, d.Message)
		}
	}
}

// One that is doubtful holds up the choice of a survivor, and is named.
func TestDoubtfulHolder(t *testing.T) {
	for name, c := range map[string]struct {
		answer Answer
		says   string
	}{
		"of no identity":       {Answer{Waiting: true, Waited: emptyFor}, "is too old to prove that the disk is empty: if the data is lost, kubectl -n ns delete pod c"},
		"that has looked once": {Answer{Waiting: true, Identified: true, Waited: time.Second}, "finds no data; confirming for 3s that the disk is empty"},
		"of another Pod":       {Answer{Blocked: "the launcher of another Pod answers"}, "the launcher of another Pod answers"},
	} {
		w := lost().add("c", Voter, c.answer)
		d := decided(w.seen())
		if _, chosen := d.Action.(RecordSurvivor); chosen || !strings.Contains(d.Message, c.says) {
			t.Errorf("a launcher %s: %T %s: %s", name, d.Action, d.Reason, d.Message)
		}
	}
}

// What is said of a loss has all that a person needs.
func TestLossReport(t *testing.T) {
	rows := map[string]struct {
		reason string
		seen   *world
		words  []string
	}{
		"a survivor, and no policy": {
			reason: "a person decides", seen: lost().cluster(func(c *Cluster) { c.Survive = false }),
			words: []string{
				"the data of 3 of 5 voters is lost: c, d, e", "members that still have data: a (revision 60, committed index 199990), b (revision 70, committed index 200000)",
				"set spec.recovery.quorumLoss: Survivor", "kubectl -n ns annotate etcd x etcd.database.coreos.com/recover=00000000000000c1 --overwrite",
				"EtcdBackups cannot be listed", `"kind":"EtcdRestore"`,
			},
		},
		"a backup": {
			reason: "what to write",
			seen: func() *world {
				w := lost().dead("a", "b").lastStatus(reported("a", "b", "c", "d", "e"))
				w.o.BackupsKnown, w.o.Backup = true, &Backup{Name: "nightly", Revision: 55, Finished: now}
				return w
			}(),
			words: []string{
				"no remaining member answers", "or restore EtcdBackup nightly, which stored revision 55 at 2026-10-01T12:00:00Z",
				`: echo '{"apiVersion":"etcd.database.coreos.com/v1beta2","kind":"EtcdRestore","metadata":{"name":"x-00000000"},"spec":{"backupRef":{"name":"nightly"},"etcdCluster":{"name":"x"},"target":"InPlace"}}' | kubectl -n ns create -f -`,
			},
		},
		"a cluster-wide operator": {
			reason: "another ignores an EtcdRestore without its scope",
			seen:   lost().cluster(func(c *Cluster) { c.Survive, c.Scope = false, "clusterwide" }),
			words:  []string{`"metadata":{"annotations":{"etcd.database.coreos.com/scope":"clusterwide"},"name":"x-00000000"}`},
		},
		"no backup": {
			reason: "what to write if there is a snapshot elsewhere",
			seen:   func() *world { w := lost(); w.o.BackupsKnown = true; return w.silent("a") }(),
			words:  []string{"no EtcdBackup here has stored cluster 00000000000000c1", "BUCKET/KEY", "Pod a might hold data and does not answer"},
		},
		"a login that nobody can make": {
			reason: "an operator that has no token",
			seen:   lost().silent("a").pod("a", func(p *Pod) { p.Answer.NeedsLogin = true }),
			words:  []string{"Pod a might hold data, and its etcd asks for a login, which needs a quorum"},
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			d := decided(r.seen.seen())
			if d.Reason != "QuorumLost" || d.Status.QuorumLostSince == nil {
				t.Fatalf("it says %s since %v, want QuorumLost", d.Reason, d.Status.QuorumLostSince)
			}
			for _, w := range r.words {
				if !strings.Contains(d.Message, w) {
					t.Errorf("%s: %q is not in\n%s", r.reason, w, d.Message)
				}
			}
			for _, c := range d.Status.Conditions {
				full := c.Message == d.Message
				if told := c.Reason == "QuorumLost"; told && full != (c.Type == v1beta2.ConditionAvailable) {
					t.Errorf("%s says it all: %t: %s", c.Type, full, c.Message)
				}
			}
		})
	}
}

// Where the seed finds no place, a Pod whose volume is empty stays, since without it nobody
// could tell that: the message says what a person can delete.
func TestSeedFindsNoPlace(t *testing.T) {
	stuck := func(change func(*world)) *world {
		w := reseeding().add("n1", Seed, Answer{}).pod("n1", unschedulable).pod("n1", func(p *Pod) { p.Reseed, p.Created = "fresh-token", now })
		change(w)
		return w
	}
	claimed := func(w *world, name string) {
		w.pod(name, func(p *Pod) { p.Persistent = true }).claim(name)
	}
	for name, tc := range map[string]struct {
		reason, says string
		change       func(*world)
		deletes      string
	}{
		"beside a new member without a volume": {
			reason: "nothing is lost with it", deletes: "j",
			change: func(w *world) { w.joiner("j") },
		},
		"beside one that is not to become a member, and has not come up": {
			reason: "it never had a start permit", deletes: "j",
			change: func(w *world) {
				w.joiner("j").cluster(func(c *Cluster) { c.Template = "new" }).pod("j", func(p *Pod) { p.Template, p.Answer = "old", Answer{} })
			},
		},
		"beside a new member with a volume": {
			reason: "its volume would be left, and cast a doubt on the loss", says: "add a node, or delete Pod j and its PVC, which never held data",
			change: func(w *world) { w.joiner("j"); claimed(w, "j") },
		},
		"beside a member whose volume is empty": {
			reason: "that it is empty is what the loss is told by", says: "delete Pod c and its PVC, which is empty, if that member's data cannot be brought back",
			change: func(w *world) { w.add("c", Survivor, empty(1)); claimed(w, "c") },
		},
		"beside both": {
			reason: "what never held data goes first", says: "delete Pod j and its PVC, which never held data",
			change: func(w *world) { w.add("c", Survivor, empty(1)); claimed(w, "c"); w.joiner("j"); claimed(w, "j") },
		},
		"beside nobody": {reason: "survivors stay", says: "add a node, or make room on one", change: func(*world) {}},
	} {
		d := decided(stuck(tc.change).seen())
		if del, ok := d.Action.(DeletePod); ok != (tc.deletes != "") || del.Name != tc.deletes {
			t.Errorf("%s: %T %+v (%s: %s), want to delete %q: %s", name, d.Action, d.Action, d.Reason, d.Message, tc.deletes, tc.reason)
		}
		if c := conditionOf(d.Status, v1beta2.ConditionDegraded); tc.says != "" && !strings.Contains(c.Message, tc.says) {
			t.Errorf("%s: Degraded says %s, want %q: %s", name, c.Message, tc.says, tc.reason)
		}
	}
}
