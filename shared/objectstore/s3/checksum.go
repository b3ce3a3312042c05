package s3

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Checksums says with which uploads a checksum is sent, as the SDK's setting
// request_checksum_calculation does.
type Checksums string

const (
	// ChecksumsWhenSupported sends a CRC32 with everything that is stored.
	ChecksumsWhenSupported Checksums = "WhenSupported"
	// ChecksumsWhenRequired sends one only where the store asks for it: many stores
	// do not know the newer checksums.
	ChecksumsWhenRequired Checksums = "WhenRequired"
)

// checksums is what the settings say, or else the Secret's config or the environment, or
// else that none is sent unless the store asks for it.
func (s Settings) checksums(cfg aws.Config) (aws.RequestChecksumCalculation, error) {
	switch s.Checksums {
	case ChecksumsWhenSupported:
		return aws.RequestChecksumCalculationWhenSupported, nil
	case ChecksumsWhenRequired:
		return aws.RequestChecksumCalculationWhenRequired, nil
	case "":
	default:
		return 0, fmt.Errorf("checksums %q is not supported: set %s or %s", s.Checksums, ChecksumsWhenSupported, ChecksumsWhenRequired)
	}
	// The SDK's own answer does not tell what was written from what is its default.
	for _, source := range cfg.ConfigSources {
		written := aws.RequestChecksumCalculationUnset
		switch c := source.(type) {
		case config.EnvConfig:
			written = c.RequestChecksumCalculation
		case config.SharedConfig:
			written = c.RequestChecksumCalculation
		}
		if written != aws.RequestChecksumCalculationUnset {
			return written, nil
		}
	}
	return aws.RequestChecksumCalculationWhenRequired, nil
}

// algorithm is that of the checksums of an upload's parts, which the store must know when
// the upload begins; empty if there are none.
func (s *Store) algorithm() types.ChecksumAlgorithm {
	if s.checksum == aws.RequestChecksumCalculationWhenSupported {
		return types.ChecksumAlgorithmCrc32
	}
	return ""
}

// digest is the Content-MD5 of what is sent, once the store has asked for a digest. That
// one every store knows, and unlike the newer checksums it needs not to be agreed on when
// an upload begins.
func (s *Store) digest(content []byte) *string {
	if !s.digests.Load() {
		return nil
	}
	sum := md5.Sum(content)
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// needsDigest notes that a write was refused for want of a digest, as buckets with Object
// Lock do, and tells whether another try with one may do better.
func (s *Store) needsDigest(err error) bool {
	if !wantsDigest(err) || s.checksum != aws.RequestChecksumCalculationWhenRequired {
		return false
	}
	s.digests.Store(true)
	return true
}

func wantsDigest(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "MissingContentMD5":
		return true
	case "InvalidRequest", "InvalidArgument":
		words := strings.ToLower(api.ErrorMessage())
		return strings.Contains(words, "content-md5") || strings.Contains(words, "x-amz-checksum")
	}
	return false
}
