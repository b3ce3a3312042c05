package agent

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// obstacle is what keeps an endpoint from being the source. Code asks for it, and never for
// the reason of a failure: that is for people.
type obstacle int

const (
	// noAnswer: nothing answers there as etcd, or only a learner.
	noAnswer obstacle = iota
	// notURL: the endpoint is not a URL.
	notURL
	// passwordWithheld: etcd requires a user, and the password must not be sent there.
	passwordWithheld
	// unauthorized: etcd's authentication rejects the agent.
	unauthorized
	// noTLS: there is no TLS connection.
	noTLS
)

// endpointError is an error whose obstacle is known where it comes up.
type endpointError struct {
	obstacle obstacle
	err      error
}

func (e *endpointError) Error() string { return e.err.Error() }
func (e *endpointError) Unwrap() error { return e.err }

// obstacleOf sorts the error of an endpoint. What gRPC and etcd say only in words is sorted
// by these.
func obstacleOf(err error) obstacle {
	var known *endpointError
	if errors.As(err, &known) {
		return known.obstacle
	}
	if errors.Is(err, etcdclient.ErrUnauthorized) {
		return unauthorized
	}
	s := status.Convert(err)
	switch {
	case s.Code() == codes.PermissionDenied, s.Code() == codes.Unauthenticated,
		strings.HasPrefix(s.Message(), "auth: "), // etcd 3.5, without a code
		strings.Contains(s.Message(), "user name is empty"), strings.Contains(s.Message(), "auth token"):
		return unauthorized
	case strings.Contains(s.Message(), "authentication handshake failed"),
		// A server that requires TLS closes a connection that does not begin with it.
		strings.Contains(s.Message(), "error reading server preface"):
		return noTLS
	}
	return noAnswer
}

// sourceError is the failure of a member while it sent its snapshot: another member might
// do better.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// sourceLost makes a sourceError that may pass by itself.
func sourceLost(reason, format string, args ...any) error {
	return &sourceError{runner.Passing(reason, format, args...)}
}

// isSourceFailure reports whether another member might do better.
func isSourceFailure(err error) bool {
	var lost *sourceError
	return errors.As(err, &lost) || errors.Is(err, snapshot.ErrCorrupt)
}
