package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const offer = "r1/s/uid-s"

// marked changes the marks of a cluster's fence.
func (w *world) marked(change func(*Fence)) *world {
	change(&w.o.Cluster.Fence)
	w.o.Cluster.LastStatus.FencedBy = w.o.Cluster.Fence.By
	if a := w.o.Cluster.Fence.Adopted; a.Restore != "" {
		w.o.Cluster.LastStatus.AdoptedSeed = &a
	}
	return w
}

// asked is a cluster that restore r1 asks a fence for.
func (w *world) asked() *world { return w.marked(func(f *Fence) { f.Mark = "r1" }) }

// fenced is a cluster that is left to restore r1.
func (w *world) fenced() *world { return w.marked(func(f *Fence) { f.Mark, f.By = "r1", "r1" }) }

// offered is a cluster of which restore r1 has retired the old members, and hands the
// seed s over.
func offered() *world {
	return latched(3).fenced().seeded().marked(func(f *Fence) { f.Mark, f.Seeded = "", offer })
}

// seeded adds the seed s of a restore, which serves.
func (w *world) seeded() *world {
	a := serving("s")
	a.ClusterID, a.Leader, a.Members = otherCluster, id("s"), []Member{{ID: id("s"), Name: "s", Started: true}}
	a.Write.Acknowledged = true
	return w.add("s", Seed, a).tells("s", a.Members)
}

// A seed that answers reads and takes no writes is not adopted, and the message says why.
func TestASeedThatTakesNoWrites(t *testing.T) {
	const noSpace, corrupt = "etcdserver: mvcc: database space exceeded", "etcdserver: corrupt cluster"
	for name, tc := range map[string]struct {
		write  Write
		alarms []Alarm
		words  []string
	}{
		"not known yet": {Write{}, nil, []string{"waiting for the restore's seed s to acknowledge a write"}},
		"no space":      {Write{Refused: noSpace}, []Alarm{{MemberID: id("s"), Kind: NoSpace}}, []string{"cannot adopt the restore's seed s: it refuses writes", noSpace, "quotaBackendBytes"}},
		"corrupt":       {Write{Refused: corrupt}, []Alarm{{MemberID: 0, Kind: Corrupt}}, []string{"cannot adopt the restore's seed s: it refuses writes", corrupt, "another snapshot"}},
		"no alarm":      {Write{Refused: "etcdserver: too many requests"}, nil, []string{"cannot adopt the restore's seed s: it refuses writes", "too many requests", "delete the EtcdRestore", "do not come back"}},
		"volumes":       {Write{Refused: noSpace}, nil, []string{"delete the EtcdRestore to get the old members back"}},
	} {
		w := offered()
		if name == "volumes" {
			w.volumes()
		}
		d := decided(w.answer("s", func(a *Answer) { a.Write, a.Alarms = tc.write, tc.alarms }).seen())
		if d.Action != nil || d.Reason != "Fenced" || d.RequeueAfter > shortly {
			t.Errorf("%s: %v, %s again after %s", name, d.Action, d.Reason, d.RequeueAfter)
		}
		for _, w := range tc.words {
			if !strings.Contains(d.Message, w) {
				t.Errorf("%s: %q is not in %s", name, w, d.Message)
			}
		}
	}
}

