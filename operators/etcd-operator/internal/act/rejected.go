package act

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RejectedError means that effects failed at the API server, and not because the observation was
// outdated. They are remembered and retried later, whatever the cause: a lasting rejection can
// have any code.
type RejectedError struct {
	// Rejections has at least one element.
	Rejections []facts.Rejection
	// Uncertain is true if an effect may have happened, or may still happen.
	Uncertain bool
	err       error
}

func (e *RejectedError) Error() string { return e.err.Error() }
func (e *RejectedError) Unwrap() error { return e.err }

func rejected(c *v1beta2.EtcdCluster, r facts.Rejection, err error) *RejectedError {
	r.Generation, r.Words = c.Generation, wordsWithout(r.Name, err)
	return &RejectedError{Rejections: []facts.Rejection{r}, Uncertain: !isRefused(err), err: err}
}

// rejectedObject returns the error of what an action did to one object, as a RejectedError if
// it is a rejection.
func rejectedObject(c *v1beta2.EtcdCluster, a action.Action, name string, err error) error {
	if !isRejection(err) {
		return err
	}
	return rejected(c, action.RejectionOf(a, name), err)
}

// Outdated returns the RejectedError of an action that fails for longer than caches lag because a
// precondition does not hold.
func Outdated(c *v1beta2.EtcdCluster, a action.Action, stale error) *RejectedError {
	return outdated(c, action.Effects(a), stale)
}

// OutdatedStatus returns the same of a write of the status.
func OutdatedStatus(c *v1beta2.EtcdCluster, stale error) *RejectedError {
	return outdated(c, []facts.Rejection{{Kind: facts.WritingStatus}}, stale)
}

func outdated(c *v1beta2.EtcdCluster, effects []facts.Rejection, stale error) *RejectedError {
	e := &RejectedError{Rejections: effects, err: errors.New(stale.Error())} // which is no longer ErrStale
	for i := range effects {
		effects[i].Outdated, effects[i].Generation, effects[i].Words = true, c.Generation, wordsWithout(effects[i].Name, e.err)
	}
	return e
}

// joinRejected returns the RejectedError of both, either of which may be nil.
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

// forEach does something to each object. An object for which it is rejected, or whose
// observation is outdated, keeps no other from being tried. A call that got no answer ends it.
func forEach[T any](all []T, do func(T) error) error {
	var refused *RejectedError
	var stale error
	for _, x := range all {
		err := do(x)
		switch both := joinRejected(refused, err); {
		case err == nil:
		case errors.Is(err, ErrStale):
			stale = err
		case both == refused:
			return err
		default:
			refused = both
		}
	}
	if refused != nil {
		return refused
	}
	return stale
}

// isRejection reports whether a request failed at the API server for a reason other than an
// outdated observation: it was answered with any error but a conflict, or a deadline passed
// while it was under way, as when a webhook hangs.
func isRejection(err error) bool {
	if err == nil || errors.Is(err, ErrStale) {
		return false
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code != http.StatusConflict
	}
	request, ok := errors.AsType[*url.Error](err)
	return ok && request.Timeout()
}

// isAnsweredConflict reports whether a request without a precondition was answered with a
// conflict, which a webhook can do for good.
func isAnsweredConflict(err error) bool {
	return apierrors.IsConflict(err) && !errors.Is(err, ErrStale)
}

// isRefused reports whether the API server has answered that it did nothing: the request is not
// permitted or not valid, or an admission plugin or webhook denies it or cannot be called.
// Admission comes before anything is stored.
func isRefused(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	switch s.Code {
	case http.StatusRequestTimeout:
		return false
	case http.StatusInternalServerError:
		return strings.Contains(s.Message, "failed calling webhook")
	}
	return !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}

// wordsWithout returns what the API server said, without the name of an object that may never
// exist.
func wordsWithout(name string, err error) string {
	said := words(err)
	if name == "" {
		return said
	}
	return strings.ReplaceAll(said, ` "`+name+`"`, "")
}
