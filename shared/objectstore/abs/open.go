package abs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Settings say which container of which storage account is meant, and who asks.
type Settings struct {
	Container string
	// Endpoint is the URL of the storage account, https:// where it names no scheme; empty:
	// that of the account and the cloud that the Secret names.
	Endpoint string
	// SecretDir is a folder with the files storage-account, storage-key and, if it is not
	// the public one, cloud. Empty: the workload identity of the Pod's ServiceAccount.
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
	// restart: pauses of 1 s, 3 s, 7 s, 15 s and 20 s.
	retries           = 6
	firstPause        = time.Second
	DefaultMaxBackoff = 20 * time.Second
	// quickRetries are for the first requests, which find out whether the store is there
	// at all.
	quickRetries = 2
	// credentialsTimeout bounds the search for credentials, which asks Microsoft Entra ID.
	credentialsTimeout = 30 * time.Second
	// scope is what a token is asked for: the data of storage accounts.
	scope = "https://storage.azure.com/.default"
	// commitStall is for the request that puts an upload's blocks together.
	commitStall = 5 * time.Minute
)

// source is the field of a spec that tells of the place.
const source = "abs"

// Store is one container. It implements objectstore.Store.
type Store struct {
	settings Settings
	client   *container.Client
}

// Open finds credentials and the storage account. It sends nothing to the store.
func Open(ctx context.Context, settings Settings) (*Store, error) {
	s := &Store{settings: settings}
	if settings.Container == "" {
		return nil, s.refuse(objectstore.InvalidSettings, "the path has no container: set abs.path to container/blob")
	}
	transport, err := objectstore.NewTransport(settings.CADir, source)
	if err != nil {
		return nil, s.fail("open", "", err)
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		// The transport itself, not a client: no redirect takes a request elsewhere.
		Transport: &objectstore.Watched{Send: transport.RoundTrip, Stall: settings.Stall},
		Retry:     settings.retry(retries),
		Telemetry: policy.TelemetryOptions{ApplicationID: "etcd-operators"},
	}}
	if settings.SecretDir != "" {
		err = s.withKey(options)
	} else {
		err = s.withIdentity(ctx, options)
	}
	if err != nil {
		return nil, s.fail("open", "", err)
	}
	return s, nil
}

// withKey reaches the store by the account key of the Secret. What is sent is a signature, so
// that the endpoint can be anywhere.
func (s *Store) withKey(options *container.ClientOptions) error {
	secret, err := readSecret(s.settings.SecretDir)
	if err != nil {
		return err
	}
	endpoint := s.settings.Endpoint
	if endpoint == "" {
		endpoint = "https://" + secret.account + ".blob." + secret.domain
	}
	credential, err := blob.NewSharedKeyCredential(secret.account, secret.key)
	if err != nil {
		return objectstore.Because(objectstore.CredentialsInvalid, fmt.Errorf("%s is not the key of a storage account: %w", keyKey, err))
	}
	at, err := s.url(endpoint)
	if err != nil {
		return err
	}
	s.client, err = container.NewClientWithSharedKeyCredential(at.String(), credential, options)
	return err
}

// azureHosts are the ends of the names of storage accounts. Their servers are Azure's, and
// a token that they are shown reaches nobody else
// (https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-endpoints).
var azureHosts = []string{".blob.core.windows.net", ".blob.storage.azure.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn"}

// identityVariables are what Azure's webhook gives to a Pod with an identity.
var identityVariables = []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"}

// withIdentity reaches the store by a token of the Pod's identity. Whoever is shown it can
// use it for every storage account that the identity may use: so it goes to Azure alone.
func (s *Store) withIdentity(ctx context.Context, options *container.ClientOptions) error {
	if s.settings.Endpoint == "" {
		return objectstore.Because(objectstore.InvalidSettings, errors.New("no storage account is known: set abs.endpoint to one like https://myaccount.blob.core.windows.net, or name a Secret with storage-account and storage-key in abs.absSecret"))
	}
	at, err := s.url(s.settings.Endpoint)
	if err != nil {
		return err
	}
	if at.Scheme != "https" || !slices.ContainsFunc(azureHosts, func(end string) bool { return strings.HasSuffix(strings.ToLower(at.Hostname()), end) }) {
		return objectstore.Because(objectstore.InvalidSettings, fmt.Errorf("the Pod's identity is sent only to https:// endpoints of Azure, and %s://%s is none: set abs.endpoint to one like https://myaccount.blob.core.windows.net, or name a Secret with storage-account and storage-key in abs.absSecret", at.Scheme, at.Host))
	}
	if s.settings.CADir != "" {
		return objectstore.Because(objectstore.InvalidSettings, errors.New("the Pod's identity is sent only to servers that a public CA vouches for: remove abs.caSecret, or name a Secret with storage-account and storage-key in abs.absSecret"))
	}
	credential, err := azidentity.NewWorkloadIdentityCredential(nil)
	if err != nil || slices.ContainsFunc(identityVariables, func(name string) bool { return os.Getenv(name) == "" }) {
		return objectstore.Because(objectstore.CredentialsInvalid, errors.New("there are none: no Secret is named, and the Pod has no workload identity"))
	}
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	if _, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}}); err != nil {
		return fmt.Errorf("find credentials: %w", err)
	}
	s.client, err = container.NewClient(at.String(), credential, options)
	return err
}

// url is that of the container.
func (s *Store) url(endpoint string) (*url.URL, error) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, objectstore.Because(objectstore.InvalidSettings, fmt.Errorf("abs.endpoint %q is not a URL: set a URL such as https://myaccount.blob.core.windows.net", endpoint))
	}
	return u.JoinPath(s.settings.Container), nil
}

// retry tries a request again that was cut, stalled, throttled or answered with a server's
// error.
func (s Settings) retry(times int32) policy.RetryOptions {
	most := s.MaxBackoff
	if most == 0 {
		most = DefaultMaxBackoff
	}
	return policy.RetryOptions{
		MaxRetries: times, RetryDelay: min(firstPause, most), MaxRetryDelay: most,
		ShouldRetry: func(answer *http.Response, err error) bool {
			if err != nil {
				return !objectstore.Untrusted(err) // a certificate is no better the next time
			}
			return slices.Contains(passing, answer.StatusCode)
		},
	}
}

// passing are the statuses of what may pass by itself.
var passing = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// quick is for requests that come first: a store that isn't there shows soon.
func (s *Store) quick(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, s.settings.retry(quickRetries))
}

// URL implements objectstore.Store.
func (s *Store) URL(key string) string {
	return v1beta2.StorageABS.Scheme() + s.settings.Container + "/" + key
}
