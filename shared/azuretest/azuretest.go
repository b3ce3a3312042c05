// Package azuretest runs a real server of Azure Blob Storage for tests: Azurite, which keeps
// all in its memory, on a port of its own, ended when the test ends. A proxy of package s3test
// before it is the bad network and the bad day of the store.
//
// The program is found through the variable AZURITE_BINARY. A test that needs it fails when
// it is not set: a test that silently does not run protects nothing.
package azuretest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// BinaryEnv names the program.
const BinaryEnv = "AZURITE_BINARY"

// Account and Key are those of every server. The key is no secret: every emulator has it.
const (
	Account = "devstoreaccount1"
	Key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Server is one that runs.
type Server struct {
	// Endpoint is the URL of the storage account.
	Endpoint string
	address  string
}

// Start starts a server without containers.
func Start(t testing.TB) *Server {
	t.Helper()
	binary := os.Getenv(BinaryEnv)
	if binary == "" {
		t.Fatalf("%s is not set: it must name the program azurite-blob (make test sets it, and make bin/azurite installs the program)", BinaryEnv)
	}
	addr := etcdtest.FreeAddrs(t, 1)[0]
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Start(t, nil, binary, "--blobPort", port, "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--silent")
	// It refuses who does not say who it is: then it serves.
	etcdtest.Eventually(t, "Azurite to serve", func() error { return etcdtest.CheckHTTP(addr, "/"+Account+"/none/none", http.StatusForbidden) })
	return &Server{Endpoint: "http://" + addr + "/" + Account, address: addr}
}

// NewProxy starts a proxy before the server, and returns it with the endpoint of the storage
// account behind it.
func (s *Server) NewProxy(t testing.TB) (*s3test.Proxy, string) {
	t.Helper()
	p := s3test.NewProxy(t, &s3test.Server{Endpoint: "http://" + s.address})
	return p, p.Endpoint + "/" + Account
}

// SecretDir makes a folder as a mounted Secret is.
func SecretDir(t testing.TB, account, key string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"storage-account": account, "storage-key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Container makes a container if there is none, and returns a client that speaks to the
// server directly, without any of our own code.
func (s *Server) Container(t testing.TB, name string) *container.Client {
	t.Helper()
	credential, err := blob.NewSharedKeyCredential(Account, Key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+name, credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// Put stores a blob.
func Put(t testing.TB, c *container.Client, key string, content []byte, options *blockblob.UploadOptions) {
	t.Helper()
	if _, err := c.NewBlockBlobClient(key).Upload(t.Context(), streaming.NopCloser(bytes.NewReader(content)), options); err != nil {
		t.Fatal(err)
	}
}

// Get reads a blob.
func Get(t testing.TB, c *container.Client, key string) []byte {
	t.Helper()
	out, err := c.NewBlobClient(key).DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	content, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Keys lists all blobs of a container, and those whose blocks nobody has committed with a
// mark behind their names.
func Keys(t testing.TB, c *container.Client) []string {
	t.Helper()
	keys := []string{}
	pages := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{UncommittedBlobs: true}})
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Segment.BlobItems {
			key := *b.Name
			blocks, err := c.NewBlockBlobClient(key).GetBlockList(t.Context(), blockblob.BlockListTypeUncommitted, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(blocks.UncommittedBlocks); n > 0 {
				key += fmt.Sprintf(" with %d uncommitted blocks", n)
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// Answer takes the request and answers with an error of Azure's in place of the server.
func Answer(status int, code string) s3test.Trouble {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the client is not cut instead
		w.Header().Set("Content-Type", "application/xml")
		if code != "" {
			w.Header().Set("x-ms-error-code", code)
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>injected by a test\nRequestId:1</Message></Error>", code)
		}
	}
}

// IsBlock chooses requests that store a block.
func IsBlock(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Get("comp") == "block"
}

// IsCommit chooses requests that commit blocks.
func IsCommit(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Get("comp") == "blocklist"
}

// IsPut chooses requests that store a blob at once.
func IsPut(r *http.Request) bool { return r.Method == http.MethodPut && !r.URL.Query().Has("comp") }
