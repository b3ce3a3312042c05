package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// broken is a cluster with work for nearly every rule.
func broken() *world { return healthy(3).dead("c").joiner("d").size(5) }

func TestUntouchable(t *testing.T) {
	rows{
		"a cluster that is being deleted is left to the garbage collector": {
			reason: "S12: deleting the CR never deletes more than its policy says",
			seen:   broken().cluster(func(c *Cluster) { c.Deleting = true }), because: "Deleting",
		},
		"a paused cluster is not touched": {
			reason: "S12", seen: broken().cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
		"a paused cluster is not begun": {
			reason: "S12", seen: nothing(3).cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
		"a cluster whose name is another's is not touched": {
			reason: "S12: an object that is not controlled by this CR is never changed",
			seen:   conflicted(broken()), because: "NameConflict",
		},
		"a cluster whose name is another's is not begun": {
			reason: "S12: its members would have the other's DNS names",
			seen:   conflicted(nothing(3)), because: "NameConflict",
		},
		"a paused cluster says that first, whatever else is wrong": {
			reason: "order is behaviour: nothing is asked of the user meanwhile",
			seen:   conflicted(nothing(3)).cluster(func(c *Cluster) { c.Paused = true }), because: "Paused",
		},
		"Pods of the archived operator are not touched": {
			reason: "their etcd has no launcher, and their data is all there is",
			seen:   withLegacyPods(nothing(3)), because: "LegacyMembers",
		},
		"an etcd without the endpoints that we probe is not begun": {
			reason: "it would be killed by its liveness probe",
			seen:   nothing(3).cluster(func(c *Cluster) { c.Version = "3.4.28" }), because: "VersionUnsupported",
		},
		"what is no version is not begun": {
			reason: "no image has it", seen: nothing(3).cluster(func(c *Cluster) { c.Version = "latest" }), because: "VersionUnsupported",
		},
		"a cluster that runs is looked after whatever its version": {
			reason: "refusing to heal helps nobody",
			seen:   healthy(3).dead("c").cluster(func(c *Cluster) { c.Version = "3.4.3" }), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a cluster that asks for TLS is not begun without": {
			reason: "the user said that the data is to be encrypted",
			seen:   nothing(3).cluster(func(c *Cluster) { c.TLS.Wanted = true }), because: v1beta2.ClusterReasonCertificatesPending,
		},
		"a cluster that has begun is reconciled beside Pods that others have left": {
			reason: "its Services do not select them, and refusing to heal helps nobody",
			seen:   healthy(3).dead("c").orphans("x-z"), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"a cluster that runs without TLS is looked after when TLS is asked for": {
			reason: "refusing to heal helps nobody",
			seen:   healthy(3).dead("c").cluster(func(c *Cluster) { c.TLS.Wanted = true }), do: create(joiners(1)...), because: "CreatingMembers",
		},
	}.run(t)
}

func conflicted(w *world) *world {
	w.o.Conflicts = []string{"Service x-client (of EtcdCluster y)"}
	return w
}

func unbudgeted(w *world) *world {
	w.o.ForeignBudget = "PodDisruptionBudget x (of EtcdCluster y)"
	return w
}

// Only the budget waits for its name: whatever is done without the conflict is done with
// it, and the condition says what is not protected.
func TestAForeignBudgetHoldsUpNothing(t *testing.T) {
	for name, build := range map[string]func() *world{
		"a beginning":        func() *world { return nothing(3) },
		"all is well":        func() *world { return healthy(3) },
		"a Pod is gone":      func() *world { return healthy(3).volumes().gone("b") },
		"a member is lost":   func() *world { return healthy(3).dead("c").newJoiner("d") },
		"it grows":           func() *world { return healthy(3).size(5) },
		"it moves on":        func() *world { return healthy(3).wants("3.7.3") },
		"a quorum is away":   func() *world { return healthy(3).volumes().gone("b", "c").noQuorum() },
		"it is to be paused": func() *world { return healthy(3).cluster(func(c *Cluster) { c.Paused = true }) },
	} {
		want, got := decided(build().seen()), decided(unbudgeted(build()).seen())
		is := message(got.Status, v1beta2.ConditionNameConflict)
		if !strings.Contains(is, "PodDisruptionBudget x (of EtcdCluster y)") || !strings.Contains(is, "evicted") {
			t.Errorf("%s: the condition says %q", name, is)
		}
		got.Status, want.Status = v1beta2.ClusterStatus{}, v1beta2.ClusterStatus{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// orphansOf adds what an earlier EtcdCluster of the name has left.
func orphansOf(w *world) *world {
	w.o.OrphansInTheWay = true
	w.o.Conflicts, w.o.Unowned = append(w.o.Conflicts, "Pod x-a"), []string{"pod/x-a", "service/x-client"}
	return w
}

// orphans are Pods of the name that are in nobody's way.
func (w *world) orphans(names ...string) *world { w.o.Orphans = names; return w }

func withLegacyPods(w *world) *world {
	w.o.LegacyPods = []string{"x-0000", "x-0001"}
	return w
}

func TestVersionsThatAreRun(t *testing.T) {
	for version, want := range map[string]bool{
		"2.3.8": false, "3.3.27": false, "3.4.28": false, "3.4.29": true, "3.4.40": true, "3.5.0": false, "3.5.10": false,
		"3.5.11": true, "3.5.35": true, "3.6.0": true, "3.6.0-rc.2": true, "3.7.3": true, "3.12.0": true,
		"4.0.0": false, "": false, "v3.6.16": false, "3.6": false, "3.6.x": false,
	} {
		d := Plan(nothing(1).cluster(func(c *Cluster) { c.Version, c.WantedVersion = version, version }).seen())
		if got := d.Reason != "VersionUnsupported"; got != want {
			t.Errorf("etcd %q: run = %t (%s), want %t", version, got, d.Reason, want)
		}
	}
}

// Not even the Services of such a cluster are touched.
func TestUntouchableMeansTheServicesToo(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		want bool
	}{
		"deleting":        {healthy(3).cluster(func(c *Cluster) { c.Deleting = true }), true},
		"paused":          {healthy(3).cluster(func(c *Cluster) { c.Paused = true }), true},
		"name conflict":   {conflicted(healthy(3)), true},
		"legacy Pods":     {withLegacyPods(nothing(3)), true},
		"existed":         {nothing(3).cluster(func(c *Cluster) { c.Existed = "its volumes exist" }), true},
		"healthy":         {healthy(3), false},
		"to begin":        {nothing(3), false},
		"quorum is lost":  {healthy(3).dead("a", "b", "c").lastStatus(reported("a", "b", "c")), false},
		"waiting for one": {healthy(3).silent("b", "c").noQuorum(), false},
	} {
		if d := decided(tc.seen.seen()); d.SkipChildren != tc.want {
			t.Errorf("%s: SkipChildren is %t (%s), want %t", name, d.SkipChildren, d.Reason, tc.want)
		}
	}
}

// reported is a status that names these voters.
func reported(voters ...string) v1beta2.ClusterStatus {
	s := latched(len(voters)).o.Cluster.LastStatus
	s.Size = len(voters)
	for _, name := range voters {
		s.MemberDetails = append(s.MemberDetails, v1beta2.MemberDetail{Name: name, Role: v1beta2.MemberVoter})
	}
	return s
}
