package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// compares makes the cluster one whose data is compared every hour, and was last at since.
func (w *world) compares(since time.Time) *world {
	hourly, err := schedule.Parse("0 * * * *")
	if err != nil {
		panic(err)
	}
	w.o.Cluster.Consistency.Schedule, w.o.Cluster.Consistency.Since = hourly, since
	return w
}

// last is what the last comparison has shown, as it is latched.
func (w *world) last(result v1beta2.ConsistencyResult, differing ...string) *world {
	c := &w.o.Cluster.Consistency
	c.Result, c.Revision = result, 7
	st := &v1beta2.ConsistencyStatus{LastCheckTime: metav1.NewTime(c.Since), Revision: 7, Result: result}
	for _, name := range differing {
		c.Differing = append(c.Differing, id(name))
		st.DifferingMembers = append(st.DifferingMembers, hex(id(name)))
	}
	w.o.Cluster.LastStatus.Consistency = st
	return w
}

func hex(id uint64) string { return "000000000000000" + string("0123456789abcdef"[id]) }

// comparison is one of these members, by their names, that was begun a minute ago.
func (w *world) comparison(members string, change func(*Comparison)) *world {
	c := &Comparison{Begun: now.Add(-time.Minute)}
	for _, name := range members {
		c.Members = append(c.Members, id(string(name)))
	}
	change(c)
	w.o.Comparison = c
	return w
}

func stillRunning(*Comparison) {}

// showed is a comparison that has ended at the moment.
func showed(result v1beta2.ConsistencyResult, differing ...string) func(*Comparison) {
	return func(c *Comparison) {
		c.Ended, c.Revision, c.Result = now, 9, result
		for _, name := range differing {
			c.Differing = append(c.Differing, id(name))
		}
	}
}

func compareData() wanted {
	return func(o Observation) Action { return CompareData{Members: listOf(o)} }
}

func recordOf(result v1beta2.ConsistencyResult, differing ...string) wanted {
	a := RecordConsistency{At: now, Revision: 9, Result: result}
	for _, name := range differing {
		a.Differing = append(a.Differing, id(name))
	}
	return exactly(a)
}

// refusing is a member whose etcd refuses to start, since its data differs from another's.
func refusing(p *Pod) {
	p.Answer, p.Restarts, p.Looping = Answer{}, damageExits, true
	p.LastExit, p.Inconsistent = Exit{Code: 1, Reason: "Error"}, true
	p.UnreadySince, p.Trouble, p.ProvenImage = now.Add(-5*time.Minute), "CrashLoopBackOff", p.Repository+":v"+p.Version
}

