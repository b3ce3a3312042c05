package act

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RejectedError means that effects failed at the API server for another reason than an outdated observation.
// The operator remembers them and retries them later, whatever the cause: a lasting rejection can have any
// code.
type RejectedError struct {
	// Rejections has at least one element.
	Rejections []facts.Rejection
	// Uncertain is true if an effect might have happened, or might still happen.
	Uncertain bool
	err       error
}

func (e *RejectedError) Error() string { return e.err.Error() }
func (e *RejectedError) Unwrap() error { return e.err }

func rejected(c *v1beta2.EtcdCluster, r facts.Rejection, err error) *RejectedError {
	r.Generation, r.Words = c.Generation, wordsWithout(r.Name, err)
	return &RejectedError{Rejections: []facts.Rejection{r}, Uncertain: !isRefused(err), err: err}
}

// rejectedObject returns the error of an action on one object, as a RejectedError if it is a rejection.
func rejectedObject(c *v1beta2.EtcdCluster, a action.Action, name string, err error) error {
	if !isRejection(err) {
		return err
	}
	return rejected(c, action.RejectionOf(a, name), err)
}

// Outdated returns a RejectedError for an action whose precondition has failed for longer than caches lag.
func Outdated(c *v1beta2.EtcdCluster, a action.Action, stale error) *RejectedError {
	effects := slices.DeleteFunc(action.Effects(a), func(r facts.Rejection) bool { return r.IsOfStatus() })
	effects = slices.CompactFunc(effects, func(a, b facts.Rejection) bool { return a.SameEffect(b) }) // joiners are one
	if len(effects) == 0 {
		effects = []facts.Rejection{action.RejectionOf(a, "")}
	}
	return outdated(c, effects, stale)
}

// StaleChildError means that the precondition of a child of the EtcdCluster failed. It matches ErrStale.
type StaleChildError struct {
	child facts.Rejection
	err   error
}

func (e *StaleChildError) Error() string { return e.err.Error() }
func (e *StaleChildError) Unwrap() error { return e.err }

// OutdatedChild is like Outdated, for a child of the EtcdCluster. It returns nil if err contains no StaleChildError.
func OutdatedChild(c *v1beta2.EtcdCluster, err error) *RejectedError {
	e, ok := errors.AsType[*StaleChildError](err)
	if !ok {
		return nil
	}
	return outdated(c, []facts.Rejection{e.child}, e)
}

// OutdatedStatus is like Outdated, for a write of the status.
func OutdatedStatus(c *v1beta2.EtcdCluster, stale error) *RejectedError {
	return outdated(c, []facts.Rejection{{Kind: facts.WritingStatus}}, stale)
}

func outdated(c *v1beta2.EtcdCluster, effects []facts.Rejection, stale error) *RejectedError {
	e := &RejectedError{Rejections: effects, err: errors.New(stale.Error())} // the copy does not match ErrStale
	for i := range effects {
		effects[i].Outdated, effects[i].Generation, effects[i].Words = true, c.Generation, wordsWithout(effects[i].Name, e.err)
	}
	return e
}

// joinRejected joins two errors into one RejectedError. Either can be nil.
func joinRejected(a *RejectedError, err error) *RejectedError {
	b, ok := errors.AsType[*RejectedError](err)
	switch {
	case !ok:
		return a
	case a == nil:
		return b
	}
	return &RejectedError{append(a.Rejections, b.Rejections...), a.Uncertain || b.Uncertain, errors.Join(a.err, b.err)}
}

// forEach calls do for each object. It continues after an object whose request was rejected or whose
// observation is outdated. It stops at a call without an answer.
func forEach[T any](all []T, do func(T) error) error {
	var refused *RejectedError
	var stale error
	for _, x := range all {
		err := do(x)
		switch both := joinRejected(refused, err); {
		case err == nil:
		case errors.Is(err, ErrStale), isAnsweredConflict(err):
			stale = err
		case both != refused:
			refused = both
		case refused == nil:
			return err
		default: // the deadline has passed, and what was rejected is remembered
			refused.Uncertain = true
			return refused
		}
	}
	if refused != nil {
		return refused
	}
	return stale
}

// isRejection reports whether a request failed at the API server for another reason than an outdated
// observation. Either the answer was an error other than a conflict, or a deadline passed during the request,
// for example because a webhook hangs.
func isRejection(err error) bool {
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, errUnread) {
		return false
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code != http.StatusConflict
	}
	request, ok := errors.AsType[*url.Error](err)
	return ok && request.Timeout()
}

// isAnsweredConflict reports whether the answer to a request without a precondition was a conflict. A webhook
// can return it forever.
func isAnsweredConflict(err error) bool {
	return apierrors.IsConflict(err) && !errors.Is(err, ErrStale)
}

// isRefused reports whether the API server's answer proves that the request had no effect. The request is
// forbidden or invalid, or an admission plugin or webhook denies it or cannot be called. Admission runs before
// anything is stored.
func isRefused(err error) bool {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok && !errors.Is(err, ErrStale) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !isRefused(err) })
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	if s.Code >= http.StatusInternalServerError {
		return strings.Contains(s.Message, "failed calling webhook")
	}
	return s.Code != http.StatusRequestTimeout
}

// wordsWithout returns the text of the API server's error, without the name of an object that might never
// exist.
func wordsWithout(name string, err error) string {
	said := words(err)
	if name == "" {
		return said
	}
	return strings.ReplaceAll(said, ` "`+name+`"`, "")
}
