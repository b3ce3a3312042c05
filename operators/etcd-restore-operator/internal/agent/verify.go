package agent

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// verify finds out all about the snapshot, or why it cannot be restored.
func (j *job) verify(ctx context.Context) error {
	dir, err := os.MkdirTemp(j.task.Scratch, "verify-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the folder goes with the Pod
	f, err := j.fetch(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.file.Close() }() // it was only read
	found, err := j.examine(ctx, f)
	if err != nil {
		return err
	}
	cut, err := j.planCut(ctx, f, found)
	if err != nil {
		return err
	}
	if found.Hash, err = j.compareHash(ctx, f, found); err != nil {
		return err
	}
	j.result.Snapshot, j.result.Cut = found, cut
	return nil
}

// planCut counts the keys at the task's revision and under its prefixes, before anything is
// stopped for it; nil if it has neither.
func (j *job) planCut(ctx context.Context, f *fetched, found *task.Snapshot) (*task.Cut, error) {
	if j.task.Revision == 0 && len(j.task.Prefixes) == 0 {
		return nil, nil
	}
	r := cmp.Or(j.task.Revision, found.Revision)
	keys, elsewhere, err := rebuild.PlanCut(ctx, f.file, r, j.task.Prefixes)
	if f.inPlace != nil {
		if changed := f.inPlace.checkUnchanged(); changed != nil {
			return nil, changed
		}
	}
	if err != nil {
		return nil, err
	}
	j.log.Info("the snapshot can be restored as of the revision", "revision", r, "keys", keys, "keysElsewhere", elsewhere)
	cut := &task.Cut{Revision: r, TotalKeys: keys}
	if len(j.task.Prefixes) > 0 {
		cut.LeftOut = &elsewhere
	}
	return cut, nil
}

// examine finds out all about a snapshot that was fetched, or why it cannot be restored.
func (j *job) examine(ctx context.Context, f *fetched) (*task.Snapshot, error) {
	j.log.Info("checking the database")
	info, err := rebuild.Inspect(ctx, f.file)
	if f.inPlace != nil {
		if changed := f.inPlace.checkUnchanged(); changed != nil {
			return nil, changed
		}
	}
	if err != nil {
		return nil, err
	}
	if !f.hashed && !j.task.SkipHashCheck {
		return nil, runner.Refuse(task.ReasonNoHash, "the file ends without a sha256: it was copied from a data dir, or is truncated; take a snapshot with an EtcdBackup or `etcdctl snapshot save`, or set spec.skipHashCheck to restore it anyway")
	}
	if err := j.checkCredentials(ctx, f.file, info.AuthEnabled); err != nil {
		return nil, err
	}
	if r := j.task.Revision; r > 0 && (r < oldest(info) || r > info.Revision) {
		return nil, runner.Refuse(task.ReasonRevisionNotHeld, "the snapshot %s holds revisions %d to %d, and not revision %d: set spec.revision to one of them, or restore another snapshot", f.found.Location, oldest(info), info.Revision, r)
	}
	found := f.found
	found.DatabaseSize, found.Revision, found.TotalKeys, found.EtcdVersion = info.DatabaseSize, info.Revision, info.TotalKeys, info.EtcdVersion
	found.OldestRevision = oldest(info)
	found.Alarms, found.AuthEnabled = strings.Join(info.Alarms, ","), info.AuthEnabled
	return &found, nil
}

// oldest is the oldest revision that a snapshot can be restored to: at that of a compaction
// etcd still knows every key.
func oldest(info rebuild.Info) int64 { return max(info.CompactedRevision, 1) }