// To lift a fence by hand has steps that come before it: no command for it that can be pasted
// is shown, but one that finds the EtcdRestore.
func TestFencedNamesTheRunbook(t *testing.T) {
	d := decided(healthy(3).fenced().seen())
	if d.Reason != v1beta2.ClusterReasonFenced || strings.Contains(d.Message, "annotate") {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
	for _, w := range []string{"uid r1; to find it: kubectl -n ns get etcdrs ", "delete it to abort", "runbook restore-waiting", v1beta2.AnnotationFenceLifted} {
		if !strings.Contains(d.Message, w) {
			t.Errorf("%q is not in %s", w, d.Message)
		}
	}
}

func (w *world) since(ago time.Duration) *world { w.o.Since = now.Add(-ago); return w }

var (
	acknowledged = exactly(AcknowledgeFence{Restore: "r1"})
	lifted       = exactly(LiftFence{Restore: "r1"})
	adopted      = exactly(AdoptSeed{Restore: "r1", Name: "s", UID: "uid-s", ClusterID: otherCluster, Version: theVersion})
)

func TestFence(t *testing.T) {
	rows{
		"a fence that is asked for is acknowledged at once when nothing can be under way": {
			reason: "S12: this operator takes one step at a time", seen: broken().asked(), do: acknowledged, because: "Fenced",
		},
		"but not before what another operator has begun has taken effect": {
			reason: "S12: from the acknowledgement on nothing is touched", seen: broken().asked().since(11 * time.Second), because: "Fencing",
		},
		"and then it is": {
			reason: "act gives no action more than 10 s", seen: broken().asked().since(12 * time.Second), do: acknowledged, because: "Fenced",
		},
		"meanwhile nothing else is begun": {
			reason: "S12", seen: broken().asked().since(0), because: "Fencing",
		},
		"a new cluster that is born fenced is left to its restore at once": {
			reason: "before a bootstrap is recorded nobody has begun anything", seen: nothing(3).asked().since(0), do: acknowledged, because: "Fenced",
		},
		"a cluster that is begun waits": {
			reason: "its first Pods may be under way", seen: begun(3).asked().since(time.Second), because: "Fencing",
		},
		"a cluster that is known to have existed can be restored": {
			reason: "that is what its condition tells the user to do",
			seen:   nothing(3).cluster(func(c *Cluster) { c.Existed = "its volumes exist" }).asked(), do: acknowledged, because: "Fenced",
		},
		"and one whose Pods the archived operator made": {
			reason: "a restore is the way out", seen: withLegacyPods(nothing(3)).asked(), do: acknowledged, because: "Fenced",
		},
		"and one whose quorum is lost": {
			reason: "that is what restores are for", seen: healthy(3).dead("a", "b", "c").lastStatus(reported("a", "b", "c")).asked(), do: acknowledged, because: "Fenced",
		},
		"and one whose certificates are not there yet": {
			reason: "the restore itself waits until it is recorded whom members are to trust", seen: nothing(3).cluster(func(c *Cluster) { c.TLS.Wanted = true }).asked(), do: acknowledged, because: "Fenced",
		},
		"a paused cluster is not left to a restore": {
			reason: "spec.paused is the user's", seen: broken().asked().cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
		"a cluster that is deleted is not left to a restore": {
			reason: "there is nothing to restore", seen: broken().asked().cluster(func(c *Cluster) { c.Deleting = true }), because: "Deleting",
		},
		"nor one whose name is another's": {
			reason: "its seed would have the other's DNS names", seen: conflicted(broken()).asked(), because: "NameConflict",
		},
		"a fence whose restore has lifted it is passed over": {
			reason: "a late cache, or an old manifest, must not fence for ever",
			seen:   healthy(3).asked().marked(func(f *Fence) { f.Lifted = "r1" }), because: "UpToDate",
		},
		"so is one whose seed was adopted": {
			reason: "a restore fences once", seen: healthy(3).asked().marked(func(f *Fence) { f.Adopted.Restore = "r1" }), because: "UpToDate",
		},
		"the next restore fences again": {
			reason: "a restore in place has the cluster's name every time, and another uid",
			seen:   healthy(3).asked().marked(func(f *Fence) { f.Adopted.Restore, f.Lifted, f.Seeded = "r0", "r9", "r0/s/uid-s" }), do: acknowledged, because: "Fenced",
		},
		"nothing is done to a fenced cluster": {
			reason: "S12", seen: broken().volumes().fenced(), because: "Fenced",
		},
		"not even if the annotation vanishes": {
			reason: "S12: until hand-over or abort of that uid", seen: broken().volumes().fenced().marked(func(f *Fence) { f.Mark = "" }), because: "Fenced",
		},
		"or is another's": {
			reason: "the second waits", seen: broken().fenced().marked(func(f *Fence) { f.Mark = "r2" }), because: "Fenced",
		},
		"or another's fence is lifted": {
			reason: "abort of that uid, and no other", seen: broken().fenced().marked(func(f *Fence) { f.Lifted = "r0" }), because: "Fenced",
		},
		"a cluster that is born fenced gets no seed of ours": {
			reason: "S1", seen: nothing(3).fenced(), because: "Fenced",
		},
		"a fence that is lifted ends": {
			reason: "the old members are given back", seen: broken().fenced().marked(func(f *Fence) { f.Lifted = "r1" }), do: lifted, because: "FenceLifted",
		},
		"also if the seed was handed over": {
			reason: "who gives up has taken the seed away", seen: offered().marked(func(f *Fence) { f.Lifted = "r1" }), do: lifted, because: "FenceLifted",
		},
		"and then the old members are healed": {
			reason: "liveness: they come back on their volumes", seen: healthy(3).volumes().gone("a", "b", "c").marked(func(f *Fence) { f.Lifted = "r1" }),
			do: returning("a", "b", "c"), because: "RestartingMember",
		},
		"a paused cluster stays fenced": {
			reason: "while it is paused nothing is done at all", seen: offered().cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
	}.run(t)
}

func TestAdoption(t *testing.T) {
	rows{
		"a seed that serves is adopted": {
			reason: "hand-over", seen: offered(), do: adopted, because: "SeedAdopted",
		},
		"with its volume": {
			reason: "members have one each", seen: offered().volumes(), do: adopted, because: "SeedAdopted",
		},
		"a new cluster's too": {
			reason: "it was born fenced", seen: nothing(3).fenced().seeded().marked(func(f *Fence) { f.Seeded = offer }), do: adopted, because: "SeedAdopted",
		},
		"also while the mark of the fence is still there": {
			reason: "status.fencedBy decides", seen: offered().marked(func(f *Fence) { f.Mark = "r1" }), do: adopted, because: "SeedAdopted",
		},
		"not before it is handed over": {
			reason: "the restore may not have verified it", seen: offered().marked(func(f *Fence) { f.Seeded = "" }), because: "Fenced",
		},
		"not another Pod of that name": {
			reason: "by uid: the other may be half restored", seen: offered().pod("s", func(p *Pod) { p.UID = "uid-other" }), because: "Fenced",
		},
		"not one that is not this cluster's": {
			reason: "only Pods that the EtcdCluster controls are observed", seen: offered().gone("s"), because: "Fenced",
		},
		"not a restore's that does not hold the fence": {
			reason: "an old hand-over says nothing", seen: offered().marked(func(f *Fence) { f.Seeded = "r0/s/uid-s" }), because: "Fenced",
		},
		"not twice": {
			reason: "a uid is adopted once", seen: offered().marked(func(f *Fence) { f.Adopted.Restore = "r1" }), because: "Fenced",
		},
		"not without a fence": {
			reason: "an old manifest may bring the annotation back", seen: healthy(3).marked(func(f *Fence) { f.Seeded = offer; f.Adopted.Restore = "r1" }), because: "UpToDate",
		},
		"not what can't be read": {
			reason: "no uid, no Pod", seen: offered().marked(func(f *Fence) { f.Seeded = "r1/s" }), because: "Fenced",
		},
		"not before it answers": {
			reason: "the cluster id comes from itself alone", seen: offered().silent("s"), because: "Fenced",
		},
		"not before it serves reads": {
			reason: "as above", seen: offered().answer("s", func(a *Answer) { a.Read = false }), because: "Fenced",
		},
		"not with the old cluster's id": {
			reason: "it is an old member, with the data that was to be replaced", seen: offered().answer("s", func(a *Answer) { a.ClusterID = theCluster }), because: "Fenced",
		},
		"not with other members": {
			reason: "they may be anywhere", seen: offered().tells("s", []Member{{ID: id("s"), Name: "s"}, {ID: id("t"), Name: "t"}}), because: "Fenced",
		},
		"not under another name": {
			reason: "others would not find it", seen: offered().tells("s", []Member{{ID: id("s"), Name: "t"}}), because: "Fenced",
		},
		"not beside an old member's Pod that was created again": {
			reason: "S1: its data would be served beside the seed's", seen: offered().add("b", Voter, serving("b")), because: "Fenced",
		},
		"but beside one that ends": {
			reason: "the restore has judged it", seen: offered().add("b", Voter, serving("b")).deleting("b"), do: adopted, because: "SeedAdopted",
		},
		"and beside another restore's seed": {
			reason: "it starts by a permit only", seen: offered().add("t", Seed, Answer{}), do: adopted, because: "SeedAdopted",
		},
		"not when it is being deleted": {
			reason: "its data would be lost", seen: offered().deleting("s"), because: "Fenced",
		},
		"not when it has ended": {
			reason: "as above", seen: offered().finished("s"), because: "Fenced",
		},
		"not without a volume where members have one": {
			reason: "S7: it would not outlive its Pod", seen: offered().cluster(func(c *Cluster) { c.Persistent = true }), because: "Fenced",
		},
		"the adopted seed grows": {
			reason: "it is a member like any other", seen: grown(), do: create(joiners(2)...), because: "CreatingMembers",
		},
		"and its permit to begin is taken away": {
			reason: "S2", seen: grown().permit("s", StartPermit{Attempt: 1, New: true, Members: []string{"s"}}), do: exactly(RevokeStartPermits{Pods: []PodRef{{Name: "s", UID: "uid-s"}}}), because: "StartPermitRevoked",
		},
		"Pods of old members are nobody's": {
			reason: "their cluster is another",
			seen: grown().add("b", Voter, serving("b")).answer("b", func(a *Answer) { a.ClusterID = otherCluster }).
				tells("b", []Member{{ID: id("b"), Name: "b", Started: true}}).size(1), do: discard("b"), because: "DeletingPod",
		},
		"a Pod that waits on a retired volume joins nothing": {
			reason: "the volume is deleted when the restore is complete",
			seen:   grown().volumes().joiner("d").noClaim("d").pod("d", func(p *Pod) { p.Created = old }), do: create(joiners(2)...), because: "CreatingMembers",
		},
		"those that join are told that its log begins with a snapshot": {
			reason: "else they serve nobody for 7 s",
			seen:   grown().unstarted("d").size(2).answer("s", func(a *Answer) { a.Applied = 9 }), because: "StartingMember",
			do: open("d", StartPermit{Attempt: 1, Members: []string{"d", "s"}, CatchUp: true}),
		},
		"a seed whose disk is lost is told to be": {
			reason: "it was seen with data, though no start permit was ever used there",
			seen:   grown().role("s", Seed).answer("s", func(a *Answer) { *a = empty(0) }).lastStatus(reported("s")), because: "QuorumLost",
		},
	}.run(t)
}

// grown is the cluster of the adopted seed s, which is to grow to three.
func grown() *world {
	w := latched(3).voter("s").leader("s")
	return w.marked(func(f *Fence) {
		f.Seeded = offer
		f.Adopted = v1beta2.AdoptedSeed{Restore: "r1", Pod: "s", PodUID: "uid-s"}
	})
}

// S12: not even Services are touched, from the moment that a fence is asked for.
func TestAFenceMeansTheServicesToo(t *testing.T) {
	for name, w := range map[string]*world{
		"asked": healthy(3).asked().since(0), "acknowledging": healthy(3).asked(), "fenced": healthy(3).fenced(), "adopting": offered(),
		"lifting": healthy(3).fenced().marked(func(f *Fence) { f.Lifted = "r1" }),
	} {
		if d := decided(w.seen()); !d.SkipChildren || d.Budget != KeepBudget {
			t.Errorf("%s: SkipChildren is %t and Budget %d", name, d.SkipChildren, d.Budget)
		}
	}
	if d := decided(grown().seen()); d.SkipChildren {
		t.Error("hands are off the adopted cluster")
	}
}

// While a restore prepares its seed the members serve, and nobody is told that they do not.
func TestAFencedClusterThatServesIsAvailable(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ready  []string
		want   string
	}{
		"all":        {"they serve until the seed is ready", []string{"a", "b", "c"}, "Available=True Serving"},
		"a majority": {"one may fail", []string{"a", "b"}, "Available=True Serving"},
		"one":        {"it is about to notice that it is alone", []string{"a"}, "Available=False Fenced"},
		"none":       {"they were stopped for the seed", nil, "Available=False Fenced"},
	} {
		last := reported("a", "b", "c")
		last.Size = 3
		w := healthy(3).lastStatus(last).fenced()
		for _, member := range []string{"a", "b", "c"} {
			w = w.pod(member, unready)
		}
		for _, member := range tc.ready {
			w = w.pod(member, func(p *Pod) { p.ReadySince, p.UnreadySince = old, time.Time{} })
		}
		if got := said(decided(w.seen()).Status); got[0] != tc.want {
			t.Errorf("%s: %s: %s", name, tc.reason, got[0])
		}
	}
}

// While a restore is at work the last report of the members stands; with the adoption
// the seed is the one member, so that what is lost is never told by the old ones.
func TestStatusOfAFencedCluster(t *testing.T) {
	last := reported("a", "b", "c")
	last.ReadyMembers, last.HighestRevision = "3/3", 2_000_000
	s := decided(offered().lastStatus(last).marked(func(f *Fence) { f.Seeded = "" }).seen()).Status
	if s.Size != 3 || len(s.MemberDetails) != 3 || s.FencedBy != "r1" || s.HighestRevision != 2_000_000 || s.Phase != v1beta2.PhaseRunning {
		t.Errorf("fenced: the status is %+v", s)
	}
	want := []string{
		"Available=False Fenced", "Progressing=False Fenced", "Degraded=True Fenced", "Scaling=False AtSize",
		"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused"}
	if diff := cmp.Diff(want, said(s)); diff != "" {
		t.Errorf("fenced (-want +got):\n%s", diff)
	}
	s = decided(offered().lastStatus(last).marked(func(*Fence) {}).seen()).Status
	wantMembers := []v1beta2.MemberDetail{{Name: "s", ID: "000000000000001c", Role: v1beta2.MemberVoter, Version: theVersion, Node: "node-s"}}
	if diff := cmp.Diff(wantMembers, s.MemberDetails); diff != "" || s.Size != 1 || s.ReadyMembers != "1/3" || s.HighestRevision != 2_000_000 {
		t.Errorf("adopted: size %d, %s ready, revision %d, members (-want +got):\n%s", s.Size, s.ReadyMembers, s.HighestRevision, diff)
	}
}

// A restore learns which version a cluster is to have that was never begun, and is not
// told that it ran.
func TestVersionOfAClusterThatIsBornFenced(t *testing.T) {
	for name, w := range map[string]*world{"acknowledging": nothing(3).asked(), "fenced": nothing(3).fenced()} {
		if s := decided(w.seen()).Status; s.TargetVersion != theVersion || s.CurrentVersion != "" {
			t.Errorf("%s: the version is %q, and %q is wanted", name, s.CurrentVersion, s.TargetVersion)
		}
	}
	for name, w := range map[string]*world{"begun": healthy(3).fenced(), "adopted": grown(), "lifted": nothing(3)} {
		if s := decided(w.seen()).Status; s.TargetVersion != "" {
			t.Errorf("%s: %q is wanted", name, s.TargetVersion)
		}
	}
}

// Two restores must not begin at the same revision: with the adoption, the first one's is
// counted, and not only when the operator looks the next time.
func TestHighestRevisionOfAnAdoptedSeed(t *testing.T) {
	for name, tc := range map[string]struct{ begins, last, want int64 }{
		"beyond all that was seen": {1_005_000_000, 5_000_000, 1_006_000_000},
		"of a new cluster":         {1_000_000_042, 0, 1_000_000_042/1_000_000*1_000_000 + 2_000_000},
		"not told":                 {0, 5_000_000, 5_000_000},
	} {
		w := offered().answer("s", func(a *Answer) { a.Revision = tc.begins })
		w.o.Cluster.LastStatus.HighestRevision = tc.last
		d := decided(w.seen())
		if _, adopts := d.Action.(AdoptSeed); !adopts || d.Status.HighestRevision != tc.want {
			t.Errorf("%s: %T with the highest revision %d, want %d", name, d.Action, d.Status.HighestRevision, tc.want)
		}
	}
}

// That something was written is remembered, and nothing that was not.
func TestWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		seen       int64
		last, want bool
	}{
		"an empty cluster": {1, false, false},
		"the first write":  {2, false, true},
		"nobody answers":   {0, true, true},
		"emptied since":    {1, true, true},
		"nothing is known": {0, false, false},
	} {
		w := healthy(1).answer("a", func(a *Answer) { a.Revision = tc.seen })
		w.o.Cluster.LastStatus.Written = tc.last
		if got := decided(w.seen()).Status.Written; got != tc.want {
			t.Errorf("%s: written is %t", name, got)
		}
	}
}

