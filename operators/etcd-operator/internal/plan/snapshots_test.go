package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// old35 is a healthy cluster that came from etcd 3.5 so many entries ago, and is to go to
// 3.7.
func old35(entries uint64) *world {
	return healthy(3).cluster(from35(theApplied - entries)).wants("3.7.3")
}

func advance(entries int) wanted { return exactly(AdvanceLog{Entries: entries}) }

func slowSnapshots(n int) func(*Pod) { return func(p *Pod) { p.SnapshotCount = n } }

func TestLogOf35IsLeftBehind(t *testing.T) {
	rows{
		"not while a member may replay what etcd 3.5 has written": {
			reason: "3.7 panics on it", seen: old35(snapshotCount), do: advance(1), because: v1beta2.ClusterReasonWritingSnapshots,
		},
		"an idle cluster that came from 3.5 just now": {
			reason: "nobody else writes", seen: old35(0), do: advance(entriesPerStep), because: v1beta2.ClusterReasonWritingSnapshots,
		},
		"by each member's own count": {
			reason: "its snapshots are further apart", seen: old35(snapshotCount+1).pod("b", slowSnapshots(snapshotCount+5)), do: advance(5), because: v1beta2.ClusterReasonWritingSnapshots,
		},
		"not while the time of a member's next snapshot is unknown": {
			reason: "ETCD_SNAPSHOT_COUNT comes from another object: 3.7 may panic on 3.5's log", seen: old35(snapshotCount+1).pod("b", slowSnapshots(facts.UnknownCount)), because: v1beta2.ClusterReasonWaitingForSnapshot,
		},
		"one that has not applied all": {
			reason: "its snapshot is not written", seen: old35(snapshotCount+1).answer("c", func(a *Answer) { a.Applied-- }), because: v1beta2.ClusterReasonWritingSnapshots,
		},
		"more entries than the operator appends": {
			reason: "they would take too long", seen: old35(0).pod("b", slowSnapshots(mostEntries)), because: v1beta2.ClusterReasonWaitingForSnapshot,
		},
		"as many as it appends": {
			reason: "an hour of it is not asked of anybody", seen: old35(0).pod("b", slowSnapshots(mostEntries-1)), do: advance(entriesPerStep), because: v1beta2.ClusterReasonWritingSnapshots,
		},
		"not while a member is not healthy": {
			reason: "S10", seen: old35(0).silent("c"), because: "WaitingForMember",
		},
		"not while a Pod is not ready": {
			reason: "S6", seen: old35(0).pod("c", func(p *Pod) { p.UnreadySince = now }), because: "UpgradePending",
		},
		"not while an alarm is raised": {
			reason: "every entry takes space", seen: old35(0).alarm(NoSpace, "c"), because: "UpgradePending",
		},
		"not on the way to a patch": {
			reason: "3.6 starts on it", seen: old35(0).wants("3.6.50"), do: exactly(RecordVersion{Current: theVersion, Target: "3.6.50", Index: theApplied, Size: 3}), because: "UpgradeStarted",
		},
		"on the way to a patch, with no such entry left": {
			reason: "the next move to 3.7 has nothing to wait for", seen: old35(snapshotCount + 1).wants("3.6.50"), do: exactly(RecordVersion{Current: theVersion, Target: "3.6.50", Index: 0, Size: 3}), because: "UpgradeStarted",
		},
		"not between patches of 3.7": {
			reason: "its members have started on what there was", because: "UpgradeStarted",
			seen: healthy(3).runs("a", "3.7.50").runs("b", "3.7.50").runs("c", "3.7.50").clusterVersion("3.7.0").wants("3.7.3").
				cluster(func(c *Cluster) { c.Version, c.VersionIndex = "3.7.50", theApplied-5 }),
			do: func(Observation) Action { return RecordVersion{Current: "3.7.50", Target: "3.7.3", Index: 0, Size: 3} },
		},
		"not when nothing is wanted": {
			reason: "clients write sooner or later", seen: old35(0).wants(theVersion), because: "UpToDate",
		},
	}.run(t)
}

// What a user sees who has set spec.version.
func TestAPendingUpgradeIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		seen    *world
		reason  string
		message []string
	}{
		"snapshots are written":    {old35(0), v1beta2.ClusterReasonWritingSnapshots, []string{"upgrade to etcd 3.7.3", "index 210001", "etcd 3.5"}},
		"snapshots are waited for": {old35(0).pod("b", slowSnapshots(1_000_000)), v1beta2.ClusterReasonWaitingForSnapshot, []string{"etcd 3.7.3", "1200001", "set spec.etcd.snapshotCount to 10000"}},
		"a member is not healthy":  {healthy(3).wants("3.7.3").silent("c"), "UpgradePending", []string{"from etcd 3.6.16 to 3.7.3"}},
		"a Pod is not ready": {
			healthy(3).wants("3.7.3").pod("c", func(p *Pod) { p.UnreadySince = now }), "UpgradePending", []string{"waiting to upgrade from etcd 3.6.16 to 3.7.3", "not ready"},
		},
	} {
		d := decided(tc.seen.seen())
		found := ""
		for _, c := range d.Status.Conditions {
			if c.Type == v1beta2.ConditionUpgrading {
				found = string(c.Status) + " " + c.Reason
			}
		}
		if want := "True " + tc.reason; found != want {
			t.Errorf("%s: Upgrading is %s, want %s", name, found, want)
		}
		for _, want := range tc.message {
			if got := message(d.Status, v1beta2.ConditionUpgrading); !strings.Contains(got, want) {
				t.Errorf("%s: Upgrading says %q, want %q in it", name, got, want)
			}
		}
		if blocked := d.Outcome.AwaitsUser(); blocked != (tc.reason == v1beta2.ClusterReasonWaitingForSnapshot) {
			t.Errorf("%s: %s is blocked: %t", name, d.Reason, blocked)
		}
	}
}
