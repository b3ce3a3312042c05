package abs

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/azuretest"
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

// TestErrorsSayWhatToDo lists what users get wrong.
func TestErrorsSayWhatToDo(t *testing.T) {
	_, proxy, good, _ := setup(t)
	wrong := base64.StdEncoding.EncodeToString([]byte("wrong"))
	answer := func(status int, code string) *s3test.Fault {
		return &s3test.Fault{Times: 1, Do: azuretest.Answer(status, code)}
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		fault  *s3test.Fault
		want   objectstore.Reason
		words  string
	}{
		"no such container": {change: func(s *Settings) { s.Container = "nowhere" }, want: objectstore.BucketNotFound, words: "the container does not exist: create it"},
		"a wrong key":       {change: func(s *Settings) { s.SecretDir, s.Secret = azuretest.SecretDir(t, azuretest.Account, wrong), "azure" }, want: objectstore.CredentialsInvalid, words: "storage-account and storage-key of Secret azure"},
		"no key at all":     {change: func(s *Settings) { s.SecretDir = azuretest.SecretDir(t, azuretest.Account, "no key!") }, want: objectstore.CredentialsInvalid, words: "storage-key is not the key"},
		"another account":   {change: func(s *Settings) { s.SecretDir = azuretest.SecretDir(t, "mine", azuretest.Key) }, want: objectstore.CredentialsInvalid, words: "storage-account"},
		"no account":        {change: func(s *Settings) { s.SecretDir = azuretest.SecretDir(t, "a/b", azuretest.Key) }, want: objectstore.CredentialsInvalid, words: "not the name of a storage account"},
		"an empty Secret":   {change: func(s *Settings) { s.SecretDir = t.TempDir() }, want: objectstore.CredentialsInvalid, words: "the Secret needs the keys storage-account and storage-key"},
		"an unknown cloud": {change: func(s *Settings) {
			s.SecretDir = mounted(t, map[string]string{"storage-account": "abc", "storage-key": azuretest.Key, "cloud": "AzureMoonCloud"})
		}, want: objectstore.InvalidSettings, words: "AzureChinaCloud"},
		"no container":         {change: func(s *Settings) { s.Container = "" }, want: objectstore.InvalidSettings, words: "container/blob"},
		"no URL":               {change: func(s *Settings) { s.Endpoint = "ftp://x" }, want: objectstore.InvalidSettings, words: "abs.endpoint"},
		"nobody there":         {change: func(s *Settings) { s.Endpoint = "http://127.0.0.1:1" }, want: objectstore.Unavailable, words: "endpoint"},
		"TLS where is none":    {change: func(s *Settings) { s.Endpoint = strings.Replace(good.Endpoint, "http:", "https:", 1) }, want: objectstore.TLSInvalid, words: "abs.caSecret"},
		"a CA that is none":    {change: func(s *Settings) { s.CADir = mounted(t, map[string]string{"ca.crt": "x"}) }, want: objectstore.InvalidSettings, words: "abs.caSecret"},
		"no right":             {fault: answer(http.StatusForbidden, "AuthorizationPermissionMismatch"), want: objectstore.AccessDenied, words: "Storage Blob Data Contributor"},
		"a firewall":           {fault: answer(http.StatusForbidden, "AuthorizationFailure"), want: objectstore.AccessDenied, words: "firewall"},
		"no keys are taken":    {fault: answer(http.StatusForbidden, "KeyBasedAuthenticationNotPermitted"), want: objectstore.CredentialsInvalid, words: "pod.serviceAccountName"},
		"an archive":           {fault: answer(http.StatusConflict, "BlobArchived"), want: objectstore.ObjectArchived, words: "set its tier to Hot or Cool"},
		"a policy":             {fault: answer(http.StatusConflict, "BlobImmutableDueToPolicy"), want: objectstore.AccessDenied, words: "immutability policy"},
		"a lease":              {fault: answer(http.StatusPreconditionFailed, "LeaseIdMissing"), want: objectstore.AccessDenied, words: "lease"},
		"too large":            {fault: answer(http.StatusRequestEntityTooLarge, "RequestBodyTooLarge"), want: objectstore.TooLarge, words: "too large"},
		"a redirect":           {fault: answer(http.StatusTemporaryRedirect, ""), want: objectstore.InvalidSettings, words: "abs.endpoint"},
		"a store that is ill":  {fault: &s3test.Fault{Times: quickRetries + 1, Do: azuretest.Answer(http.StatusServiceUnavailable, "ServerBusy")}, want: objectstore.Unavailable, words: "ServerBusy: injected by a test"},
		"a store that says no": {fault: answer(http.StatusBadRequest, "InvalidResourceName"), want: objectstore.InvalidSettings, words: "abs.path"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			if c.change != nil {
				c.change(&s)
			}
			if c.fault != nil {
				proxy.Inject(*c.fault)
			}
			store, err := Open(t.Context(), s)
			if err == nil {
				_, err = store.ReadSmall(t.Context(), "key", 10)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %v that says %q", err, c.want, c.words)
			}
			for _, never := range []string{"s3", "aws", "\n", "-----", azuretest.Key} {
				if strings.Contains(strings.ReplaceAll(err.Error(), "-----BEGIN CERTIFICATE-----", ""), never) {
					t.Errorf("%v says %q", err, never)
				}
			}
		})
	}
}

