package suite

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// TestSpace: a database that has grown to its quota is reported, and repaired when the
// user allows it; and members are defragmented by a schedule, unnoticed by clients.
func TestSpace(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Setting("ETCD_QUOTA_BACKEND_BYTES", fmt.Sprint(16<<20)))
	c.settles(3, twoMinutes)
	members := c.members()
	for i := range 3 { // the same keys: all but the last values are history
		c.overwrites(fmt.Sprintf("filler-%d", i), 6<<20)
	}
	c.maintains(map[string]any{"autoRepairSpace": false})
	c.becomes("told that there is no space", harness.ConditionSays(v1beta2.ConditionAvailable, false, "NoSpace",
		"NOSPACE", "delete keys", "raise the quota", "spec.maintenance.autoRepairSpace"), twoMinutes)

	c.maintains(map[string]any{"autoRepairSpace": true})
	c.becomes("repaired", harness.Condition(v1beta2.ConditionAvailable, true, "Serving"), twoMinutes)
	c.settles(3, oneMinute)
	c.tells("AlarmRaised", "NOSPACE")
	for _, m := range members {
		c.tells("MemberDefragmented", m)
	}
	c.tells("SpaceRepaired", "80 %")
	c.tells("AlarmCleared", "NOSPACE")

	w := c.writes()
	repaired := c.lastRound()
	c.maintains(map[string]any{"defragmentSchedule": "@every 5s"})
	c.becomes("in a round", func(s harness.State) string {
		if m := s.Cluster.Status.Maintenance; m != nil && m.LastDefragmentTime != nil && m.LastDefragmentTime.After(repaired.Time) {
			return ""
		}
		return "no round has begun"
	}, oneMinute)
	round := c.lastRound()
	c.maintains(map[string]any{"defragmentSchedule": "0 0 1 1 *"})
	c.becomes("defragmented", defragmentedSince(round), twoMinutes)
	c.settles(3, oneMinute)
	w.noticedNoFailure(2 * aBlink) // it has one connection, which waits while its member is defragmented
	c.becomes("of the same members", sameMembers(members), oneMinute)
	w.lostNothing(3)
}

// overwrites writes so many bytes in large values, always under the same keys, until all
// are acknowledged or refused.
func (c *cluster) overwrites(name string, bytes int) {
	c.s.t.Helper()
	c.s.within(twoMinutes, func(ctx context.Context) error {
		return c.Overwrite(ctx, name, bytes)
	})
	c.s.tell("%d MiB were written to %s, or refused", bytes>>20, c.Name)
}

func (c *cluster) maintains(policy map[string]any) {
	c.s.t.Helper()
	c.s.must(c.Patch(c.s.ctx, map[string]any{"spec": map[string]any{"maintenance": policy}}))
	c.s.tell("maintenance of %s: %v", c.Name, policy)
}

// lastRound is when the last round of defragmentations began.
func (c *cluster) lastRound() metav1.Time {
	c.s.t.Helper()
	m := c.State().Cluster.Status.Maintenance
	if m == nil || m.LastDefragmentTime == nil {
		c.s.t.Fatalf("no round of %s is recorded", c.Name)
	}
	return *m.LastDefragmentTime
}

// defragmentedSince: every Pod is marked as defragmented in the round that began then.
func defragmentedSince(round metav1.Time) harness.Check {
	return func(s harness.State) string {
		for _, p := range s.Pods {
			if at, _, isDone := member.Defragmented(&p); !isDone || at.Before(round.Time) {
				return fmt.Sprintf("Pod %s is marked %q", p.Name, p.Annotations[v1beta2.AnnotationDefragmented])
			}
		}
		return ""
	}
}
