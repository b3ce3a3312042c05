package agent

import (
	"context"
	"os"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// verify finds out all about the snapshot, or why it can't be restored.
func (j *job) verify(ctx context.Context) error {
	dir, err := os.MkdirTemp(j.task.Scratch, "verify-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the folder goes with the Pod
	f, err := j.fetch(ctx, dir, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.file.Close() }() // it was only read
	info, err := rebuild.Inspect(ctx, f.file)
	if err != nil {
		return err
	}
	if !f.hashed && !j.task.SkipHashCheck {
		return runner.Refuse(task.ReasonNoHash, "the file ends without a sha256, as one does that was copied from a data dir, or cut short: take a snapshot with an EtcdBackup or `etcdctl snapshot save`, or set spec.skipHashCheck to restore it all the same")
	}
	found := f.found
	found.DatabaseSize, found.Revision, found.TotalKeys, found.EtcdVersion = info.DatabaseSize, info.Revision, info.TotalKeys, info.EtcdVersion
	j.result.Snapshot = &found
	return nil
}
