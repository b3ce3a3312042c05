package gcs

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// The keys of a Secret for Google, which are coreos/etcd-operator's.
const (
	credentialsKey = "credentials.json"
	tokenKey       = "access-token"
)

const (
	// scope is what a token is asked for: objects, and not the rights to buckets.
	scope = "https://www.googleapis.com/auth/devstorage.read_write"
	// credentialsTimeout bounds the search for credentials, which asks Google.
	credentialsTimeout = 30 * time.Second
	// serviceAccount is the only type of credentials that is taken: all others have others
	// found for them, in files, at servers or by programs that they name.
	serviceAccount = "service_account"
)

// tokens finds who asks. A token of Google's is of use wherever its service account has
// rights, to whoever is shown it: so it goes to Google alone. A server of another's gets one
// that it alone can take for valid, as it would get a signature in another store.
func (s *Store) tokens(ctx context.Context, endpoint *url.URL, send http.RoundTripper) (oauth2.TokenSource, error) {
	host := strings.ToLower(endpoint.Hostname())
	if strings.HasSuffix(host, googleDomain) {
		if !isGoogle(endpoint) {
			return nil, invalid("%s://%s is not Google's store: set gcs.endpoint to one like https://storage.googleapis.com, or remove it", endpoint.Scheme, endpoint.Host)
		}
		if s.settings.CADir != "" {
			return nil, invalid("Google's store has a certificate of a public CA, and no other is trusted there: remove gcs.caSecret, or set gcs.endpoint to a store of your own")
		}
	}
	if s.settings.SecretDir == "" {
		if !isGoogle(endpoint) {
			return nil, invalid("the Pod's identity is sent only to https:// endpoints of Google, and %s://%s is none: remove gcs.endpoint, or name a Secret with credentials.json in gcs.gcpSecret", endpoint.Scheme, endpoint.Host)
		}
		return identity(ctx)
	}
	secret, err := readSecret(s.settings.SecretDir)
	switch {
	case err != nil:
		return nil, err
	case secret.token != "" && !isGoogle(endpoint):
		return nil, invalid("an access token is sent only to https:// endpoints of Google, and %s://%s is none: remove gcs.endpoint, or write credentials.json into %s", endpoint.Scheme, endpoint.Host, s.secretName())
	case secret.token != "":
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret.token}), nil
	case !isGoogle(endpoint):
		return google.JWTAccessTokenSourceFromJSON(secret.key, endpoint.JoinPath(apiPath).String())
	}
	config, err := google.JWTConfigFromJSON(secret.key, scope)
	if err != nil {
		return nil, err
	}
	config.TokenURL = google.JWTTokenURL // and not the Secret's
	client := &http.Client{Transport: send, CheckRedirect: stay, Timeout: credentialsTimeout}
	return config.TokenSource(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client)), nil
}

// identity is that of the Pod's ServiceAccount, by the metadata server of GKE.
func identity(ctx context.Context) (oauth2.TokenSource, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	if !metadata.OnGCEWithContext(ctx) {
		return nil, objectstore.Because(objectstore.CredentialsInvalid, errors.New("there are none: no Secret is named, and the Pod has no workload identity"))
	}
	tokens := google.ComputeTokenSource("", scope)
	if _, err := tokens.Token(); err != nil {
		return nil, fmt.Errorf("find credentials: %w", err)
	}
	return tokens, nil
}

// secret is what a Secret says: a token, or else the JSON of a service account's key with
// nothing in it but what is needed.
type secret struct {
	token string
	key   []byte
}

func readSecret(dir string) (secret, error) {
	values := map[string]string{}
	for _, name := range []string{tokenKey, credentialsKey} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return secret{}, bad("%w", err)
		}
		values[name] = strings.TrimSpace(string(content))
	}
	switch {
	case strings.ContainsFunc(values[tokenKey], func(r rune) bool { return r <= ' ' || r > '~' }):
		return secret{}, bad("%s is not an access token: write the output of gcloud auth print-access-token", tokenKey)
	case values[tokenKey] != "":
		return secret{token: values[tokenKey]}, nil
	case values[credentialsKey] == "":
		return secret{}, bad("the Secret needs the key %s or %s, or does not exist", credentialsKey, tokenKey)
	}
	key, err := readKey(values[credentialsKey])
	return secret{key: key}, err
}

// readKey takes the key of a service account out of its JSON, and nothing else.
func readKey(content string) ([]byte, error) {
	var key struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
	}
	if err := json.Unmarshal([]byte(content), &key); err != nil {
		return nil, bad("%s is not JSON: write the key of a service account, as gcloud iam service-accounts keys create writes it", credentialsKey) // the error would tell of the content
	}
	if key.Type != serviceAccount {
		return nil, bad("%s has the type %.40q, and only service_account is supported: write the key of a service account, or name a ServiceAccount with a workload identity in pod.serviceAccountName", credentialsKey, key.Type)
	}
	block, _ := pem.Decode([]byte(key.PrivateKey))
	if key.ClientEmail == "" || block == nil || !isKey(block.Bytes) {
		return nil, bad("%s lacks client_email or a private_key in PEM: write the key of a service account, as gcloud iam service-accounts keys create writes it", credentialsKey)
	}
	return json.Marshal(key)
}

func isKey(der []byte) bool {
	_, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		_, err = x509.ParsePKCS1PrivateKey(der)
	}
	return err == nil
}

// bad is what is wrong with the credentials.
func bad(format string, args ...any) error {
	return objectstore.Because(objectstore.CredentialsInvalid, fmt.Errorf(format, args...))
}

// secretName is how a person is told of the Secret.
func (s *Store) secretName() string {
	if s.settings.Secret == "" {
		return "the Secret that gcs.gcpSecret names"
	}
	return "Secret " + s.settings.Secret
}

// credentialsAdvice says what to correct where the store refuses the credentials.
func (s *Store) credentialsAdvice() string {
	if s.settings.SecretDir == "" {
		return "the credentials are not valid: correct the workload identity of the Pod's ServiceAccount (pod.serviceAccountName), or name a Secret with credentials.json in gcs.gcpSecret"
	}
	return "the credentials are not valid: correct the key " + credentialsKey + " of " + s.secretName() + ", or " + tokenKey + ", which is valid for an hour"
}
