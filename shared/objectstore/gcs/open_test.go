package gcs

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// mounted is a folder as a Secret is mounted.
func mounted(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// changed is a key of a service account with other fields.
func changed(t *testing.T, fields map[string]string) string {
	t.Helper()
	key := gcstest.Credentials(t)
	maps.Copy(key, fields)
	return gcstest.SecretDir(t, key)
}

// TestErrorsSayWhatToDo lists what users get wrong.
func TestErrorsSayWhatToDo(t *testing.T) {
	p := setup(t)
	good := p.settings
	answer := func(status int, reason string) *s3test.Fault {
		return &s3test.Fault{Times: 1, Do: gcstest.Answer(status, reason, "injected by a test")}
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		fault  *s3test.Fault
		want   objectstore.Reason
		words  string
	}{
		"no such bucket": {change: func(s *Settings) { s.Bucket = "nowhere" }, want: objectstore.BucketNotFound, words: "the bucket does not exist: create it"},
		"a wrong key":    {change: func(s *Settings) { s.SecretDir, s.Secret = gcstest.SecretDir(t, gcstest.OtherCredentials(t)), "google" }, want: objectstore.CredentialsInvalid, words: "credentials.json of Secret google"},
		"no key at all":  {change: func(s *Settings) { s.SecretDir = changed(t, map[string]string{"private_key": "x"}) }, want: objectstore.CredentialsInvalid, words: "private_key in PEM"},
		"a key that is cut": {change: func(s *Settings) {
			s.SecretDir = changed(t, map[string]string{"private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"})
		}, want: objectstore.CredentialsInvalid, words: "private_key in PEM"},
		"another service account": {change: func(s *Settings) {
			s.SecretDir = changed(t, map[string]string{"client_email": "other@project.iam.gserviceaccount.com"})
		}, want: objectstore.CredentialsInvalid, words: "credentials.json"},
		"no JSON":              {change: func(s *Settings) { s.SecretDir = mounted(t, map[string]string{"credentials.json": "AKIA"}) }, want: objectstore.CredentialsInvalid, words: "credentials.json is not JSON"},
		"an empty Secret":      {change: func(s *Settings) { s.SecretDir = t.TempDir() }, want: objectstore.CredentialsInvalid, words: "the Secret needs the key credentials.json or access-token"},
		"no bucket":            {change: func(s *Settings) { s.Bucket = "" }, want: objectstore.InvalidSettings, words: "bucket/object"},
		"no URL":               {change: func(s *Settings) { s.Endpoint = "ftp://x" }, want: objectstore.InvalidSettings, words: "gcs.endpoint"},
		"a URL with a path":    {change: func(s *Settings) { s.Endpoint += "/storage/v1" }, want: objectstore.InvalidSettings, words: "without a path"},
		"nobody there":         {change: func(s *Settings) { s.Endpoint = "http://127.0.0.1:1" }, want: objectstore.Unavailable, words: "endpoint"},
		"TLS where is none":    {change: func(s *Settings) { s.Endpoint = strings.Replace(good.Endpoint, "http:", "https:", 1) }, want: objectstore.TLSInvalid, words: "gcs.caSecret"},
		"a CA that is none":    {change: func(s *Settings) { s.CADir = mounted(t, map[string]string{"ca.crt": "x"}) }, want: objectstore.InvalidSettings, words: "gcs.caSecret"},
		"no right":             {fault: answer(http.StatusForbidden, "forbidden"), want: objectstore.AccessDenied, words: "roles/storage.objectUser"},
		"a policy":             {fault: answer(http.StatusForbidden, "retentionPolicyNotMet"), want: objectstore.AccessDenied, words: "a retention policy"},
		"a hold":               {fault: answer(http.StatusForbidden, "objectUnderActiveHold"), want: objectstore.AccessDenied, words: "release it"},
		"a perimeter":          {fault: answer(http.StatusForbidden, "vpcServiceControls"), want: objectstore.AccessDenied, words: "VPC Service Controls"},
		"no billing":           {fault: answer(http.StatusForbidden, "accountDisabled"), want: objectstore.AccessDenied, words: "billing"},
		"too often":            {fault: answer(http.StatusForbidden, "rateLimitExceeded"), want: objectstore.Unavailable, words: "rateLimitExceeded: injected by a test"},
		"too large":            {fault: answer(http.StatusRequestEntityTooLarge, "uploadTooLarge"), want: objectstore.TooLarge, words: "too large"},
		"a redirect":           {fault: answer(http.StatusTemporaryRedirect, ""), want: objectstore.InvalidSettings, words: "gcs.endpoint"},
		"a store that is ill":  {fault: &s3test.Fault{Times: quickRetries + 1, Do: gcstest.Answer(http.StatusServiceUnavailable, "backendError", "injected by a test")}, want: objectstore.Unavailable, words: "backendError: injected by a test"},
		"a store that says no": {fault: answer(http.StatusBadRequest, "invalid"), want: objectstore.InvalidSettings, words: "gcs.path"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			if c.change != nil {
				c.change(&s)
			}
			if c.fault != nil {
				p.proxy.Inject(*c.fault)
			}
			store, err := Open(t.Context(), s)
			if err == nil {
				_, err = store.ReadSmall(t.Context(), "key", 10)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %v that says %q", err, c.want, c.words)
			}
			for _, never := range []string{"s3", "aws", "\n", "-----", "AKIA", "upload_id"} {
				if strings.Contains(strings.ReplaceAll(err.Error(), "-----BEGIN CERTIFICATE-----", ""), never) {
					t.Errorf("%v says %q", err, never)
				}
			}
		})
	}
}

