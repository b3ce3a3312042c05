package s3

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

func (s *Store) refuse(reason objectstore.Reason, words string) error {
	return s.fail("open", "", objectstore.Because(reason, errors.New(words)))
}

// fail makes an *Error of an error of the SDK. A context that ended keeps its own.
func (s *Store) fail(op, key string, err error) error {
	var already *objectstore.Error
	var read *objectstore.ReadError
	if err == nil || errors.As(err, &already) || errors.As(err, &read) {
		return err
	}
	return &objectstore.Error{Reason: reasonOf(err), Op: op, Scheme: strings.TrimSuffix(s.settings.kind().Scheme(), "://"), Where: s.where(key), Advice: s.advise(err), Cause: cause(err), Err: err}
}

// where is the object of a key, or the bucket.
func (s *Store) where(key string) string {
	if key == "" {
		return "bucket " + s.settings.Bucket
	}
	return s.URL(key)
}

// codes are those of S3 and of its kin that tell more than a status
// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
var codes = map[string]objectstore.Reason{
	"NoSuchBucket":                       objectstore.BucketNotFound,
	"NoSuchKey":                          objectstore.NotFound,
	"NotFound":                           objectstore.NotFound,
	"AccessDenied":                       objectstore.AccessDenied,
	"AllAccessDisabled":                  objectstore.AccessDenied,
	"AccountProblem":                     objectstore.AccessDenied,
	"KMS.DisabledException":              objectstore.InvalidSettings,
	"KMS.NotFoundException":              objectstore.InvalidSettings,
	"KMS.KMSInvalidStateException":       objectstore.InvalidSettings,
	"InvalidAccessKeyId":                 objectstore.CredentialsInvalid,
	"XAdminUserNotFound":                 objectstore.CredentialsInvalid, // versitygw's
	"SignatureDoesNotMatch":              objectstore.CredentialsInvalid,
	"ExpiredToken":                       objectstore.CredentialsInvalid,
	"InvalidToken":                       objectstore.CredentialsInvalid,
	"TokenRefreshRequired":               objectstore.CredentialsInvalid,
	"InvalidSecurity":                    objectstore.CredentialsInvalid,
	"SecurityTokenExpired":               objectstore.CredentialsInvalid, // OSS's
	"InvalidSecurityToken":               objectstore.CredentialsInvalid,
	"SecondLevelDomainForbidden":         objectstore.InvalidSettings,
	"FileAlreadyExists":                  objectstore.AlreadyExists,
	"NotSignedUp":                        objectstore.CredentialsInvalid,
	"RequestTimeTooSkewed":               objectstore.ClockSkewed,
	"InvalidObjectState":                 objectstore.ObjectArchived,
	"PreconditionFailed":                 objectstore.AlreadyExists,
	"InvalidBucketName":                  objectstore.InvalidSettings,
	"InvalidStorageClass":                objectstore.InvalidSettings,
	"InvalidArgument":                    objectstore.InvalidSettings,
	"InvalidRequest":                     objectstore.InvalidSettings,
	"InvalidEncryptionAlgorithmError":    objectstore.InvalidSettings,
	"PermanentRedirect":                  objectstore.InvalidSettings,
	"AuthorizationHeaderMalformed":       objectstore.InvalidSettings, // signed for another region
	"IllegalLocationConstraintException": objectstore.InvalidSettings,
	"NotImplemented":                     objectstore.InvalidSettings,
	"QuotaExceeded":                      objectstore.NoSpace,
	"XMinioStorageFull":                  objectstore.NoSpace,
	"InsufficientCapacity":               objectstore.NoSpace,
	"EntityTooLarge":                     objectstore.TooLarge,
	// What another try may mend, whatever the status says.
	"NoSuchUpload":               objectstore.Unavailable, // somebody aborted it
	"RequestTimeout":             objectstore.Unavailable,
	"OperationAborted":           objectstore.Unavailable,
	"ConditionalRequestConflict": objectstore.Unavailable,
	"BadDigest":                  objectstore.Unavailable,
	"IncompleteBody":             objectstore.Unavailable,
	"XAmzContentSHA256Mismatch":  objectstore.Unavailable,
}

// elsewhere is what OSS says, beside AccessDenied, of a bucket in another region.
const elsewhere = "must be addressed using the specified endpoint"

func reasonOf(err error) objectstore.Reason {
	if known := objectstore.KnownReason(err); known != "" {
		return known
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if strings.Contains(api.ErrorMessage(), elsewhere) {
			return objectstore.InvalidSettings
		}
		if reason, ok := codes[api.ErrorCode()]; ok {
			return reason
		}
	}
	return objectstore.ReasonOfStatus(statusOf(err))
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