// TestClock holds that a clock is blamed for what Azure refuses because of it, with and
// without words in the answer.
func TestClock(t *testing.T) {
	skewed := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if skewed {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}
		azuretest.Answer(http.StatusForbidden, "AuthenticationFailed")(w, &http.Request{Body: http.NoBody}, nil)
	}))
	defer server.Close()
	store := open(t, Settings{Container: containerName, Endpoint: server.URL, SecretDir: azuretest.SecretDir(t, "mine", azuretest.Key)})
	_, head := store.Stat(t.Context(), "key")
	_, get := store.ReadSmall(t.Context(), "key", 10)
	for _, err := range []error{head, get} {
		if !errors.Is(err, objectstore.ClockSkewed) || !strings.Contains(err.Error(), "1h0m") || strings.Contains(err.Error(), "storage-key") {
			t.Errorf("got %v, want %v", err, objectstore.ClockSkewed)
		}
	}
	skewed = false
	if _, err := store.Stat(t.Context(), "key"); !errors.Is(err, objectstore.CredentialsInvalid) {
		t.Errorf("got %v, want %v", err, objectstore.CredentialsInvalid)
	}
}

// TestClouds holds where the accounts of a Secret are looked for.
func TestClouds(t *testing.T) {
	for cloud, want := range map[string]string{
		"":                       "https://mine.blob.core.windows.net/backups",
		"AzurePublicCloud":       "https://mine.blob.core.windows.net/backups",
		"AzureChinaCloud":        "https://mine.blob.core.chinacloudapi.cn/backups",
		"azureusgovernmentcloud": "https://mine.blob.core.usgovcloudapi.net/backups",
	} {
		dir := mounted(t, map[string]string{"storage-account": "mine\n", "storage-key": azuretest.Key + "\n", "cloud": cloud})
		if got := open(t, Settings{Container: containerName, SecretDir: dir}).client.URL(); got != want {
			t.Errorf("%q: %s, want %s", cloud, got, want)
		}
	}
}

// TestIdentityStaysInAzure holds that nobody but Azure is shown a token: an EtcdBackup names
// the endpoint and the CA, and its author is not who has the identity.
func TestIdentityStaysInAzure(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	t.Setenv("AZURE_TENANT_ID", "11111111-1111-1111-1111-111111111111")
	t.Setenv("AZURE_CLIENT_ID", "id")
	t.Setenv("AZURE_AUTHORITY_HOST", server.URL)
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", filepath.Join(mounted(t, map[string]string{"token": "jwt"}), "token"))
	azure := "https://mine.blob.core.windows.net"
	for name, c := range map[string]struct {
		settings Settings
		words    string
	}{
		"no endpoint":             {Settings{}, "set abs.endpoint"},
		"another server":          {Settings{Endpoint: server.URL}, "only to https:// endpoints of Azure"},
		"in the clear":            {Settings{Endpoint: "http://mine.blob.core.windows.net"}, "only to https:// endpoints of Azure"},
		"a name that looks alike": {Settings{Endpoint: "https://mine.blob.core.windows.net.example.com"}, "only to https:// endpoints of Azure"},
		"a name behind a user":    {Settings{Endpoint: "https://mine.blob.core.windows.net@example.com"}, "only to https:// endpoints of Azure"},
		"an ending alone":         {Settings{Endpoint: "https://evilblob.core.windows.net"}, "only to https:// endpoints of Azure"},
		"a CA of the author's":    {Settings{Endpoint: azure, CADir: mounted(t, map[string]string{"ca.crt": certificate(server)})}, "remove abs.caSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			c.settings.Container = containerName
			if _, err := Open(t.Context(), c.settings); !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v that says %q", err, objectstore.InvalidSettings, c.words)
			}
		})
	}
	if len(asked) > 0 {
		t.Errorf("a server was asked %d times", len(asked))
	}
	// No identity is no riddle either.
	t.Setenv("AZURE_CLIENT_ID", "")
	if _, err := Open(t.Context(), Settings{Container: containerName, Endpoint: azure}); !errors.Is(err, objectstore.CredentialsInvalid) || !strings.Contains(err.Error(), "abs.absSecret") {
		t.Errorf("got %v, want %v", err, objectstore.CredentialsInvalid)
	}
}

// certificate is that of a server, in PEM.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
