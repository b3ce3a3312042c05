package gcs

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Settings say which bucket is meant, and who asks.
type Settings struct {
	Bucket string
	// Endpoint is the URL of the store, https:// where it names no scheme; empty: Google's.
	Endpoint string
	// SecretDir is a folder with the file credentials.json, the key of a service account,
	// or access-token. Empty: the workload identity of the Pod's ServiceAccount.
	SecretDir string
	// Secret is the name of the Secret in SecretDir, for what a person is told.
	Secret string
	// CADir is a folder of which every file holds certificates of CAs, in PEM: only they
	// are trusted to sign the store's. Empty: the system's.
	CADir string

	// Stall is how long a request may make no progress; 0: objectstore.DefaultStall.
	Stall time.Duration
	// MaxBackoff is the longest pause before a request is tried again; 0:
	// DefaultMaxBackoff.
	MaxBackoff time.Duration
}

const (
	// retries and DefaultMaxBackoff are of one request. Together they bridge a store's
	// restart: the pauses are random up to 1 s, 2 s, 4 s, and so on to 20 s.
	retries           = 8
	firstPause        = time.Second
	DefaultMaxBackoff = 20 * time.Second
	// quickRetries are for the first requests, which find out whether the store is there
	// at all.
	quickRetries = 2
	// defaultEndpoint is Google's own.
	defaultEndpoint = "https://storage.googleapis.com"
	// apiPath is that of the JSON API below an endpoint.
	apiPath = "/storage/v1/"
)

// source is the field of a spec that tells of the place.
const source = "gcs"

// Store is one bucket. It implements objectstore.Store.
type Store struct {
	settings Settings
	bucket   *storage.BucketHandle
	client   *http.Client
}

// Open finds credentials. It sends nothing to the store.
func Open(ctx context.Context, settings Settings) (*Store, error) {
	s := &Store{settings: settings}
	if err := s.open(ctx); err != nil {
		return nil, s.fail("open", "", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.settings.Bucket == "" {
		return invalid("the path has no bucket: set gcs.path to bucket/object")
	}
	endpoint, err := parseEndpoint(cmp.Or(s.settings.Endpoint, defaultEndpoint))
	if err != nil {
		return err
	}
	t, err := objectstore.NewTransport(s.settings.CADir, source)
	if err != nil {
		return err
	}
	watched := &objectstore.Watched{Send: t.RoundTrip, Stall: s.settings.Stall}
	tokens, err := s.tokens(ctx, endpoint, watched)
	if err != nil {
		return err
	}
	s.client = &http.Client{Transport: &transport{endpoint: endpoint, tokens: tokens, send: watched}, CheckRedirect: stay}
	client, err := storage.NewClient(ctx, option.WithHTTPClient(s.client), option.WithoutAuthentication(),
		option.WithEndpoint(endpoint.JoinPath(apiPath).String()), option.WithUserAgent("etcd-operators"))
	if err != nil {
		return err
	}
	client.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithErrorFunc(isPassing), storage.WithMaxAttempts(retries+1),
		storage.WithBackoff(gax.Backoff{Initial: min(firstPause, s.maxBackoff()), Max: s.maxBackoff(), Multiplier: 2}))
	s.bucket = client.Bucket(s.settings.Bucket)
	return nil
}

func (s *Store) maxBackoff() time.Duration { return cmp.Or(s.settings.MaxBackoff, DefaultMaxBackoff) }

// stay follows no redirect: no request is taken elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func parseEndpoint(endpoint string) (*url.URL, error) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
		return nil, invalid("gcs.endpoint %q is not a URL without a path: set a URL such as https://storage.googleapis.com", endpoint)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// googleDomain is Google's own: no one else gets a certificate of a public CA for its names.
const googleDomain = ".googleapis.com"

// googleHost is the pattern of the hosts of Google's store: its own, those of regions, and
// those of Private Service Connect
// (https://docs.cloud.google.com/storage/docs/regional-endpoints).
var googleHost = regexp.MustCompile(`^storage([-.][-a-z0-9]+)*\.googleapis\.com$`)

// isGoogle tells whether a URL is that of Google's store, whose servers may see a token.
func isGoogle(u *url.URL) bool {
	return u.Scheme == "https" && u.User == nil && (u.Port() == "" || u.Port() == "443") && googleHost.MatchString(strings.ToLower(u.Hostname()))
}

// passing are the statuses of what may pass by itself.
var passing = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// object is one of the bucket.
func (s *Store) object(key string) *storage.ObjectHandle { return s.bucket.Object(key) }

// quick is for requests that come first: a store that isn't there shows soon.
func (s *Store) quick(key string) *storage.ObjectHandle {
	return s.object(key).Retryer(storage.WithMaxAttempts(quickRetries + 1))
}

// URL implements objectstore.Store.
func (s *Store) URL(key string) string {
	return v1beta2.StorageGCS.Scheme() + s.settings.Bucket + "/" + key
}

// invalid is what is wrong with the settings.
func invalid(format string, args ...any) error {
	return objectstore.Because(objectstore.InvalidSettings, fmt.Errorf(format, args...))
}

// isStatus tells whether an answer has one of these statuses.
func isStatus(err error, statuses ...int) bool {
	answer := answerOf(err)
	return answer != nil && slices.Contains(statuses, answer.Code)
}
