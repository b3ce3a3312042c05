package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// measureReady measures how long a new cluster takes, over the floor.
func measureReady(ctx context.Context, b *bench) error {
	for _, f := range []struct {
		members int
		goal    float64
	}{{1, 1.3}, {3, 2}, {5, 2}} {
		var floors, ours, served times
		// One more than counts: the first finds caches cold.
		for round := range b.plan.rounds + 1 {
			fl, err := floor{b, f.members}.run(ctx)
			if err != nil {
				return err
			}
			us, status, err := b.create(ctx, fmt.Sprintf("ready-%d-%d", f.members, round), f.members)
			if err != nil {
				return err
			}
			b.say("%d members ready: floor %s s, operator %s s (status reports it after %s s)", f.members, seconds(fl), seconds(us), seconds(status))
			if round > 0 {
				floors, ours, served = append(floors, fl), append(ours, us), append(served, status)
			}
		}
		ratio := ours.median().Seconds() / floors.median().Seconds()
		b.table.add(fmt.Sprintf("%d members ready, relative to the floor", f.members),
			fmt.Sprintf("%.1fx: %s over %s", ratio, ours, floors), fmt.Sprintf("%.1fx", f.goal), ratio <= f.goal)
		b.table.note(fmt.Sprintf("%d voters serve, by the status", f.members), served.String())
	}
	return nil
}

// create makes a cluster, and removes it again. It returns when all Pods were
// ready, as the kubelet's probes find out once in a second, and when the status
// had all voters.
func (b *bench) create(ctx context.Context, name string, members int) (ready, status time.Duration, err error) {
	began := time.Now()
	c, err := b.env.Create(ctx, b.view, b.ns, name, harness.Size(members), harness.Version(version))
	if err != nil {
		return 0, 0, err
	}
	if status, err = b.until(ctx, c, began, "voters", harness.Serving(members)); err != nil {
		return 0, 0, err
	}
	if ready, err = b.until(ctx, c, began, "readiness", harness.Healthy(members)); err != nil {
		return 0, 0, err
	}
	return ready, status, b.remove(ctx, c)
}
