package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
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
	case reasonOf(err) == CredentialsInvalid:
		return s.settings.CredentialsAdvice()
	case hasCode(err, "RequestTimeTooSkewed"):
		return skew(err, time.Now())
	case misdirected(err):
		region := s.regionOf(err)
		if region == "" {
			return "the bucket is in another region, and the store does not say which: correct s3.region, or region in the Secret's config"
		}
		return fmt.Sprintf("the bucket is in the region %s: set s3.region: %s, or region = %s under [default] in the Secret's config", region, region, region)
	}
	return ""
}

// skew says by how much the node's clock differs from the store's; empty if the store's
// is not known.
func skew(err error, now time.Time) string {
	there, bad := http.ParseTime(headerOf(err, "Date"))
	if bad != nil {
		return ""
	}
	by, which := now.Sub(there).Round(time.Second), "ahead of"
	if by < 0 {
		by, which = -by, "behind"
	}
	return fmt.Sprintf("the clock of the Pod's node is %s %s the store's, and the store refuses the signature: correct the node's clock (NTP); the credentials are not the cause", by, which)
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
