package s3test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// WantDigest lets those requests pass that carry a digest of their body, and refuses all
// others in the words in which AWS does for a bucket with Object Lock
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock-managing.html). A
// Content-MD5 that is not that of the body is refused, too.
func WantDigest(w http.ResponseWriter, r *http.Request, forth http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	answer := func(code, message string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
	sum := md5.Sum(body)
	switch got := r.Header.Get("Content-MD5"); {
	case got != "" && got != base64.StdEncoding.EncodeToString(sum[:]):
		answer("BadDigest", "The Content-MD5 you specified did not match what we received.")
		return
	case got == "" && !HasChecksum(r):
		answer("InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	forth.ServeHTTP(w, r)
}

// HasChecksum tells whether a request has one of the newer checksums, as a header or
// behind its body.
func HasChecksum(r *http.Request) bool {
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum-Crc") || strings.HasPrefix(name, "X-Amz-Checksum-Sha") {
			return true
		}
		if name == "X-Amz-Trailer" && strings.HasPrefix(strings.Join(values, ","), "x-amz-checksum-") {
			return true
		}
	}
	return false
}
