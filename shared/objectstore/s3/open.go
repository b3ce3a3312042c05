package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Settings say which bucket of which store is meant, and who asks.
type Settings struct {
	// OSS says that the store is Alibaba Cloud OSS, whose endpoints, credentials and fields
	// have other names.
	OSS    bool
	Bucket string
	// Endpoint is the URL of the store, https:// where it names no scheme; empty:
	// AWS, or what the environment says.
	Endpoint string
	// Region is empty if the Secret's config or the environment says it. A store
	// with an endpoint of its own often has none: then it is DefaultRegion.
	Region string
	// ForcePathStyle puts the bucket into the path of URLs, not before the host.
	ForcePathStyle bool
	// SecretDir is a folder with the files credentials and config in AWS's INI
	// format, of which the profile default is used. It holds keys, and may name roles
	// that are assumed with them; what reaches outside of it is refused. Empty: the SDK's
	// default chain (environment, web identity, container, instance).
	SecretDir string
	// Secret is the name of the Secret in SecretDir, for what a person is told.
	Secret string

	// CADir is a folder of which every file holds certificates of CAs, in PEM: only they
	// are trusted to sign the store's, and nobody else's. Empty: those that ca_bundle of
	// the Secret's config names, else the system's.
	CADir string

	// StorageClass, ServerSideEncryption and KMSKeyID are for the objects that are
	// written. Empty: the bucket's own.
	StorageClass, ServerSideEncryption, KMSKeyID string
	// Tags are given to the objects that are written, from the first moment on.
	Tags map[string]string
	// Checksums says with which uploads a checksum is sent. Empty: as the Secret's config
	// or the environment says, else ChecksumsWhenRequired.
	Checksums Checksums

	// Stall is how long a request may make no progress; 0: objectstore.DefaultStall.
	Stall time.Duration
	// MaxBackoff is the longest pause before a request is tried again; 0:
	// DefaultMaxBackoff.
	MaxBackoff time.Duration
}

const (
	// DefaultRegion is what most stores other than AWS take requests to be signed for.
	DefaultRegion = "us-east-1"
	// completeStall is for the request that puts an upload's parts together: AWS
	// documents that it may take minutes, and others copy the parts.
	completeStall = 15 * time.Minute
	// attempts and DefaultMaxBackoff are of one request. Together they bridge a
	// store's restart: pauses of up to 1 s, 2 s, 4 s, ... are half a minute on average.
	attempts          = 7
	DefaultMaxBackoff = 20 * time.Second
	// quickAttempts are for the first requests, which find out whether the store is
	// there at all.
	quickAttempts = 3
	// credentialsTimeout bounds the search for credentials, which may ask servers.
	credentialsTimeout = 30 * time.Second
)

// profile is the one of an INI file that is used, as the predecessor did.
const profile = "default"

// Store is one bucket. It implements objectstore.Store.
type Store struct {
	settings Settings
	client   *s3.Client
	checksum aws.RequestChecksumCalculation
	// digests is true once the store has refused a write for want of a digest.
	digests atomic.Bool
}

// Open finds credentials and region. It sends nothing to the store.
func Open(ctx context.Context, settings Settings) (*Store, error) {
	s := &Store{settings: settings}
	if settings.Bucket == "" {
		return nil, s.refuse(objectstore.InvalidSettings, "the path has no bucket: set it to bucket/key")
	}
	configure := s.configure
	if settings.OSS {
		configure = s.configureOSS
	}
	cfg, err := configure(ctx)
	if err != nil {
		return nil, s.fail("open", "", err)
	}
	if err := checkCredentials(ctx, cfg); err != nil {
		return nil, s.fail("open", "", objectstore.Because(objectstore.CredentialsInvalid, err))
	}
	// Around what the configuration made of it, which may hold CA certificates.
	cfg.HTTPClient = &objectstore.Watched{Send: cfg.HTTPClient.Do, Stall: settings.Stall}
	s.client = s3.NewFromConfig(cfg, s.options)
	return s, nil
}

