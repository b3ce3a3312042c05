package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

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
	AccessDenied:    "access denied: grant these credentials s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket on the bucket",
	ClockSkewed:     "the clock of the Pod's node and the store's clock are too far apart, and the store refuses the signature: correct the node's clock (NTP); the credentials are not the cause",
	ObjectArchived:  "the object is archived (storage class GLACIER, DEEP_ARCHIVE or an archive tier) and cannot be read: restore it from the archive first (aws s3api restore-object), wait until that is done, and then try again",
	InvalidSettings: "the store rejects these settings: correct them",
	NoSpace:         "the store is full: free space, or raise the quota",
	TooLarge:        "the object is too large to be stored",
	TLSInvalid:      "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name, and if a private CA has signed it, name a Secret with its certificate (key ca.crt) in s3.caSecret",
	Changed:         "the object was replaced while it was read",
	Stalled:         "the transfer made no progress and was cut",
	Unavailable:     "the store cannot be reached, or fails: check the endpoint, the network and the store",
}

// Error is what the store, the network or the settings refused.
type Error struct {
	Reason Reason
	// Op is what was asked, Key of which object, if any.
	Op, Bucket, Key string
	// Advice says what to do, if more is known than the reason alone says.
	Advice string
	Err    error
}

// Error implements error: the advice first, the cause behind it.
func (e *Error) Error() string {
	where := "bucket " + e.Bucket
	if e.Key != "" {
		where = "s3://" + e.Bucket + "/" + e.Key
	}
	return fmt.Sprintf("%s (%s, %s: %s)", cmp.Or(e.Advice, advice[e.Reason]), e.Op, where, cause(e.Err))
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

// ReadError says that not the store failed but the stream that was to be stored.
type ReadError struct{ Err error }

// Error implements error.
func (e *ReadError) Error() string { return fmt.Sprintf("read what is to be stored: %v", e.Err) }

// Unwrap returns the stream's own error.
func (e *ReadError) Unwrap() error { return e.Err }

// withReason is a cause whose reason is known.
type withReason struct {
	reason Reason
	err    error
}

func (w *withReason) Error() string { return w.err.Error() }
func (w *withReason) Unwrap() error { return w.err }

func (s *Store) refuse(reason Reason, words string) error {
	return s.fail("open", "", &withReason{reason, errors.New(words)})
}

// fail makes an *Error of an error of the SDK. A context that ended keeps its own.
func (s *Store) fail(op, key string, err error) error {
	var already *Error
	var read *ReadError
	if err == nil || errors.As(err, &already) || errors.As(err, &read) {
		return err
	}
	return &Error{Reason: reasonOf(err), Op: op, Bucket: s.settings.Bucket, Key: key, Advice: s.advise(err), Err: err}
}

// codes are those of S3 and of its kin that tell more than a status
// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
var codes = map[string]Reason{
	"NoSuchBucket":                       BucketNotFound,
	"NoSuchKey":                          NotFound,
	"NotFound":                           NotFound,
	"AccessDenied":                       AccessDenied,
	"AllAccessDisabled":                  AccessDenied,
	"AccountProblem":                     AccessDenied,
	"KMS.DisabledException":              InvalidSettings,
	"KMS.NotFoundException":              InvalidSettings,
	"KMS.KMSInvalidStateException":       InvalidSettings,
	"InvalidAccessKeyId":                 CredentialsInvalid,
	"XAdminUserNotFound":                 CredentialsInvalid, // versitygw's
	"SignatureDoesNotMatch":              CredentialsInvalid,
	"ExpiredToken":                       CredentialsInvalid,
	"InvalidToken":                       CredentialsInvalid,
	"TokenRefreshRequired":               CredentialsInvalid,
	"InvalidSecurity":                    CredentialsInvalid,
	"NotSignedUp":                        CredentialsInvalid,
	"RequestTimeTooSkewed":               ClockSkewed,
	"InvalidObjectState":                 ObjectArchived,
	"PreconditionFailed":                 AlreadyExists,
	"InvalidBucketName":                  InvalidSettings,
	"InvalidStorageClass":                InvalidSettings,
	"InvalidArgument":                    InvalidSettings,
	"InvalidRequest":                     InvalidSettings,
	"InvalidEncryptionAlgorithmError":    InvalidSettings,
	"PermanentRedirect":                  InvalidSettings,
	"AuthorizationHeaderMalformed":       InvalidSettings, // signed for another region
	"IllegalLocationConstraintException": InvalidSettings,
	"NotImplemented":                     InvalidSettings,
	"QuotaExceeded":                      NoSpace,
	"XMinioStorageFull":                  NoSpace,
	"InsufficientCapacity":               NoSpace,
	"EntityTooLarge":                     TooLarge,
	// What another try may mend, whatever the status says.
	"NoSuchUpload":               Unavailable, // somebody aborted it
	"RequestTimeout":             Unavailable,
	"OperationAborted":           Unavailable,
	"ConditionalRequestConflict": Unavailable,
	"BadDigest":                  Unavailable,
	"IncompleteBody":             Unavailable,
	"XAmzContentSHA256Mismatch":  Unavailable,
}

func reasonOf(err error) Reason {
	var known *withReason
	if errors.As(err, &known) {
		return known.reason
	}
	var stalled *stalledError
	if errors.As(err, &stalled) {
		return Stalled
	}
	if untrusted(err) {
		return TLSInvalid
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if reason, ok := codes[api.ErrorCode()]; ok {
			return reason
		}
	}
	return reasonOfStatus(statusOf(err))
}

// reasonOfStatus is for answers without a code, as those to HEAD are.
func reasonOfStatus(status int) Reason {
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

// statusOf is the answer's HTTP status, 0 if there was none.
func statusOf(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

func hasCode(err error, want ...string) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, code := range want {
		if api.ErrorCode() == code {
			return true
		}
	}
	return false
}

// untrusted tells whether the store's certificate is what is wrong.
func untrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &verification) || errors.As(err, &unknownCA) || errors.As(err, &host) || errors.As(err, &record)
}

// cause is the innermost that tells something: the SDK wraps it in the names of the
// operation, the host and the request, several times.
func cause(err error) string {
	if stopped := new(aws.RequestCanceledError); errors.As(err, &stopped) || errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		words := api.ErrorCode()
		if message := api.ErrorMessage(); message != "" {
			words += ": " + message
		}
		return words
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		err = op.Err
	}
	return strings.TrimPrefix(err.Error(), "https response error ")
}
