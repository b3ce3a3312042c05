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
		var floors, ours times
		// One more than counts: the first finds caches cold.
		for round := range b.plan.rounds + 1 {
			fl, err := floor{b, f.members}.run(ctx)
			if err != nil {
				return err
			}
			us, err := b.create(ctx, fmt.Sprintf("ready-%d-%d", f.members, round), f.members)
			if err != nil {
				return err
			}
			b.say("ready with %d members: floor %s s, operator %s s", f.members, seconds(fl), seconds(us))
			if round > 0 {
				floors, ours = append(floors, fl), append(ours, us)
			}
		}
		ratio := ours.median().Seconds() / floors.median().Seconds()
		b.table.add(fmt.Sprintf("ready with %d members, over the floor", f.members),
			fmt.Sprintf("%.1fx: %s over %s", ratio, ours, floors), fmt.Sprintf("%.1fx", f.goal), ratio <= f.goal)
	}
	return nil
}

// create makes a cluster, and removes it again.
func (b *bench) create(ctx context.Context, name string, members int) (time.Duration, error) {
	began := time.Now()
	c, err := b.env.Create(ctx, b.view, b.ns, name, harness.Size(members), harness.Version(version))
	if err != nil {
		return 0, err
	}
	took, err := b.until(ctx, c, began, "readiness", harness.Healthy(members))
	if err != nil {
		return 0, err
	}
	return took, b.remove(ctx, c)
}
