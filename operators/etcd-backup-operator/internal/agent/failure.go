package agent

import (
	"context"
	"errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// errTimedOut is the cause of a context whose backup took too long.
var errTimedOut = errors.New("the backup timed out")

// explain makes a Failure of the error of a backup. The end of ctx comes first, as it makes
// everything else fail.
func explain(ctx context.Context, err error) *agent.Failure {
	if cause := context.Cause(ctx); cause != nil {
		err = ended(cause)
	}
	// What the member sent is at fault, not where it was to be stored.
	if read := (*objectstore.ReadError)(nil); errors.As(err, &read) {
		err = read.Err
	}
	var known *runner.Error
	if !errors.As(err, &known) && errors.Is(err, snapshot.ErrCorrupt) {
		err = runner.Passing(v1beta2.BackupReasonCorruptStream, "%w: nothing was stored; if it happens again, check that member's disk, and its data with `etcdctl endpoint hashkv`", err)
	}
	return runner.Explain(err, "cannot write to the volume: make it writable for the group of the backup's Pod (fsGroup 65532)")
}

// ended is the failure of a context that ended for that cause.
func ended(cause error) error {
	if errors.Is(cause, errTimedOut) {
		return runner.Refuse(agent.ReasonTimedOut, "backup took longer than spec.backupPolicy.timeoutInSecond: raise it, or set 0 for no limit")
	}
	return runner.Passing(agent.ReasonInterrupted, "the backup's Pod was terminated before the backup was stored")
}
