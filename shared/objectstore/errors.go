package objectstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Reason is why a store did not do what it was asked: CamelCase, for conditions,
// events and metrics. It is a target for errors.Is.
type Reason string

// Error implements error, so that a Reason can be a target.
func (r Reason) Error() string { return string(r) }

// The reasons, which package v1beta2 explains.
const (
	BucketNotFound     Reason = v1beta2.ReasonBucketNotFound
	NotFound           Reason = v1beta2.ReasonNotFound
	AlreadyExists      Reason = v1beta2.ReasonAlreadyExists
	AccessDenied       Reason = v1beta2.ReasonAccessDenied
	CredentialsInvalid Reason = v1beta2.ReasonCredentialsInvalid
	ClockSkewed        Reason = v1beta2.ReasonClockSkewed
	ObjectArchived     Reason = v1beta2.ReasonObjectArchived
	InvalidSettings    Reason = v1beta2.ReasonInvalidSettings
	NoSpace            Reason = v1beta2.ReasonNoSpace
	TooLarge           Reason = v1beta2.ReasonTooLarge
	TLSInvalid         Reason = v1beta2.ReasonStoreTLSInvalid
	Changed            Reason = v1beta2.ReasonObjectChanged
	Stalled            Reason = v1beta2.ReasonStalled
	Unavailable        Reason = v1beta2.ReasonStoreUnavailable
)

// advice is what a person can do, or where that would be too much said, what it means.
var advice = map[Reason]string{
	BucketNotFound:  "the bucket does not exist: create it, or correct the bucket's name in the path, the endpoint or the region",
	NotFound:        "no such object: correct the path",
	AlreadyExists:   "an object of this name exists already, and spec.overwrite is false: choose another path, or remove the object",
	AccessDenied:    "access denied: grant these credentials the right to read, write, delete and list objects of the bucket",
	ClockSkewed:     "the clock of the Pod's node and the store's clock are too far apart, and the store refuses the signature: correct the node's clock (NTP); the credentials are not the cause",
	ObjectArchived:  "the object is archived and cannot be read: restore it from the archive first, wait until that is done, and then try again",
	InvalidSettings: "the store rejects these settings: correct them",
	NoSpace:         "the store is full: free space, or raise the quota",
	TooLarge:        "the object is too large to be stored",
	TLSInvalid:      "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name",
	Changed:         "the object was replaced while it was read",
	Stalled:         "the transfer made no progress and was cut",
	Unavailable:     "the store cannot be reached, or fails: check the endpoint, the network and the store",
}

// Error is what the store, the network or the settings refused.
type Error struct {
	Reason Reason
	// Op is what was asked, Where of which bucket or object.
	Op, Where string
	// Scheme is what URLs of the store begin with: s3, oss, abs, gcs.
	Scheme string
	// Advice says what to do, if more is known than the reason alone says.
	Advice string
	// Cause is what the store said, if that is shorter than Err.
	Cause string
	Err   error
}

// Error implements error: the advice first, the cause behind it.
func (e *Error) Error() string {
	cause := e.Cause
	if cause == "" {
		cause = e.Err.Error()
	}
	return fmt.Sprintf("%s (%s, %s: %s)", cmp.Or(e.Advice, advice[e.Reason]), e.Op, e.Where, cause)
}

// Unwrap lets errors.Is and errors.As find the reason and the cause.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Err} }

// Permanent tells whether the same request would fail again until a person has
// mended something.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case Stalled, Unavailable, Changed:
		return false
	case ClockSkewed: // another Pod may run on another node
		return false
	default:
		return true
	}
}

// Skew says by how much the node's clock differs from the store's; empty if the store's
// is not known. date is the header Date of its answer.
func Skew(date string, now time.Time) string {
	there, bad := http.ParseTime(date)
	if bad != nil {
		return ""
	}
	by, which := now.Sub(there).Round(time.Second), "ahead of"
	if by < 0 {
		by, which = -by, "behind"
	}
	return fmt.Sprintf("the clock of the Pod's node is %s %s the store's, and the store refuses the signature: correct the node's clock (NTP); the credentials are not the cause", by, which)
}

// ReadError says that not the store failed but the stream that was to be stored.
type ReadError struct{ Err error }

// Error implements error.
func (e *ReadError) Error() string { return fmt.Sprintf("read what is to be stored: %v", e.Err) }

// Unwrap returns the stream's own error.
func (e *ReadError) Unwrap() error { return e.Err }

// Because is a cause whose reason is known.
func Because(reason Reason, err error) error { return &because{reason, err} }

type because struct {
	reason Reason
	err    error
}

func (b *because) Error() string { return b.err.Error() }
func (b *because) Unwrap() error { return b.err }

// KnownReason is that of a cause that says it, of a request that was cut, or of a server
// that is not trusted; empty if none of these is known.
func KnownReason(err error) Reason {
	var known *because
	var stalled *StalledError
	switch {
	case errors.As(err, &known):
		return known.reason
	case errors.As(err, &stalled):
		return Stalled
	case Untrusted(err):
		return TLSInvalid
	}
	return ""
}

// ReasonOfStatus is for answers without a code, as those to HEAD are.
func ReasonOfStatus(status int) Reason {
	switch status {
	case http.StatusUnauthorized:
		return CredentialsInvalid
	case http.StatusForbidden:
		return AccessDenied
	case http.StatusNotFound:
		return NotFound
	case http.StatusPreconditionFailed:
		return AlreadyExists
	case http.StatusInsufficientStorage:
		return NoSpace
	case http.StatusBadRequest, http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return InvalidSettings
	default:
		return Unavailable
	}
}

// Untrusted tells whether the store's certificate is what is wrong.
func Untrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &verification) || errors.As(err, &unknownCA) || errors.As(err, &host) || errors.As(err, &record)
}
