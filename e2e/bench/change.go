package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// measureScale measures 3->5 and 5->3.
func measureScale(ctx context.Context, b *bench) error {
	c, err := b.env.Create(ctx, b.view, b.ns, "scale", harness.Size(3), harness.Version(version))
	if err != nil {
		return err
	}
	w, err := b.writesTo(ctx, c, 3)
	if err != nil {
		return err
	}
	took := map[int]times{}
	for range b.plan.rounds {
		for _, size := range []int{5, 3} {
			began := time.Now()
			if err := c.Resize(ctx, size); err != nil {
				return err
			}
			d, err := b.until(ctx, c, began, "size", harness.Healthy(size))
			if err != nil {
				return err
			}
			took[size] = append(took[size], d)
			b.say("scaled to %d members in %s s", size, seconds(d))
			if err := b.rest(ctx, c, size); err != nil {
				return err
			}
		}
	}
	b.table.add("scale from 3 to 5", took[5].String(), "5 s", took[5].median() <= 5*time.Second)
	b.table.add("scale from 5 to 3", took[3].String(), "1 s", took[3].median() <= time.Second)
	return b.verdict(ctx, w)
}

// healthInterval is how long etcd wants its members to have been connected before it
// lets another change of them begin (etcdserver.HealthInterval).
const healthInterval = 5 * time.Second

// rest waits until the cluster is at rest, in etcd's eyes too: so that each figure is
// that of one change alone.
func (b *bench) rest(ctx context.Context, c *harness.Cluster, members int) error {
	if _, err := b.until(ctx, c, time.Now(), "rest", harness.Settled(members)); err != nil {
		return err
	}
	select {
	case <-time.After(healthInterval):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// measureHeal measures what becomes of a cluster when a Pod is deleted.
func measureHeal(ctx context.Context, b *bench) error {
	for _, kind := range []struct {
		name, cluster string
		options       []harness.Option
		goal          time.Duration
	}{
		{"PVC", "heal-pvc", []harness.Option{harness.Volumes}, 2500 * time.Millisecond},
		{"emptyDir", "heal-empty", nil, 5 * time.Second},
	} {
		c, err := b.env.Create(ctx, b.view, b.ns, kind.cluster, append(kind.options, harness.Size(3), harness.Version(version))...)
		if err != nil {
			return err
		}
		w, err := b.writesTo(ctx, c, 3)
		if err != nil {
			return err
		}
		for _, victim := range []struct {
			name   string
			choose func() string
		}{{"follower", c.Follower}, {"leader", c.Leader}} {
			h, err := b.heal(ctx, c, w, victim.choose)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("Pod of a %s deleted, %s", victim.name, kind.name)
			b.table.add(what+": three members healthy again", h.healed.String(), seconds(kind.goal)+" s", h.healed.median() <= kind.goal)
			b.table.note("all three Pods ready", h.ready.String())
			b.table.addGaps(what, h.gaps, h.acked, h.failed)
		}
		if err := b.verdict(ctx, w); err != nil {
			return err
		}
		if err := b.remove(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// healing is what was measured of it.
type healing struct {
	// healed is when all three members served, and ready when the kubelet, which looks
	// once in a second, had said so of their Pods.
	healed, ready times
	gaps          times
	acked, failed int
}

// heal deletes a Pod, again and again.
func (b *bench) heal(ctx context.Context, c *harness.Cluster, w *harness.Writer, choose func() string) (h healing, err error) {
	for range b.plan.rounds {
		victim := choose()
		uid := c.State().Pod(victim).UID
		if _, err := w.Cut(ctx); err != nil {
			return h, err
		}
		began := time.Now()
		if err := c.DeletePods(ctx, victim); err != nil {
			return h, err
		}
		took, err := b.until(ctx, c, began, "healing", harness.All(harness.Without(uid), harness.Serving(3)))
		if err != nil {
			return h, err
		}
		ready, err := b.until(ctx, c, began, "readiness", harness.Healthy(3))
		if err != nil {
			return h, err
		}
		win, err := w.Cut(ctx)
		if err != nil {
			return h, err
		}
		b.say("healed after %s s, its Pod ready after %s s; seen by the client: %s %v", seconds(took), seconds(ready), win, win.Errors)
		h.healed, h.ready, h.gaps = append(h.healed, took), append(h.ready, ready), append(h.gaps, win.LongestGap())
		h.acked, h.failed = h.acked+win.Acked, h.failed+win.Failed
		if err := b.rest(ctx, c, 3); err != nil {
			return h, err
		}
	}
	return h, nil
}

// writesTo waits for the cluster and starts a client.
func (b *bench) writesTo(ctx context.Context, c *harness.Cluster, members int) (*harness.Writer, error) {
	if err := b.rest(ctx, c, members); err != nil {
		return nil, err
	}
	return c.StartWriter(ctx, "")
}

// verdict ends the writing; a figure is worth nothing if writes were lost.
func (b *bench) verdict(ctx context.Context, w *harness.Writer) error {
	r, err := w.Finish(ctx)
	if err != nil {
		return err
	}
	b.say("client total: %s, %d lost", r.Window, len(r.Lost))
	if len(r.Lost) > 0 || len(r.Clusters) != 1 {
		return fmt.Errorf("%d acknowledged writes are lost; clusters %v", len(r.Lost), r.Clusters)
	}
	return nil
}
