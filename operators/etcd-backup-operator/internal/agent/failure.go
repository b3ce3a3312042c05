package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// failure is an error whose reason and words are known where it comes up.
type failure struct {
	reason    string
	permanent bool
	err       error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// refuse makes a failure that only a person can mend.
func refuse(reason, format string, args ...any) error {
	return &failure{reason: reason, permanent: true, err: fmt.Errorf(format, args...)}
}

// passing makes a failure that may pass by itself.
func passing(reason, format string, args ...any) error {
	return &failure{reason: reason, err: fmt.Errorf(format, args...)}
}

// errTimedOut is the cause of a context whose backup took too long.
var errTimedOut = errors.New("the backup's time is up")

// explain says in a person's words why a backup failed. That ctx has ended comes
// first: it makes everything else fail.
func explain(ctx context.Context, err error) *task.Failure {
	if cause := context.Cause(ctx); cause != nil {
		err = ended(cause)
	}
	var known *failure
	var store *objectstore.Error
	switch {
	case errors.As(err, &known):
		return &task.Failure{Reason: known.reason, Message: known.Error(), Permanent: known.permanent}
	case errors.Is(err, snapshot.ErrCorrupt):
		return &task.Failure{Reason: task.ReasonCorruptStream, Message: fmt.Sprintf("%v: nothing was stored; if it happens again, check that member's disk, and its data with `etcdctl endpoint hashkv`", err)}
	case errors.As(err, &store):
		return &task.Failure{Reason: string(store.Reason), Message: err.Error(), Permanent: store.Permanent()}
	default:
		return explainFile(err)
	}
}

// ended is the failure of a context that ended for that cause.
func ended(cause error) error {
	if errors.Is(cause, errTimedOut) {
		return refuse(task.ReasonTimedOut, "the backup took longer than backupPolicy.timeoutInSecond allows: raise it, or set 0 for no limit")
	}
	return passing(task.ReasonInterrupted, "the backup's Pod was told to end before the backup was stored")
}

// explainFile says what a file system refused.
func explainFile(err error) *task.Failure {
	words := err.Error()
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &task.Failure{Reason: task.ReasonNoSpace, Permanent: true, Message: "the volume is full: free some room or make it larger: " + words}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &task.Failure{Reason: task.ReasonAccessDenied, Permanent: true, Message: "the volume can't be written: make it writable for the group of the backup's Pod (fsGroup 65532): " + words}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG), strings.Contains(words, "escapes from parent"):
		return &task.Failure{Reason: task.ReasonInvalidPath, Permanent: true, Message: "the volume can't have a file of that path: correct pvc.path: " + words}
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return &task.Failure{Reason: task.ReasonVolumeUnavailable, Message: "the volume fails: " + words}
	default:
		return &task.Failure{Reason: task.ReasonInternal, Message: words}
	}
}