// TestOnlyKeysOfServiceAccounts holds that a Secret's JSON makes the agent read no file, run no
// program and ask no server.
func TestOnlyKeysOfServiceAccounts(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	for name, content := range map[string]string{
		"external_account":                 `"token_url": "%[1]s", "subject_token_type": "x", "credential_source": {"url": "%[1]s"}`,
		"external_account_authorized_user": `"token_url": "%[1]s", "refresh_token": "x", "client_id": "x", "client_secret": "x"`,
		"impersonated_service_account":     `"service_account_impersonation_url": "%[1]s", "source_credentials": {"type": "authorized_user"}`,
		"authorized_user":                  `"client_id": "x", "client_secret": "x", "refresh_token": "x", "token_uri": "%[1]s"`,
		"gdch_service_account":             `"token_uri": "%[1]s"`,
		"":                                 `"token_uri": "%[1]s"`,
	} {
		dir := mounted(t, map[string]string{"credentials.json": fmt.Sprintf(`{"type": %q, `+content+`}`, name, server.URL)})
		_, err := Open(t.Context(), Settings{Bucket: bucketName, SecretDir: dir})
		if !errors.Is(err, objectstore.CredentialsInvalid) || !strings.Contains(err.Error(), "only service_account is supported") {
			t.Errorf("%s: got %v, want %v", name, err, objectstore.CredentialsInvalid)
		}
	}
	key, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "x", "token_uri": server.URL, "private_key": gcstest.Credentials(t)["private_key"]})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := readKey(string(key)); err != nil || strings.Contains(string(kept), server.URL) {
		t.Errorf("%s is kept: %v", kept, err)
	}
	if asked > 0 {
		t.Errorf("a server was asked %d times", asked)
	}
}

