package v1beta2

import (
	"fmt"
	"strings"
)

// BucketAndKey are the two parts of Path. Both are empty if it has no slash.
func (s *S3Source) BucketAndKey() (bucket, key string) {
	bucket, key, ok := strings.Cut(s.Path, "/")
	if !ok {
		return "", ""
	}
	return bucket, key
}

// BucketAndPrefix are the two parts of Prefix. Both are empty if it has no slash.
func (s *S3Source) BucketAndPrefix() (bucket, prefix string) {
	return (&S3Source{Path: s.Prefix}).BucketAndKey()
}

// EndpointURL is Endpoint with its scheme, which is https if it has none, or "" for
// AWS' own.
func (s *S3Source) EndpointURL() string {
	if s.Endpoint == "" || strings.Contains(s.Endpoint, "://") {
		return s.Endpoint
	}
	return "https://" + s.Endpoint
}

// ReadableSize writes a number of bytes for people: 512 B, 20.0 KiB, 1.5 GiB.
func ReadableSize(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, unit := float64(bytes)/1024, 0
	const units = "KMGTPE"
	// What would be shown as 1024.0 is shown as 1.0 of the next unit.
	for size >= 1023.95 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}
