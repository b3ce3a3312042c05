package agent

import (
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
	defer func() { _ = f.file.Close() }() // it was only read, or goes with the folder
	if j.task.StartEtcd != "" {
		return j.tryOut(ctx, dir, f)
	}
	found, err := j.examine(ctx, f)
	if err != nil {
		return err
	}
	t, err := j.aim(ctx, f, found)
	if err != nil {
		return err
	}
	defer t.close()
	if found.Hash, err = j.compareHash(ctx, f, found); err != nil {
		return err
	}
	cut, err := j.foresee(ctx, f, found, t)
	if err != nil {
		return err
	}
	j.result.Snapshot, j.result.Cut = found, cut
	return nil
}

// foresee finds out what a restore will leave of the snapshot and add to it, before anything is
// stopped for it; nil if it restores the snapshot as it is.
func (j *job) foresee(ctx context.Context, f *fetched, found *task.Snapshot, t *target) (cut *task.Cut, err error) {
	switch {
	case t == nil:
		return nil, nil
	case len(t.chain) > 0:
		if cut, err = j.follow(ctx, f, found, t); err == nil {
			_, err = rebuild.Inspect(ctx, f.file) // what we have made is held to the same rules
		}
	default:
		cut = &task.Cut{Revision: t.revision}
	}
	if err != nil {
		return nil, err
	}
	cut.Time = t.at.UTC()
	return cut, j.count(ctx, f, cut)
}

// count counts the keys at a revision, under the task's prefixes and elsewhere.
func (j *job) count(ctx context.Context, f *fetched, cut *task.Cut) error {
	r := cut.Revision
	keys, elsewhere, err := rebuild.PlanCut(ctx, f.file, r, j.task.Prefixes)
	if f.inPlace != nil {
		if changed := f.inPlace.checkUnchanged(); changed != nil {
			return changed
		}
	}
	if err != nil {
		return err
	}
	j.log.Info("the snapshot can be restored as of the revision", "revision", r, "keys", keys, "keysElsewhere", elsewhere)
	cut.TotalKeys = keys
	if len(j.task.Prefixes) > 0 {
		cut.LeftOut = &elsewhere
	}
	return nil
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
	found := f.found
	found.DatabaseSize, found.Revision, found.TotalKeys, found.EtcdVersion = info.DatabaseSize, info.Revision, info.TotalKeys, info.EtcdVersion
	found.OldestRevision = oldest(info)
	found.Alarms, found.AuthEnabled = strings.Join(info.Alarms, ","), info.AuthEnabled
	if r := j.task.Revision; r > 0 && r < found.OldestRevision {
		return nil, revisionBeyond(&found, r)
	}
	return &found, nil
}

// oldest is the oldest revision that a snapshot can be restored to: at that of a compaction
// etcd still knows every key.
func oldest(info rebuild.Info) int64 { return max(info.CompactedRevision, 1) }
