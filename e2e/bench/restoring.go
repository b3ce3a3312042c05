package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// restoredBytes are those of the values that make a database of 361 MB, which others
	// are known to take 8.3 s and 38 s for, until one member serves and until three do.
	restoredBytes = 320_000_000
	// serveGoal and growGoal are ours.
	serveGoal, growGoal = 5 * time.Second, 9 * time.Second
	// outageGoal is for how long no write is acknowledged when members that run are
	// restored in place, whatever the size of the snapshot: it is fetched and rebuilt before
	// they are stopped.
	outageGoal = 6 * time.Second
	// outageRatioGoal is the same relative to stopMembers: First, where they are stopped
	// before there is a seed.
	outageRatioGoal = 0.6
)

// measureRestore measures a restore on Kubernetes, from its creation until one member
// serves and until three do: to a new cluster, and in place of one whose members run. Of the
// latter both orders take turns, and what counts is for how long clients cannot write.
func measureRestore(ctx context.Context, b *bench) error {
	for _, operator := range []string{harness.BackupOperatorName, harness.RestoreOperatorName} {
		if err := b.env.Install(ctx, b.ns, harness.Install{Operator: operator}); err != nil {
			return err
		}
		if err := b.env.AwaitDeployment(ctx, b.view, b.ns, operator); err != nil {
			return err
		}
	}
	if err := b.view.WatchBackups(ctx); err != nil {
		return err
	}
	if err := b.view.WatchRestores(ctx); err != nil {
		return err
	}
	store, err := b.env.StartStore(ctx, b.view, b.ns, bucket, "")
	if err != nil {
		return err
	}
	old, err := b.snapshot(ctx, store)
	if err != nil {
		return err
	}
	from := harness.FromS3(store.Endpoint, bucket+"/snapshot")
	template := harness.AsTemplate(harness.Size(3), harness.Version(version))
	fresh := &restoring{what: "to a new cluster", how: []harness.RestoreOption{template, from}}
	beside := &restoring{what: "in place, three running members", how: []harness.RestoreOption{harness.InPlace(old.Name), from}}
	first := &restoring{what: "in place, members stopped first", how: []harness.RestoreOption{harness.InPlace(old.Name), harness.MembersFirst, from}}
	if err := b.restoreInTurns(ctx, nil, fresh); err != nil {
		return err
	}
	if err := b.restoreInTurns(ctx, old, beside, first); err != nil {
		return err
	}
	b.table.add(beside.figure("writes unavailable"), beside.outages.String(), seconds(outageGoal)+" s", beside.outages.median() <= outageGoal)
	ratio := beside.outages.median().Seconds() / first.outages.median().Seconds()
	b.table.add(beside.figure("writes unavailable, relative to stopMembers: First"),
		fmt.Sprintf("%.2fx: %s over %s", ratio, beside.outages, first.outages), fmt.Sprintf("%.1fx", outageRatioGoal), ratio <= outageRatioGoal)
	for _, r := range []*restoring{fresh, beside} {
		b.table.add(r.figure("the seed serves"), r.served.String(), seconds(serveGoal)+" s", r.served.median() <= serveGoal)
		b.table.add(r.figure("three members serve"), r.grown.String(), seconds(growGoal)+" s", r.grown.median() <= growGoal)
	}
	b.table.note(first.figure("the seed serves"), first.served.String())
	return b.remove(ctx, old)
}

// restoring is a way to restore, and what was measured of it. outages are empty if the
// cluster is new.
type restoring struct {
	what                   string
	how                    []harness.RestoreOption
	served, grown, outages times
}

func (r *restoring) figure(of string) string {
	return fmt.Sprintf("restore of 361 MB %s: %s", r.what, of)
}

// restoreInTurns measures ways to restore the same cluster, or a new one if that is nil.
func (b *bench) restoreInTurns(ctx context.Context, c *harness.Cluster, ways ...*restoring) error {
	w, err := b.outageOf(ctx, c)
	if err != nil {
		return err
	}
	for round := range b.plan.rounds + 1 { // the first finds caches cold, and does not count
		for i, r := range ways {
			serve, grow, outage, err := b.restoreOnce(ctx, fmt.Sprintf("restore-%d-%d", round, i), c, w, r.how...)
			if err != nil {
				return err
			}
			b.say("restore of 361 MB %s: the seed serves after %s s, three members after %s s; writes unavailable for %s s", r.what, seconds(serve), seconds(grow), seconds(outage))
			if round > 0 {
				r.served, r.grown, r.outages = append(r.served, serve), append(r.grown, grow), append(r.outages, outage)
			}
		}
	}
	return nil
}

// snapshot stores one of a cluster of three that it fills.
func (b *bench) snapshot(ctx context.Context, store *harness.Store) (*harness.Cluster, error) {
	c, err := b.env.Create(ctx, b.view, b.ns, "old", harness.Size(3), harness.Version(version))
	if err != nil {
		return nil, err
	}
	if _, err := b.until(ctx, c, time.Now(), "readiness", harness.Healthy(3)); err != nil {
		return nil, err
	}
	if _, err := c.Fill(ctx, restoredBytes); err != nil {
		return nil, err
	}
	backup, err := b.env.CreateBackup(ctx, b.view, b.ns, "backup", harness.OfCluster(c.Name), harness.ToS3(store.Endpoint, bucket+"/snapshot"))
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	if err := backup.Await(waiting, "the backup", harness.Stored); err != nil {
		return nil, err
	}
	b.say("a snapshot of %s is stored", backup.Status().Snapshot.ReadableSize)
	return c, nil
}

// outageOf starts a client that writes to the cluster that is restored all the time; none if
// it is a new one.
func (b *bench) outageOf(ctx context.Context, c *harness.Cluster) (*harness.Writer, error) {
	if c == nil {
		return nil, nil
	}
	return c.StartAnotherWriter(ctx, "outage")
}

// restoreOnce restores, and removes the EtcdRestore, and the cluster if it is new. outage is
// for how long no write of the client was acknowledged, if there is one.
func (b *bench) restoreOnce(ctx context.Context, name string, c *harness.Cluster, w *harness.Writer, options ...harness.RestoreOption) (serve, grow, outage time.Duration, err error) {
	if w != nil {
		if _, err := w.Cut(ctx); err != nil {
			return 0, 0, 0, err
		}
	}
	began := time.Now()
	r, err := b.env.CreateRestore(ctx, b.view, b.ns, name, options...)
	if err != nil {
		return 0, 0, 0, err
	}
	made := c == nil
	if made {
		c = b.env.Cluster(b.view, b.ns, name)
	}
	waiting, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	if err := r.Await(waiting, "a seed that serves", harness.Restored); err != nil {
		return 0, 0, 0, err
	}
	serve = time.Since(began)
	if grow, err = b.until(ctx, c, began, "three members", harness.Serving(3)); err != nil {
		return 0, 0, 0, err
	}
	if err := r.Await(waiting, "its completion", harness.RestoreCompleted); err != nil {
		return 0, 0, 0, err
	}
	if err := r.Delete(ctx); err != nil {
		return 0, 0, 0, err
	}
	if err := r.Await(waiting, "its end", harness.NoTraceOfRestore); err != nil {
		return 0, 0, 0, err
	}
	if made {
		return serve, grow, 0, b.remove(ctx, c)
	}
	if _, err := b.until(ctx, c, began, "nothing left to do", harness.Settled(3)); err != nil {
		return 0, 0, 0, err
	}
	win, err := w.Cut(ctx)
	return serve, grow, win.LongestGap(), err
}
