// Package gcstest runs a server of Google Cloud Storage for tests: fake-gcs-server, which keeps
// all in its memory, on a port of its own, ended when the test ends. Before it is a handler that
// adds what Google does and the fake does not: it takes requests with a valid token alone, keeps
// resumable uploads apart from objects, and says what is not there. A proxy of package s3test
// before that is the bad network and the bad day of the store.
//
// The program is found through the variable FAKEGCS_BINARY. A test that needs it fails when
// it is not set: a test that silently does not run protects nothing.
package gcstest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// BinaryEnv names the program.
const BinaryEnv = "FAKEGCS_BINARY"

// Server is one that runs.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// fake is the URL of the fake itself, which asks nobody who they are.
	fake    string
	handler *handler
}

// Start starts a server without buckets.
func Start(t testing.TB) *Server {
	t.Helper()
	binary := os.Getenv(BinaryEnv)
	if binary == "" {
		t.Fatalf("%s is not set: it must name the program fake-gcs-server (make test sets it, and make bin/fakegcs builds the program)", BinaryEnv)
	}
	addr := etcdtest.FreeAddrs(t, 1)[0]
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Start(t, nil, binary, "-backend", "memory", "-scheme", "http", "-host", host, "-port", port, "-public-host", host, "-log-level", "error")
	etcdtest.Eventually(t, "fake-gcs-server to serve", func() error { return etcdtest.CheckHTTP(addr, "/_internal/healthcheck", http.StatusOK) })
	s := &Server{fake: "http://" + addr, handler: newHandler(addr)}
	server := httptest.NewServer(s.handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.Endpoint = server.URL
	return s
}

// NewProxy starts a proxy before the server.
func (s *Server) NewProxy(t testing.TB) *s3test.Proxy {
	t.Helper()
	return s3test.NewProxy(t, &s3test.Server{Endpoint: s.Endpoint})
}

// Uploads is how many resumable uploads were begun, and neither ended nor cancelled.
func (s *Server) Uploads() int { return s.handler.uploads() }

// Bucket makes a bucket, and returns a client that speaks to the server directly, without any
// of our own code.
func (s *Server) Bucket(t testing.TB, name string) *storage.BucketHandle {
	t.Helper()
	client, err := storage.NewClient(t.Context(), option.WithEndpoint(s.fake+"/storage/v1/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	bucket := client.Bucket(name)
	if err := bucket.Create(t.Context(), "project", nil); err != nil {
		t.Fatal(err)
	}
	return bucket
}

// Put stores an object.
func Put(t testing.TB, b *storage.BucketHandle, key string, content []byte) {
	t.Helper()
	w := b.Object(key).NewWriter(t.Context())
	w.ChunkSize = 0 // at once
	_, err := w.Write(content)
	if closing := w.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
}

// Get reads an object.
func Get(t testing.TB, b *storage.BucketHandle, key string) []byte {
	t.Helper()
	r, err := b.Object(key).NewReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was only read
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Keys lists all objects of a bucket.
func Keys(t testing.TB, b *storage.BucketHandle) []string {
	t.Helper()
	keys := []string{}
	objects := b.Objects(t.Context(), nil)
	for {
		o, err := objects.Next()
		if errors.Is(err, iterator.Done) {
			return keys
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Name)
	}
}

// account is the service account that every server knows.
const account = "backups@project.iam.gserviceaccount.com"

var privateKey = sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// Credentials is the key of the service account that every server knows, in JSON.
func Credentials(t testing.TB) map[string]string { return credentials(t, privateKey()) }

// OtherCredentials is a key that no server knows.
func OtherCredentials(t testing.TB) map[string]string { return credentials(t, newKey()) }

func credentials(t testing.TB, key *rsa.PrivateKey) map[string]string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"type": "service_account", "project_id": "project", "client_email": account, "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri":   "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
	}
}

// SecretDir makes a folder as a Secret with the key of a service account is mounted.
func SecretDir(t testing.TB, credentials map[string]string) string {
	t.Helper()
	content, err := json.Marshal(credentials)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "credentials.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Answer takes the request and answers with an error of Google's in place of the server.
func Answer(status int, reason, message string) s3test.Trouble {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the client is not cut instead
		refuse(w, r, status, reason, message)
	}
}

// refuse answers with an error, in JSON or to who reads an object in XML.
func refuse(w http.ResponseWriter, r *http.Request, status int, reason, message string) {
	if isRead(r) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>", reason, message)
		return
	}
	type item struct {
		Message string `json:"message"`
		Domain  string `json:"domain"`
		Reason  string `json:"reason"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "errors": []item{{message, "global", reason}},
	}}) // the client may be gone
}

// isRead tells whether a request reads an object, which the SDK does by Google's XML API.
func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet && !slices.Contains([]string{"storage", "upload", "download"}, firstOf(r.URL.Path))
}

// IsRead chooses requests that read an object.
func IsRead(r *http.Request) bool { return isRead(r) }

// IsBegin chooses requests that begin a resumable upload.
func IsBegin(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Get("uploadType") == "resumable" && !r.URL.Query().Has("upload_id")
}

// IsChunk chooses requests that send a chunk other than the last.
func IsChunk(r *http.Request) bool {
	return isSession(r) && r.Method != http.MethodDelete && isOpen(r)
}

// IsLast chooses requests that send the last chunk.
func IsLast(r *http.Request) bool {
	return isSession(r) && r.Method != http.MethodDelete && !isOpen(r)
}

// IsCancel chooses requests that cancel a resumable upload.
func IsCancel(r *http.Request) bool { return isSession(r) && r.Method == http.MethodDelete }

// IsPut chooses requests that store an object at once.
func IsPut(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Get("uploadType") == "multipart"
}
