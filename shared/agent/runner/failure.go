package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Error is an error whose reason and words are known where it comes up.
type Error struct {
	Reason    string
	Permanent bool
	Err       error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Refuse makes an Error that only a person can mend.
func Refuse(reason, format string, args ...any) error {
	return &Error{Reason: reason, Permanent: true, Err: fmt.Errorf(format, args...)}
}

// Passing makes an Error that may pass by itself.
func Passing(reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Explain says in a person's words why a task failed, as far as every agent can know:
// of an Error, of what a store refused, and of what a file system did. access is what can
// be done about a volume that does not let the agent in.
func Explain(err error, access string) *agent.Failure {
	var known *Error
	var store *objectstore.Error
	var taken *datadir.TakenError
	switch {
	case errors.As(err, &known):
		return &agent.Failure{Reason: known.Reason, Message: known.Error(), Permanent: known.Permanent}
	case errors.As(err, &taken):
		return &agent.Failure{Reason: agent.ReasonDataDirTaken, Message: taken.Error(), Permanent: true}
	case errors.As(err, &store):
		return &agent.Failure{Reason: string(store.Reason), Message: err.Error(), Permanent: store.Permanent()}
	default:
		return explainFile(err, access)
	}
}

// explainFile says what a file system refused.
func explainFile(err error, access string) *agent.Failure {
	words := err.Error()
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &agent.Failure{Reason: agent.ReasonNoSpace, Permanent: true, Message: "the volume is full: free space on it, or make it larger: " + words}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &agent.Failure{Reason: agent.ReasonAccessDenied, Permanent: true, Message: access + ": " + words}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG), strings.Contains(words, "escapes from parent"):
		return &agent.Failure{Reason: agent.ReasonInvalidPath, Permanent: true, Message: "the volume cannot have a file at this path: correct pvc.path: " + words}
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return &agent.Failure{Reason: agent.ReasonVolumeUnavailable, Message: "cannot read or write the volume: " + words}
	default:
		return &agent.Failure{Reason: agent.ReasonInternal, Message: words}
	}
}