func TestCompareData(t *testing.T) {
	const (
		same    = v1beta2.ResultConsistent
		differs = v1beta2.ResultMemberDiffers
		tie     = v1beta2.ResultNoMajority
	)
	lately, longAgo := now, now.Add(-2*time.Hour)
	due := func(n int) *world { return healthy(n).compares(longAgo) }
	rows{
		"when it is due":             {reason: "corruption is found at all", seen: due(3), do: compareData(), because: "ComparingData"},
		"not before":                 {reason: "it reads all databases", seen: healthy(3).compares(lately), because: "UpToDate"},
		"not if the user wants none": {reason: "Never", seen: healthy(3), because: "UpToDate"},
		"not before etcd 3.5.16": {
			reason: "the same data can have another hash there", because: "UpToDate",
			seen: due(3).runs("a", "3.5.15").runs("b", "3.5.15").runs("c", "3.5.15").cluster(func(c *Cluster) { c.Version, c.WantedVersion = "3.5.15", "3.5.15" }).clusterVersion("3.5.0"),
		},
		"not one member":                 {reason: "there is nobody to be compared with", seen: due(1), because: "UpToDate"},
		"not while one is silent":        {reason: "S6", seen: due(3).silent("c"), because: "WaitingForMember"},
		"not while there is a learner":   {reason: "S6", seen: due(3).learner("d"), because: "MemberRemoved", do: remove("d")},
		"not while the version changes":  {reason: "S6", seen: due(3).wants("3.6.50"), because: "UpgradeStarted", do: exactly(RecordVersion{Current: theVersion, Target: "3.6.50", Size: 3})},
		"not a second one beside it":     {reason: "one at a time", seen: due(3).comparison("abc", stillRunning), because: "UpToDate"},
		"not again at once":              {reason: "a member restarted meanwhile", seen: due(3).comparison("abc", func(c *Comparison) { c.Ended, c.Failed = now.Add(-time.Minute), "x" }), because: "UpToDate"},
		"again later":                    {reason: "nothing was shown", seen: due(3).comparison("abc", func(c *Comparison) { c.Ended, c.Failed = now.Add(-comparisonPause), "x" }), do: compareData(), because: "ComparingData"},
		"its result is recorded":         {reason: "an operator that restarts knows it", seen: due(3).comparison("abc", showed(same)), do: recordOf(same), because: "Consistent"},
		"once":                           {reason: "it is in the status", seen: healthy(3).compares(now).last(same).comparison("abc", showed(same)), because: "UpToDate"},
		"who differs is recorded first":  {reason: "nothing is removed on what is only in memory", seen: due(3).comparison("abc", showed(differs, "c")), do: recordOf(differs, "c"), because: "MemberDiffers"},
		"a tie is recorded":              {reason: "a person is told", seen: due(2).comparison("ab", showed(tie)), do: recordOf(tie), because: "NoMajority"},
		"not that of other members":      {reason: "a majority of them may be none of these", seen: due(3).comparison("abz", showed(differs, "z")), because: "UpToDate"},
		"a replacement is made first":    {reason: "its start takes time", seen: healthy(3).compares(lately).last(differs, "c"), do: create(joiners(1)...), because: "CreatingMembers"},
		"who differs is removed":         {reason: "its data is wrong", seen: healthy(3).compares(lately).last(differs, "c").role("c", Leaving).newJoiner("d"), do: remove("c"), because: "ReplacingDeadMember"},
		"the leader steps aside":         {reason: "S8, and nobody is to get a snapshot from it", seen: healthy(3).compares(lately).last(differs, "a").joiner("d"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership"},
		"not without a quorum of others": {reason: "S4", seen: healthy(3).compares(lately).last(differs, "c").silent("b"), because: "NoQuorum"},
		"nothing in a tie":               {reason: "nobody knows who is right", seen: healthy(2).compares(lately).last(tie), because: "UpToDate"},
		"again when they are replaced":   {reason: "that all agree now is shown", seen: healthy(3).compares(lately).last(differs), do: compareData(), because: "ComparingData"},
		"again after a tie":              {reason: "a person may have acted", seen: healthy(2).compares(now.Add(-recheckPause)).last(tie), do: compareData(), because: "ComparingData"},

		"one that refuses to start is kept": {
			reason: "the other one may be wrong: its data is the only copy that is right then", seen: healthy(3).pod("c", refusing).comparison("ab", showed(tie)), because: "WaitingForMember",
		},
		"the others are compared":      {reason: "as above", seen: healthy(3).pod("c", refusing), do: func(o Observation) Action { return CompareData{Members: listOf(o)[:2]} }, because: "ComparingData"},
		"it is replaced if they agree": {reason: "it is the minority", seen: healthy(3).pod("c", refusing).comparison("ab", showed(same)).joiner("d"), do: remove("c"), because: "ReplacingDeadMember"},
		"not by an earlier comparison": {
			reason: "they may have differed since", seen: healthy(3).pod("c", refusing).comparison("ab", func(c *Comparison) { showed(same)(c); c.Begun = now.Add(-time.Hour); c.Ended = c.Begun }),
			do: func(o Observation) Action { return CompareData{Members: listOf(o)[:2]} }, because: "ComparingData",
		},
		"not by one of fewer": {reason: "S9", seen: healthy(5).pod("c", refusing).comparison("ab", showed(same)), because: "WaitingForMember"},
	}.run(t)
}

// Where one member's data differs and another one is lost, a person has to act: the message
// says which member to remove, one after the other.
func TestDifferingWithoutQuorumIsTold(t *testing.T) {
	differs := func(w *world) *world { return w.compares(now).last(v1beta2.ResultMemberDiffers, "c") }
	for name, tc := range map[string]struct {
		seen   *world
		want   string
		reason string
	}{
		"one that may come back": {differs(healthy(3)).silent("b"), "bring its members back, or restore", "its data may be there"},
		"one that is lost": {differs(healthy(3)).dead("b"), fmt.Sprintf("run etcdctl member remove %016x (b: its data is lost for good), or restore", id("b")),
			"etcd itself still has a quorum of three, with the one that differs"},
		"nobody else": {differs(healthy(3).dead("b").forget("b")), fmt.Sprintf("run etcdctl member remove %016x (c: its data differs), or restore", id("c")),
			"of two, the one that is left has the majority's data"},
		"without a quorum of etcd's": {differs(healthy(3)).dead("b").noQuorum(), "bring its members back, or restore", "etcd would remove nobody"},
	} {
		d := decided(tc.seen.seen())
		if d.Reason != "NoQuorum" || !strings.Contains(d.Message, tc.want) {
			t.Errorf("%s: %s: %s, want %q in it: %s", name, d.Reason, d.Message, tc.want, tc.reason)
		}
		if c := conditionOf(d.Status, v1beta2.ConditionDegraded); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, tc.want) {
			t.Errorf("%s: Degraded: %s: %s, want %q in it: %s", name, c.Status, c.Message, tc.want, tc.reason)
		}
	}
	if d := decided(healthy(3).silent("b", "c").seen()); strings.Contains(d.Message, "EtcdRestore") {
		t.Errorf("although no data differs: %s", d.Message)
	}
}

func TestConsistentIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		seen           *world
		status, reason string
		want           string
		differing      []string
	}{
		"before the first":     {seen: healthy(3)},
		"all agree":            {healthy(3).last(v1beta2.ResultConsistent), "True", "Consistent", "same data at revision 7", nil},
		"one differs":          {healthy(3).last(v1beta2.ResultMemberDiffers, "c"), "False", "MemberDiffers", "data of member c differs", []string{hex(id("c"))}},
		"it is gone":           {healthy(3).last(v1beta2.ResultMemberDiffers, "d"), "False", "MemberDiffers", "", nil},
		"nobody knows":         {healthy(2).last(v1beta2.ResultNoMajority), "False", "NoMajority", "EtcdRestore", nil},
		"who differs is known": {latched(3).last(v1beta2.ResultMemberDiffers, "c"), "False", "MemberDiffers", "differs from the majority", []string{hex(id("c"))}},
	} {
		st := decided(tc.seen.seen()).Status
		got := conditionOf(st, v1beta2.ConditionConsistent)
		if string(got.Status) != tc.status || got.Reason != tc.reason || !strings.Contains(got.Message, tc.want) {
			t.Errorf("%s: %s %s: %s", name, got.Status, got.Reason, got.Message)
		}
		if st.Consistency != nil && !slices.Equal(st.Consistency.DifferingMembers, tc.differing) {
			t.Errorf("%s: the status names %q, want %q", name, st.Consistency.DifferingMembers, tc.differing)
		}
	}
	if d := conditionOf(decided(healthy(2).last(v1beta2.ResultNoMajority).seen()).Status, v1beta2.ConditionDegraded); d.Status != "True" || d.Reason != "NoMajority" {
		t.Errorf("in a tie Degraded is %s, %s", d.Status, d.Reason)
	}
}