// configure finds the SDK's configuration for AWS and stores that speak its protocol.
func (s *Store) configure(ctx context.Context) (aws.Config, error) {
	settings := s.settings
	secret, err := settings.secret(ctx)
	if err != nil {
		return aws.Config{}, err
	}
	pem, err := settings.trustedCAs(secret)
	if err != nil {
		return aws.Config{}, err
	}
	cfg, err := config.LoadDefaultConfig(ctx, loadOptions(settings, secret, pem)...)
	if err != nil {
		return cfg, objectstore.Because(objectstore.CredentialsInvalid, err)
	}
	if cfg.Region == "" && settings.Endpoint == "" && cfg.BaseEndpoint == nil {
		return cfg, s.refuse(objectstore.InvalidSettings, "no region is known, and AWS has buckets in many: set s3.region, or region under [default] in the Secret's config")
	}
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if s.checksum, err = settings.checksums(cfg); err != nil {
		return cfg, objectstore.Because(objectstore.InvalidSettings, err)
	}
	if pem != nil {
		cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(tune, trust(pem))
	}
	return cfg, nil
}

// Bucket is the name of the bucket.
func (s *Store) Bucket() string { return s.settings.Bucket }

// URL implements objectstore.Store.
func (s *Store) URL(key string) string {
	return s.settings.kind().Scheme() + s.settings.Bucket + "/" + key
}

func (s Settings) kind() v1beta2.StorageType {
	if s.OSS {
		return v1beta2.StorageOSS
	}
	return v1beta2.StorageS3
}

// loadOptions are those of the SDK. The CAs of a Secret are trusted where its keys are used;
// those that stand alone are for the store, not for servers that are shown who the Pod is.
func loadOptions(s Settings, secret *secret, pem []byte) []func(*config.LoadOptions) error {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(tune)),
		config.WithEndpointCredentialOptions(direct),
		config.WithLogger(logging.Nop{}), // errors are returned, with words
	}
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if secret == nil {
		return options
	}
	if pem != nil { // else the SDK reads what ca_bundle names, wherever that is
		options = append(options, config.WithCustomCABundle(bytes.NewReader(pem)))
	}
	return append(options,
		// A profile that is named comes before the environment.
		config.WithSharedConfigProfile(profile),
		// Not nil: that stands for the files in the home folder.
		config.WithSharedCredentialsFiles(append([]string{}, secret.files["credentials"]...)),
		config.WithSharedConfigFiles(append([]string{}, secret.files["config"]...)),
		config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
	)
}

// direct asks the server of a container's credentials without a proxy: it is asked in the
// clear, and told who the Pod is.
func direct(o *endpointcreds.Options) {
	o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.Proxy = nil })
}

// tune bounds what idle connections hold of memory and keeps as many as Put uses.
func tune(t *http.Transport) {
	t.MaxIdleConnsPerHost = buffers
	t.ReadBufferSize = 16 << 10
	t.WriteBufferSize = 32 << 10
}

// trust lets nobody but these CAs sign a server's certificate.
func trust(pem []byte) func(*http.Transport) {
	return func(t *http.Transport) {
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) // trustedCAs has tried it
	}
}

func (s *Store) options(o *s3.Options) {
	if endpoint := s.settings.Endpoint; endpoint != "" {
		if !strings.Contains(endpoint, "://") {
			endpoint = "https://" + endpoint
		}
		o.BaseEndpoint = aws.String(endpoint)
	}
	o.UsePathStyle = s.settings.ForcePathStyle
	o.RequestChecksumCalculation = s.checksum
	// Ceph and others don't know the newer checksums.
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.APIOptions = append(o.APIOptions, unsignedEncoding)
	o.Retryer = s.settings.retryer(attempts)
}

// retryer tries a request again that was cut, stalled, throttled or answered with a
// server's error.
func (s Settings) retryer(attempts int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.MaxBackoff = DefaultMaxBackoff
		if s.MaxBackoff > 0 {
			o.MaxBackoff = s.MaxBackoff
		}
		o.RateLimiter = ratelimit.None // attempts are few enough
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(distrust)}, o.Retryables...)
		o.Retryables = append(o.Retryables, retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}})
	})
}

// quick is for requests that come first: a store that isn't there shows soon.
func (s *Store) quick(o *s3.Options) { o.Retryer = s.settings.retryer(quickAttempts) }

// distrust says that a certificate is no better the next time.
func distrust(err error) aws.Ternary {
	if objectstore.Untrusted(err) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

func checkCredentials(ctx context.Context, cfg aws.Config) error {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	if cfg.Credentials == nil {
		return errors.New("there are none")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("find credentials: %w", err)
	}
	return nil
}
