package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
	"cloud.google.com/go/storage"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// maxSkew is less than the hour for which a token is valid: Google takes none that is from the
// future (https://developers.google.com/identity/protocols/oauth2/service-account#error-codes).
const maxSkew = 5 * time.Minute

// fail makes an *objectstore.Error of an error of the SDK.
func (s *Store) fail(op, key string, err error) error {
	var already *objectstore.Error
	var read *objectstore.ReadError
	if err == nil || errors.As(err, &already) || errors.As(err, &read) {
		return err
	}
	where := "bucket " + s.settings.Bucket
	if key != "" {
		where = s.URL(key)
	}
	return &objectstore.Error{Reason: reasonOf(err), Op: op, Scheme: strings.TrimSuffix(v1beta2.StorageGCS.Scheme(), "://"), Where: where, Advice: s.advise(err), Cause: cause(err), Err: err}
}

func reasonOf(err error) objectstore.Reason {
	if known := objectstore.KnownReason(err); known != "" {
		return known
	}
	if status, asked := credentialsStatus(err); asked {
		switch {
		case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
			return objectstore.Unavailable
		case isSkewed(err):
			return objectstore.ClockSkewed
		}
		return objectstore.CredentialsInvalid
	}
	answer := answerOf(err)
	switch {
	case answer == nil && errors.Is(err, storage.ErrObjectNotExist):
		return objectstore.NotFound
	case answer == nil:
		return objectstore.Unavailable
	case answer.Code == http.StatusNotFound && strings.Contains(saidIn(answer).message, "bucket does not exist"):
		return objectstore.BucketNotFound
	case answer.Code == http.StatusForbidden && slices.Contains(limits, saidIn(answer).reason):
		return objectstore.Unavailable
	case answer.Code == http.StatusBadRequest && strings.Contains(saidIn(answer).message, "doesn't match calculated"):
		return objectstore.Unavailable // what arrived is not what was sent
	case answer.Code == http.StatusRequestEntityTooLarge:
		return objectstore.TooLarge
	case answer.Code == http.StatusUnauthorized && isSkewed(err):
		return objectstore.ClockSkewed
	}
	return objectstore.ReasonOfStatus(answer.Code)
}

// limits are the reasons of answers 403 that mean: too often
// (https://docs.cloud.google.com/storage/docs/json_api/v1/status-codes).
var limits = []string{"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"}

// credentialsStatus is what the server that gives out tokens answered, if that is what failed.
func credentialsStatus(err error) (status int, asked bool) {
	var token *oauth2.RetrieveError
	var identity *metadata.Error
	var undefined metadata.NotDefinedError
	switch {
	case errors.As(err, &token):
		return token.Response.StatusCode, true
	case errors.As(err, &identity):
		return identity.Code, true
	case errors.As(err, &undefined):
		return http.StatusNotFound, true
	}
	return 0, false
}

// isSkewed tells whether a token was refused for its time.
func isSkewed(err error) bool {
	there, bad := http.ParseTime(dateOf(err))
	return bad == nil && time.Since(there).Abs() > maxSkew
}

// dateOf is the header Date of the answer; empty if there was none.
func dateOf(err error) string {
	var token *oauth2.RetrieveError
	if errors.As(err, &token) {
		return token.Response.Header.Get("Date")
	}
	if answer := answerOf(err); answer != nil {
		return answer.Header.Get("Date")
	}
	return ""
}

// answerOf is the store's answer; nil if there was none.
func answerOf(err error) *googleapi.Error {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return nil
	}
	return answer
}

// said is what an answer says: in JSON, or in XML to who reads an object.
type said struct{ reason, message string }

func saidIn(answer *googleapi.Error) said {
	if len(answer.Errors) > 0 {
		return said{answer.Errors[0].Reason, cmp.Or(answer.Message, answer.Errors[0].Message)}
	}
	var x struct {
		Code, Message, Details string
	}
	if xml.Unmarshal([]byte(answer.Body), &x) == nil {
		return said{x.Code, cmp.Or(x.Details, x.Message)}
	}
	return said{"", answer.Message}
}

// isPassing tells whether a request may do better when it is tried again.
func isPassing(err error) bool {
	var transport *url.Error
	var stalled *objectstore.StalledError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errOnce), objectstore.Untrusted(err):
		return false
	case errors.As(err, &stalled):
		return true
	case answerOf(err) != nil:
		return isStatus(err, passing...)
	}
	if status, asked := credentialsStatus(err); asked {
		return slices.Contains(passing, status)
	}
	return objectstore.KnownReason(err) == "" && (errors.As(err, &transport) || storage.ShouldRetry(err))
}

// advice is what Google means by a reason.
var advice = map[objectstore.Reason]string{
	objectstore.BucketNotFound:  "the bucket does not exist: create it, or correct the bucket's name in gcs.path",
	objectstore.AccessDenied:    "access denied: grant this service account the role Storage Object User (roles/storage.objectUser) on the bucket",
	objectstore.InvalidSettings: "the store rejects these settings: correct gcs.path and gcs.endpoint",
	objectstore.TLSInvalid:      "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name, and if a private CA has signed it, name a Secret with its certificate (key ca.crt) in gcs.caSecret",
}

// denials are answers 403 that no role can change.
var denials = map[string]string{
	"retentionPolicyNotMet":     "a retention policy of the bucket protects the object: wait until that ends, or choose another path",
	"objectUnderActiveHold":     "the object has a hold: release it (gcloud storage objects update --no-event-based-hold --no-temporary-hold), or choose another path",
	"vpcServiceControls":        "VPC Service Controls refuse the request: let the Pod's network and this service account into the perimeter of the bucket's project",
	"accountDisabled":           "the project of the bucket has no active billing account: enable billing",
	"UserProjectAccountProblem": "the project of the bucket has no active billing account: enable billing",
}

// advise says what to do about an error of which more is known than its reason; empty if
// nothing is.
func (s *Store) advise(err error) string {
	answer, reason := answerOf(err), reasonOf(err)
	switch {
	case reason == objectstore.ClockSkewed:
		return objectstore.Skew(dateOf(err), time.Now())
	case reason == objectstore.CredentialsInvalid:
		return s.credentialsAdvice()
	case reason == objectstore.AccessDenied && answer != nil && denials[saidIn(answer).reason] != "":
		return denials[saidIn(answer).reason]
	}
	return advice[reason]
}

// cause is what the store said, in one line.
func cause(err error) string {
	var transport *url.Error
	var token *oauth2.RetrieveError
	answer := answerOf(err)
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case answer != nil:
		said := saidIn(answer)
		message, _, _ := strings.Cut(said.message, "\n")
		return join(cmp.Or(said.reason, http.StatusText(answer.Code)), message)
	case errors.As(err, &token):
		var said struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		_ = json.Unmarshal(token.Body, &said) // then the status tells
		return join(cmp.Or(said.Error, token.Response.Status), said.Description)
	case errors.As(err, &transport):
		err = transport.Err // the URL of an upload is for nobody else
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func join(code, message string) string {
	if message == "" || message == code {
		return code
	}
	return code + ": " + strings.TrimSpace(message)
}
