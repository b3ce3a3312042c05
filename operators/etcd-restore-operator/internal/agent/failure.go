package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// errTimedOut is the cause of a context whose task took too long.
var errTimedOut = errors.New("the task's time is up")

// explain words for users why a task failed. That ctx has ended comes first: it
// makes everything else fail.
func explain(ctx context.Context, err error) *agent.Failure {
	if cause := context.Cause(ctx); cause != nil {
		err = ended(cause)
	}
	var known *runner.Error
	var store *objectstore.Error
	switch {
	case errors.As(err, &known):
	case errors.Is(err, snapshot.ErrCorrupt):
		err = corrupt("%w", err)
	case !errors.As(err, &store):
	case store.Reason == objectstore.NotFound:
		err = runner.Refuse(task.ReasonSnapshotNotFound, "%w", advised(store, "the snapshot does not exist: correct "+store.Scheme+".path"))
	case store.Reason == objectstore.AccessDenied && store.Scheme == "s3":
		err = advised(store, "access denied: grant these credentials s3:GetObject on the object, and s3:ListBucket on the bucket; without the latter, a missing object looks like this, too")
	case store.Reason == objectstore.AccessDenied && store.Scheme == "oss":
		err = advised(store, "access denied: grant these credentials oss:GetObject on the object, and oss:ListObjects on the bucket")
	case store.Reason == objectstore.AccessDenied && store.Scheme == "gcs":
		err = advised(store, "access denied: grant this service account the role Storage Object Viewer (roles/storage.objectViewer) on the bucket")
	}
	return runner.Explain(err, "the volume cannot be used: make it writable for the group of the restore's Pod (fsGroup)")
}

// advised is an error of the store with other advice.
func advised(store *objectstore.Error, advice string) error {
	other := *store
	other.Advice = advice
	return &other
}

// ended is the failure of a context that ended for that cause.
func ended(cause error) error {
	if errors.Is(cause, errTimedOut) {
		return runner.Refuse(agent.ReasonTimedOut, "the restore took longer than spec.timeoutInSecond allows: raise it, or remove it for no limit")
	}
	return runner.Passing(agent.ReasonInterrupted, "the restore's Pod was terminated before it was done")
}

// corrupt is the failure of what is no whole snapshot.
func corrupt(format string, args ...any) error {
	return runner.Refuse(task.ReasonCorruptSnapshot, "%w: restore another snapshot, or store this one again if the original is intact", fmt.Errorf(format, args...))
}

// notThere is the failure of a volume without the file.
func notThere(location string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return runner.Refuse(task.ReasonSnapshotNotFound, "the snapshot %s does not exist: correct pvc.path", location)
}