// An idle cluster's status is written once for a comparison: its result, and the conditions
// that tell it.
func TestComparisonIsQuiet(t *testing.T) {
	idle := decided(healthy(3).seen()).Status
	due := healthy(3).compares(now.Add(-2 * time.Hour))
	begins := decided(due.seen())
	if diff := cmp.Diff(idle, begins.Status); begins.Action == nil || diff != "" {
		t.Errorf("a comparison begins with %T, and the status changes: %s", begins.Action, diff)
	}
	ends := decided(due.comparison("abc", showed(v1beta2.ResultConsistent)).seen())
	if got := conditionOf(ends.Status, v1beta2.ConditionConsistent); ends.Action == nil || got.Status != "True" {
		t.Errorf("a comparison ends with %T, and Consistent is %q", ends.Action, got.Status)
	}
	ends.Status.Conditions = slices.DeleteFunc(ends.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta2.ConditionConsistent })
	if diff := cmp.Diff(idle, ends.Status); diff != "" {
		t.Errorf("more than the condition Consistent changes: %s", diff)
	}
}

// What a comparison has shown is told by all conditions with the status that records it.
func TestRecordedResultIsTold(t *testing.T) {
	replaced := healthy(3).last(v1beta2.ResultMemberDiffers, "d").comparison("abc", showed(v1beta2.ResultConsistent))
	tie := healthy(2).comparison("ab", showed(v1beta2.ResultNoMajority))
	for name, tc := range map[string]struct {
		seen                      *world
		condition, status, reason string
	}{
		"all agree after a replacement": {replaced, v1beta2.ConditionConsistent, "True", "Consistent"},
		"a tie":                         {tie, v1beta2.ConditionConsistent, "False", "NoMajority"},
		"a tie is told as Degraded":     {tie, v1beta2.ConditionDegraded, "True", "NoMajority"},
	} {
		d := decided(tc.seen.seen())
		if _, ok := d.Action.(RecordConsistency); !ok {
			t.Fatalf("%s: %T", name, d.Action)
		}
		if got := conditionOf(d.Status, tc.condition); string(got.Status) != tc.status || got.Reason != tc.reason {
			t.Errorf("%s: %s is %s, %s: %s", name, tc.condition, got.Status, got.Reason, got.Message)
		}
	}
}

// Whoever watches over the comparisons can tell one that is overdue from one that is still to come.
func TestComparisonDue(t *testing.T) {
	since := time.Date(2026, 1, 1, 10, 20, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		change func(*Cluster)
		want   time.Time
	}{
		"by the schedule": {func(*Cluster) {}, time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)},
		"never":           {func(c *Cluster) { c.Consistency.Schedule = schedule.Schedule{} }, time.Time{}},
		"of one member":   {func(c *Cluster) { c.Size = 1 }, time.Time{}},
		"paused":          {func(c *Cluster) { c.Paused = true }, time.Time{}},
		"of etcd whose members hash the same data differently": {func(c *Cluster) { c.Version = "3.5.15" }, time.Time{}},
	} {
		c := healthy(3).compares(since).cluster(tc.change).o.Cluster
		if got := c.ComparisonDue(); !got.Equal(tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
