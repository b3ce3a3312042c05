package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// upgradeFrom is the newest patch of the minor before version.
var upgradeFrom = etcdversion.OfMinor(5)

// measureUpgrade measures a change to the next minor, and what a client notices of it.
func measureUpgrade(ctx context.Context, b *bench) error {
	var took, gaps times
	acked, failed := 0, 0
	for i := range b.plan.rounds {
		c, err := b.env.Create(ctx, b.view, b.ns, fmt.Sprintf("upgrade-%d", i), harness.Size(3), harness.Version(upgradeFrom))
		if err != nil {
			return err
		}
		w, err := b.writesTo(ctx, c, 3)
		if err != nil {
			return err
		}
		if _, err := w.Cut(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := c.Patch(ctx, map[string]any{"spec": map[string]any{"version": version}}); err != nil {
			return err
		}
		d, err := b.until(ctx, c, began, "upgrade", harness.All(harness.AtVersion(version), harness.Settled(3)))
		if err != nil {
			return err
		}
		win, err := w.Cut(ctx)
		if err != nil {
			return err
		}
		b.say("upgraded from %s to %s in %s s; seen by the client: %s %v", upgradeFrom, version, seconds(d), win, win.Errors)
		took, gaps = append(took, d), append(gaps, win.LongestGap())
		acked, failed = acked+win.Acked, failed+win.Failed
		if err := b.verdict(ctx, w); err != nil {
			return err
		}
		if err := b.remove(ctx, c); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("upgrade from %s to %s, emptyDir", upgradeFrom, version)
	b.table.add(what+": all three members", took.String(), "15 s", took.median() <= 15*time.Second)
	b.table.addGaps(what, gaps, acked, failed)
	return nil
}
