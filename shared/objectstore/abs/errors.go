package abs

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

const (
	// keysForbidden is the answer of a storage account that permits no account keys.
	keysForbidden bloberror.Code = "KeyBasedAuthenticationNotPermitted"
	// maxSkew is a little less than the 15 minutes by which the clocks can differ
	// (https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key).
	maxSkew = 14 * time.Minute
)

func (s *Store) refuse(reason objectstore.Reason, words string) error {
	return s.fail("open", "", objectstore.Because(reason, errors.New(words)))
}

// fail makes an *objectstore.Error of an error of the SDK.
func (s *Store) fail(op, key string, err error) error {
	var already *objectstore.Error
	var read *objectstore.ReadError
	if err == nil || errors.As(err, &already) || errors.As(err, &read) {
		return err
	}
	where := "container " + s.settings.Container
	if key != "" {
		where = s.URL(key)
	}
	return &objectstore.Error{Reason: reasonOf(err), Op: op, Scheme: strings.TrimSuffix(v1beta2.StorageABS.Scheme(), "://"), Where: where, Advice: s.advise(err), Cause: cause(err), Err: err}
}

// codes are Azure's that tell more than a status
// (https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes).
var codes = map[bloberror.Code]objectstore.Reason{
	bloberror.ContainerNotFound:                   objectstore.BucketNotFound,
	bloberror.ContainerDisabled:                   objectstore.AccessDenied,
	bloberror.BlobNotFound:                        objectstore.NotFound,
	bloberror.ResourceNotFound:                    objectstore.NotFound,
	bloberror.BlobAlreadyExists:                   objectstore.AlreadyExists,
	bloberror.ConditionNotMet:                     objectstore.AlreadyExists,
	bloberror.TargetConditionNotMet:               objectstore.AlreadyExists,
	bloberror.AuthenticationFailed:                objectstore.CredentialsInvalid,
	bloberror.InvalidAuthenticationInfo:           objectstore.CredentialsInvalid,
	bloberror.NoAuthenticationInformation:         objectstore.CredentialsInvalid,
	keysForbidden:                                 objectstore.CredentialsInvalid,
	bloberror.AuthorizationFailure:                objectstore.AccessDenied,
	bloberror.AccountIsDisabled:                   objectstore.AccessDenied,
	bloberror.BlobImmutableDueToPolicy:            objectstore.AccessDenied,
	bloberror.LeaseIDMissing:                      objectstore.AccessDenied,
	bloberror.BlobArchived:                        objectstore.ObjectArchived,
	bloberror.BlobBeingRehydrated:                 objectstore.ObjectArchived,
	bloberror.InvalidBlobType:                     objectstore.InvalidSettings,
	bloberror.InvalidResourceName:                 objectstore.InvalidSettings,
	bloberror.AuthorizationProtocolMismatch:       objectstore.InvalidSettings,
	bloberror.RequestBodyTooLarge:                 objectstore.TooLarge,
	bloberror.BlockCountExceedsLimit:              objectstore.TooLarge,
	bloberror.ContainerBeingDeleted:               objectstore.Unavailable,
	bloberror.AccountBeingCreated:                 objectstore.Unavailable,
	bloberror.InvalidBlockList:                    objectstore.Unavailable, // another upload was committed
	bloberror.InvalidBlobOrBlock:                  objectstore.Unavailable,
	bloberror.Code("AccountStorageLimitExceeded"): objectstore.NoSpace,
}

func reasonOf(err error) objectstore.Reason {
	if known := objectstore.KnownReason(err); known != "" {
		return known
	}
	var entra *azidentity.AuthenticationFailedError
	if errors.As(err, &entra) {
		if answer := entra.RawResponse; answer == nil || answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests {
			return objectstore.Unavailable // Entra ID was not reached, or has failed
		}
		return objectstore.CredentialsInvalid
	}
	answer := answerOf(err)
	if answer == nil {
		return objectstore.Unavailable
	}
	reason, ok := codes[bloberror.Code(answer.ErrorCode)]
	if !ok {
		return objectstore.ReasonOfStatus(answer.StatusCode)
	}
	if reason == objectstore.AccessDenied && strings.Contains(saidIn(answer).Message, "failed to authenticate") {
		reason = objectstore.CredentialsInvalid // Azurite's code for a wrong key
	}
	if reason == objectstore.CredentialsInvalid && isSkewed(answer) {
		return objectstore.ClockSkewed
	}
	return reason
}

// isSkewed tells whether a signature was refused for its time: Azure has no code for that,
// and answers to HEAD have no words.
func isSkewed(answer *azcore.ResponseError) bool {
	if strings.Contains(saidIn(answer).Detail, "Request date header too old") {
		return true
	}
	there, err := http.ParseTime(dateOf(answer))
	return err == nil && time.Since(there).Abs() > maxSkew
}

// answerOf is the store's answer; nil if there was none.
func answerOf(err error) *azcore.ResponseError {
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) || answer.RawResponse == nil {
		return nil
	}
	return answer
}

func dateOf(answer *azcore.ResponseError) string { return answer.RawResponse.Header.Get("Date") }

// said is the body of an error's answer.
type said struct {
	Message string
	Detail  string `xml:"AuthenticationErrorDetail"`
}

func saidIn(answer *azcore.ResponseError) said {
	var s said
	body, err := runtime.Payload(answer.RawResponse)
	if err != nil || xml.Unmarshal(body, &s) != nil {
		return said{}
	}
	return s
}

// advice is what Azure means by a reason.
var advice = map[objectstore.Reason]string{
	objectstore.BucketNotFound:  "the container does not exist: create it, or correct the container's name in abs.path, or the storage account",
	objectstore.AccessDenied:    "access denied: grant this identity the role Storage Blob Data Contributor on the container, and let the Pod's network through the firewall of the storage account",
	objectstore.ObjectArchived:  "the blob is in the access tier Archive and cannot be read: set its tier to Hot or Cool (az storage blob set-tier), wait until that is done, and then try again",
	objectstore.InvalidSettings: "the store rejects these settings: correct abs.path and abs.endpoint",
	objectstore.TLSInvalid:      "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name, and if a private CA has signed it, name a Secret with its certificate (key ca.crt) in abs.caSecret",
}

// advise says what to do about an error of which more is known than its reason; empty if
// nothing is.
func (s *Store) advise(err error) string {
	answer, reason := answerOf(err), reasonOf(err)
	switch {
	case reason == objectstore.ClockSkewed && answer != nil:
		return objectstore.Skew(dateOf(answer), time.Now())
	case bloberror.HasCode(err, keysForbidden):
		return "the storage account permits no account keys: remove abs.absSecret and name a ServiceAccount with a workload identity in pod.serviceAccountName, or permit account keys"
	case bloberror.HasCode(err, bloberror.BlobImmutableDueToPolicy):
		return "an immutability policy or a legal hold protects the blob: wait until that ends, or choose another path"
	case bloberror.HasCode(err, bloberror.LeaseIDMissing):
		return "the blob has a lease: break it (az storage blob lease break), or choose another path"
	case reason == objectstore.CredentialsInvalid:
		return s.settings.credentialsAdvice()
	}
	return advice[reason]
}

// cause is what the store said, in one line.
func cause(err error) string {
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	answer := answerOf(err)
	if answer == nil {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	// Behind the first line are the request's id and its time.
	message, _, _ := strings.Cut(strings.TrimSpace(saidIn(answer).Message), "\n")
	switch {
	case answer.ErrorCode == "":
		return answer.RawResponse.Status
	case message == "":
		return answer.ErrorCode
	}
	return answer.ErrorCode + ": " + strings.TrimSpace(message)
}
