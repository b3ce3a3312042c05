package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// scripted is a store that answers as AWS is documented to, where no server that runs
// in a test does.
func scripted(t *testing.T, handle http.HandlerFunc) *Store {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return open(t, Settings{
		Bucket: bucket, Endpoint: server.URL, ForcePathStyle: true, Stall: time.Second, MaxBackoff: 10 * time.Millisecond,
		SecretDir: s3test.SecretDir(t, "key", "secret"),
	})
}

// refuse answers with an S3 error.
func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>said by a test</Message></Error>", code)
	}
}

// TestRefusalsNameTheirTrueCause holds messages against what each answer means.
func TestRefusalsNameTheirTrueCause(t *testing.T) {
	hourAgo := func() string { return time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		handle    http.HandlerFunc
		want      objectstore.Reason
		words     []string
		never     []string
		permanent bool
	}{
		"a clock that is ahead": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", hourAgo())
				refuse(w, r, http.StatusForbidden, "RequestTimeTooSkewed")
			},
			want: objectstore.ClockSkewed, words: []string{"the clock of the Pod's node is 1h0m", "ahead of the store's", "NTP"}, never: []string{"aws_access_key_id"},
		},
		"a clock, and a store that does not tell its own": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Date"] = nil
				refuse(w, r, http.StatusForbidden, "RequestTimeTooSkewed")
			},
			want: objectstore.ClockSkewed, words: []string{"the node's clock", "NTP"}, never: []string{"aws_access_key_id"},
		},
		"an object in the archive": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				refuse(w, r, http.StatusForbidden, "InvalidObjectState")
			},
			want: objectstore.ObjectArchived, words: []string{"restore it from the archive first"}, never: []string{"s3:GetObject", "access denied"}, permanent: true,
		},
		"another region, named at once": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("x-amz-bucket-region", "eu-central-1")
				refuse(w, r, http.StatusMovedPermanently, "PermanentRedirect")
			},
			want: objectstore.InvalidSettings, words: []string{"set s3.region: eu-central-1"}, permanent: true,
		},
		"another region, named when it is asked for": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead && strings.Trim(r.URL.Path, "/") == bucket {
					w.Header().Set("x-amz-bucket-region", "ap-south-1")
				}
				refuse(w, r, http.StatusMovedPermanently, "PermanentRedirect")
			},
			want: objectstore.InvalidSettings, words: []string{"set s3.region: ap-south-1"}, permanent: true,
		},
		"a signature for another region": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.Header().Set("x-amz-bucket-region", "sa-east-1")
				}
				refuse(w, r, http.StatusBadRequest, "AuthorizationHeaderMalformed")
			},
			want: objectstore.InvalidSettings, words: []string{"set s3.region: sa-east-1"}, permanent: true,
		},
		"another region that nobody names": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				refuse(w, r, http.StatusMovedPermanently, "PermanentRedirect")
			},
			want: objectstore.InvalidSettings, words: []string{"correct s3.region"}, permanent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted(t, c.handle).Get(t.Context(), "key", "")
			var e *objectstore.Error
			if !errors.Is(err, c.want) || !errors.As(err, &e) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			for _, words := range c.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			for _, words := range c.never {
				if strings.Contains(err.Error(), words) {
					t.Errorf("%q says %q, which is not the cause", err, words)
				}
			}
			if e.Permanent() != c.permanent {
				t.Errorf("permanent %t, want %t", e.Permanent(), c.permanent)
			}
		})
	}
}

// TestRegion holds what the API says of s3.region against what is done: us-east-1 is
// only for stores with an endpoint of their own.
func TestRegion(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	_, err := Open(t.Context(), Settings{Bucket: bucket})
	if !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), "set s3.region") {
		t.Errorf("AWS without a region: got %v, want %v that says to set s3.region", err, objectstore.InvalidSettings)
	}
	if s := open(t, Settings{Bucket: bucket, Endpoint: "https://s3.example.com"}); s.client.Options().Region != DefaultRegion {
		t.Errorf("the region is %s, want %s", s.client.Options().Region, DefaultRegion)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	if s := open(t, Settings{Bucket: bucket}); s.client.Options().Region != "eu-west-1" {
		t.Errorf("the region is %s, want the environment's", s.client.Options().Region)
	}
}

// TestSignedHeaders looks at the signatures of real requests. Google's S3 interface
// rewrites Accept-Encoding before it checks them, and then refuses with
// SignatureDoesNotMatch (https://github.com/aws/aws-sdk-go-v2/issues/1816).
func TestSignedHeaders(t *testing.T) {
	seen := make(chan *http.Request, 100)
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		// A server that answers before it has read a part resets the connection.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		switch {
		case s3test.IsBegin(r):
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
		case s3test.IsComplete(r):
			fmt.Fprint(w, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
		default:
			w.Header().Set("ETag", "x")
		}
	})
	if _, err := store.Put(t.Context(), "small", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), "large", plain(content(smallPart+1)), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), "key", "")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, err := store.Stat(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Delete(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	close(seen)
	requests := 0
	for r := range seen {
		requests++
		authorization := r.Header.Get("Authorization")
		_, signed, ok := strings.Cut(authorization, "SignedHeaders=")
		if !ok || strings.Contains(signed, "accept-encoding") {
			t.Errorf("%s %s is signed with %q", r.Method, r.URL, authorization)
		}
		// Nothing may be packed on its way: sizes and offsets are those of the object.
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("%s %s takes the encoding %q, want identity", r.Method, r.URL, got)
		}
	}
	if requests < 8 {
		t.Errorf("%d requests were seen, want at least 8", requests)
	}
}
