package act

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RejectedError means that the API server has refused effects for good: it has answered,
// and nothing came of them. It is of no use to try them again at once.
type RejectedError struct {
	// Rejections are at least one.
	Rejections []facts.Rejection
	err        error
}

func (e *RejectedError) Error() string { return e.err.Error() }
func (e *RejectedError) Unwrap() error { return e.err }

func rejected(c *v1beta2.EtcdCluster, r facts.Rejection, err error) error {
	r.Generation, r.Words = c.Generation, wordsWithout(r.Name, err)
	return &RejectedError{[]facts.Rejection{r}, err}
}

// joinRejected is the RejectedError of both, of which either may be nil.
func joinRejected(a *RejectedError, err error) *RejectedError {
	var b *RejectedError
	if !errors.As(err, &b) {
		return a
	}
	if a == nil {
		return b
	}
	return &RejectedError{append(a.Rejections, b.Rejections...), errors.Join(a.err, b.err)}
}

// isRejection reports whether the API server has answered with a definite refusal: the
// request is not permitted or not valid, or an admission plugin or webhook denies it, or
// can't be asked. Admission comes before anything is stored. It is none if the object has
// changed or is gone, or if the server asks to wait.
func isRejection(err error) bool {
	status := apierrors.APIStatus(nil)
	if err == nil || errors.Is(err, ErrStale) || !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	switch s.Code {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	case http.StatusInternalServerError:
		return strings.Contains(s.Message, "failed calling webhook")
	}
	return s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError
}

// wordsWithout are the API server's words without the name of an object, which may be one
// that never exists.
func wordsWithout(name string, err error) string {
	said := words(err)
	if name == "" {
		return said
	}
	return strings.ReplaceAll(said, ` "`+name+`"`, "")
}