// TestTokensStayAtGoogle holds that nobody but Google is shown a token that Google takes: an
// EtcdBackup names the endpoint and the CA, and its author is not who has the identity.
func TestTokensStayAtGoogle(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
	}))
	defer server.Close()
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if !strings.HasSuffix(r.URL.Path, "/token") || !strings.Contains(r.URL.RawQuery, "devstorage.read_write") {
			return
		}
		_, _ = w.Write([]byte(`{"access_token": "secret", "token_type": "Bearer", "expires_in": 3600}`))
	}))
	defer identity.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(identity.URL, "http://"))
	google := "https://storage.googleapis.com"
	ca := mounted(t, map[string]string{"ca.crt": certificate(server)})
	key, token := gcstest.SecretDir(t, gcstest.Credentials(t)), mounted(t, map[string]string{"access-token": "ya29.x\n"})
	for name, c := range map[string]struct {
		settings Settings
		words    string
	}{
		"another server":              {Settings{Endpoint: server.URL}, "only to https:// endpoints of Google"},
		"another server, a token":     {Settings{Endpoint: server.URL, SecretDir: token}, "only to https:// endpoints of Google"},
		"in the clear":                {Settings{Endpoint: "http://storage.googleapis.com"}, "is not Google's store"},
		"in the clear, a key":         {Settings{Endpoint: "http://storage.googleapis.com", SecretDir: key}, "is not Google's store"},
		"another of Google's, a key":  {Settings{Endpoint: "https://compute.googleapis.com", SecretDir: key}, "is not Google's store"},
		"another port":                {Settings{Endpoint: google + ":8443", SecretDir: key}, "is not Google's store"},
		"a name that looks alike":     {Settings{Endpoint: google + ".example.com"}, "only to https:// endpoints of Google"},
		"a name behind a user":        {Settings{Endpoint: google + "@example.com"}, "is not a URL"},
		"an ending alone":             {Settings{Endpoint: "https://storage.evilgoogleapis.com"}, "only to https:// endpoints of Google"},
		"a CA of the author's":        {Settings{Endpoint: google, CADir: ca}, "remove gcs.caSecret"},
		"a CA of the author's, a key": {Settings{SecretDir: key, CADir: ca}, "remove gcs.caSecret"},
		"a CA, a token":               {Settings{SecretDir: token, CADir: ca}, "remove gcs.caSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			c.settings.Bucket = bucketName
			if _, err := Open(t.Context(), c.settings); !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v that says %q", err, objectstore.InvalidSettings, c.words)
			}
		})
	}
	if asked > 0 {
		t.Errorf("a server was asked %d times", asked)
	}
	for name, settings := range map[string]Settings{
		"the identity": {}, "the identity, in a region": {Endpoint: "storage.europe-west3.rep.googleapis.com"},
		"a token": {SecretDir: token}, "a key": {SecretDir: key}, "a key, privately": {SecretDir: key, Endpoint: "https://storage-backups.p.googleapis.com"},
	} {
		settings.Bucket = bucketName
		if _, err := Open(t.Context(), settings); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUploadsStayAtTheStore holds that no request follows an upload's URL to another server.
func TestUploadsStayAtTheStore(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	p := setup(t)
	p.proxy.Inject(s3test.Fault{When: gcstest.IsBegin, Do: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Location", other.URL+"/upload/storage/v1/b/backups/o?upload_id=1")
	}})
	_, err := p.store.Put(t.Context(), "key", plain(content(2*chunkSize)), objectstore.PutOptions{})
	if !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), "set gcs.endpoint") || asked > 0 {
		t.Errorf("got %v, and %d requests; want %v", err, asked, objectstore.InvalidSettings)
	}
}

// TestRefusedTokens holds what is blamed for a token that is not given out or not taken.
func TestRefusedTokens(t *testing.T) {
	at := func(age time.Duration) http.Header {
		return http.Header{"Date": {time.Now().Add(-age).UTC().Format(http.TimeFormat)}}
	}
	exchange := func(status int, age time.Duration, body string) error {
		return &url.Error{Op: "Get", URL: "https://storage.googleapis.com", Err: &oauth2.RetrieveError{Response: &http.Response{StatusCode: status, Status: http.StatusText(status), Header: at(age)}, Body: []byte(body)}}
	}
	const skewed = `{"error": "invalid_grant", "error_description": "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."}`
	store := &Store{settings: Settings{Bucket: bucketName, SecretDir: "/secret", Secret: "google"}}
	for name, c := range map[string]struct {
		err   error
		want  objectstore.Reason
		words string
	}{
		"a key that was deleted": {exchange(http.StatusBadRequest, 0, `{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`), objectstore.CredentialsInvalid, "invalid_grant: Invalid JWT Signature."},
		"a clock":                {exchange(http.StatusBadRequest, time.Hour, skewed), objectstore.ClockSkewed, "1h0m"},
		"Google is ill":          {exchange(http.StatusServiceUnavailable, 0, "<html>"), objectstore.Unavailable, "Service Unavailable"},
		"a clock, at a store":    {&googleapi.Error{Code: http.StatusUnauthorized, Header: at(time.Hour)}, objectstore.ClockSkewed, "1h0m"},
		"a token, at a store":    {&googleapi.Error{Code: http.StatusUnauthorized, Header: at(0)}, objectstore.CredentialsInvalid, "Secret google"},
	} {
		err := store.fail("read", "key", c.err)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %v that says %q", name, err, c.want, c.words)
		}
	}
}

// certificate is that of a server, in PEM.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
