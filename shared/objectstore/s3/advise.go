package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

const (
	// regionHeader is where S3 names a bucket's region, whatever else it answers
	// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html).
	regionHeader = "X-Amz-Bucket-Region"
	// regionTimeout bounds the search for the region, after the request has failed.
	regionTimeout = 10 * time.Second
)

// advise says what to do about an error of which more is known than its reason; empty
// if nothing is.
func (s *Store) advise(err error) string {
	var secret *secretError
	switch {
	case errors.As(err, &secret):
		return secret.advice(s.settings.secretName())
	case reasonOf(err) == objectstore.CredentialsInvalid:
		return s.settings.CredentialsAdvice()
	case hasCode(err, "RequestTimeTooSkewed"):
		return objectstore.Skew(headerOf(err, "Date"), time.Now())
	case s.settings.OSS:
		return ossAdvice[reasonOf(err)]
	case misdirected(err):
		region := s.regionOf(err)
		if region == "" {
			return "the bucket is in another region, and the store does not say which: correct s3.region, or region in the Secret's config"
		}
		return fmt.Sprintf("the bucket is in the region %s: set s3.region: %s, or region = %s under [default] in the Secret's config", region, region, region)
	}
	return advice[reasonOf(err)]
}

// advice is what S3 means by a reason.
var advice = map[objectstore.Reason]string{
	objectstore.AccessDenied:   "access denied: grant these credentials s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket on the bucket",
	objectstore.ObjectArchived: "the object is archived (storage class GLACIER, DEEP_ARCHIVE or an archive tier) and cannot be read: restore it from the archive first (aws s3api restore-object), wait until that is done, and then try again",
	objectstore.TLSInvalid:     "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name, and if a private CA has signed it, name a Secret with its certificate (key ca.crt) in s3.caSecret",
}

// ossAdvice is what OSS means by a reason.
var ossAdvice = map[objectstore.Reason]string{
	objectstore.AccessDenied:    "access denied: grant this RAM user or role oss:PutObject, oss:GetObject, oss:DeleteObject, oss:AbortMultipartUpload, oss:ListParts and oss:ListObjects on the bucket",
	objectstore.InvalidSettings: "the store rejects these settings: correct oss.path, and oss.endpoint, which must be that of the bucket's region, such as https://oss-cn-hangzhou.aliyuncs.com",
	objectstore.TLSInvalid:      "the store's certificate is not trusted: use an endpoint whose certificate is valid for its name, and if a private CA has signed it, name a Secret with its certificate (key ca.crt) in oss.caSecret",
}

// misdirected tells whether a request went to, or was signed for, another region than
// that of the bucket.
func misdirected(err error) bool {
	switch statusOf(err) {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return true
	}
	return hasCode(err, "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
}

// regionOf is the bucket's region, as the store's answer says it, or else another
// answer that it gives to everybody; empty if neither does.
func (s *Store) regionOf(err error) string {
	if region := headerOf(err, regionHeader); region != "" || s.client == nil {
		return region
	}
	ctx, cancel := context.WithTimeout(context.Background(), regionTimeout)
	defer cancel()
	out, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.settings.Bucket}, s.quick)
	if err != nil {
		return headerOf(err, regionHeader)
	}
	return aws.ToString(out.BucketRegion)
}

// headerOf is a header of the answer; empty if there was none.
func headerOf(err error, name string) string {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPResponse() == nil {
		return ""
	}
	return answer.HTTPResponse().Header.Get(name)
}