// What is latched is ahead of all that was seen, and seldom changes.
func TestHighestRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		seen, last, want int64
	}{
		"of an empty cluster":     {1, 0, 2_000},
		"far from it, small":      {1_000, 2_000, 2_000},
		"a step further":          {1_001, 2_000, 20_000},
		"far from that":           {10_000, 20_000, 20_000},
		"two steps further":       {10_001, 20_000, 200_000},
		"the largest step":        {100_001, 200_000, 2_000_000},
		"far from it":             {1_500_000, 2_000_000, 2_000_000},
		"near it":                 {1_500_001, 2_000_000, 3_000_000},
		"beyond it":               {7_000_000, 2_000_000, 8_000_000},
		"just beyond a multiple":  {7_000_001, 2_000_000, 9_000_000},
		"an older revision":       {5, 9_000_000, 9_000_000},
		"after a restore":         {1_009_000_000, 9_000_000, 1_010_000_000},
		"nothing that was seen":   {0, 0, 0},
		"nothing that is seen":    {0, 3_000_000, 3_000_000},
		"a revision of long time": {1 << 50, 0, (1<<50 + 1_999_999) / 1_000_000 * 1_000_000},
	} {
		w := healthy(1).answer("a", func(a *Answer) { a.Revision = tc.seen })
		w.o.Cluster.LastStatus.HighestRevision = tc.last
		if got := decided(w.seen()).Status.HighestRevision; got != tc.want {
			t.Errorf("%s: %d of %d seen gives %d, want %d", name, tc.last, tc.seen, got, tc.want)
		}
	}
	w := healthy(1).answer("a", func(a *Answer) { a.Revision, a.ClusterID = 9_000_000, otherCluster })
	if got := decided(w.seen()).Status.HighestRevision; got != 0 {
		t.Errorf("the revision %d of another cluster is latched", got)
	}
}
