package agent

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/retention"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

const (
	// maxLooks is how many older backups one run looks at, the newest first. It is never
	// reached by what a run before has left, but by what was there before retention was
	// asked for; each run continues.
	maxLooks = 5000
	// lookers is how many are looked at at a time.
	lookers = 8
)

// prune deletes the backups that the policy doesn't keep, after one was stored.
func (j *job) prune(ctx context.Context, to destination, written string) error {
	policy := retention.Policy{MaxBackups: j.task.MaxBackups, MaxAge: j.task.MaxAge, MinBackups: j.task.MinBackups, Always: j.task.OverwriteAlways}
	if _, plain := snapshotname.Parse(to.path(), written); !j.task.Repeated || !plain || policy.KeepsAll() {
		return nil
	}
	names, err := to.list(ctx, to.path()+"_v")
	if err != nil {
		return fmt.Errorf("list older backups: %w", err)
	}
	reference, err := j.earliest(ctx, to, written)
	if err != nil {
		return fmt.Errorf("read the stored backup: %w", err)
	}
	suspects := retention.Suspects(to.path(), written, names, policy, reference)
	by := ""
	if j.isCopy { // what else is in the second place is none of its business
		by = j.task.Backup
	}
	known, err := lookAll(ctx, to, suspects[:min(len(suspects), maxLooks)], by)
	if err != nil {
		return fmt.Errorf("read older backups: %w", err)
	}
	own := retention.Identity{Cluster: j.result.ClusterID, Revision: j.result.Revision}
	var expired []string
	expired, j.result.Spared = retention.Expired(own, known, policy, reference)
	if len(expired) == 0 {
		return nil
	}
	j.result.Deleted, err = to.remove(ctx, expired)
	j.log.Info("deleted older backups", "count", j.result.Deleted, "first", expired[0])
	return err
}

// earliest is the moment from which age is counted: when the backup was due, by the
// operator's clock, when its Job was started, by the API server's, or now, by this machine's
// or by the store's, whichever is earliest. So no clock that is ahead deletes anything as
// long as one of them is right.
func (j *job) earliest(ctx context.Context, to destination, written string) (time.Time, error) {
	stored, err := to.clock(ctx, written)
	at := j.task.Time
	for _, clock := range []time.Time{time.Now(), j.task.ServerTime, stored} {
		if !clock.IsZero() && clock.Before(at) {
			at = clock
		}
	}
	return at, err
}

// lookAll finds out of what the snapshots are. One that is gone by now is left out, and one that is
// not by the EtcdBackup of a name; empty: any.
func lookAll(ctx context.Context, to destination, suspects []snapshotname.Snapshot, by string) ([]retention.Known, error) {
	there := make([]found, len(suspects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookers)
	for i, s := range suspects {
		group.Go(func() (err error) {
			there[i], err = to.look(ctx, s.Name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	known := make([]retention.Known, 0, len(suspects))
	for i, s := range suspects {
		if (there[i].there || there[i].hidden) && (by == "" || there[i].metadata[metaBackup] == by) {
			known = append(known, retention.Known{Snapshot: s, Identity: identity(there[i].metadata)})
		}
	}
	return known, nil
}
