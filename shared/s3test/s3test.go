// Package s3test runs a real S3 server for tests: versitygw, which stores into a
// folder of the test, on a port of its own, ended when the test ends. A [Proxy] before
// it is the bad network and the bad day of the store.
//
// The program is found through the variable S3_SERVER_BINARY. A test that needs it
// fails when it is not set: a test that silently does not run protects nothing.
package s3test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// BinaryEnv names the program.
const BinaryEnv = "S3_SERVER_BINARY"

// Region is the server's.
const Region = "us-east-1"

// Server is one that runs.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// AccessKey and SecretKey may do anything.
	AccessKey, SecretKey string
	// Client speaks to the server directly, without any of our own code.
	Client *s3.Client
}

// Start starts a server without buckets.
func Start(t testing.TB) *Server {
	t.Helper()
	binary := os.Getenv(BinaryEnv)
	if binary == "" {
		t.Fatalf("%s is not set: it must name the program versitygw (make test sets it; e2e/localkube builds the program)", BinaryEnv)
	}
	addr := etcdtest.FreeAddrs(t, 1)[0]
	s := &Server{Endpoint: "http://" + addr, AccessKey: "test-access", SecretKey: "test-secret"}
	dir := t.TempDir()
	folders := map[string]string{}
	for _, name := range []string{"buckets", "metadata"} {
		folders[name] = filepath.Join(dir, name)
		if err := os.Mkdir(folders[name], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	etcdtest.Start(t, nil, binary,
		"--port="+addr, "--region="+Region, "--access="+s.AccessKey, "--secret="+s.SecretKey,
		"--virtual-domain="+Domain, "--health=/health", "--keep-alive", "--quiet",
		// Metadata in files: not every file system of a temporary folder has
		// extended attributes.
		"posix", "--sidecar="+folders["metadata"], folders["buckets"])
	etcdtest.Eventually(t, "the S3 server to serve", func() error { return etcdtest.CheckHTTP(addr, "/health", http.StatusOK) })
	s.Client = s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint), Region: Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
	})
	return s
}

// Bucket makes a bucket.
func (s *Server) Bucket(t testing.TB, name string) {
	t.Helper()
	if _, err := s.Client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
}

// SecretDir makes a folder as a mounted Secret is, with the server's credentials.
func (s *Server) SecretDir(t testing.TB) string {
	t.Helper()
	return SecretDir(t, s.AccessKey, s.SecretKey)
}

// SecretDir makes a folder as a mounted Secret is, with the keys credentials and
// config.
func SecretDir(t testing.TB, access, secret string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"credentials": fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", access, secret),
		"config":      fmt.Sprintf("[default]\nregion = %s\n", Region),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Keys lists all objects of a bucket.
func (s *Server) Keys(t testing.TB, bucket string) []string {
	t.Helper()
	keys := []string{}
	pages := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

// Uploads lists the multipart uploads of a bucket that have neither been completed
// nor aborted, by their keys.
func (s *Server) Uploads(t testing.TB, bucket string) []string {
	t.Helper()
	keys := []string{}
	out, err := s.Client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range out.Uploads {
		keys = append(keys, *u.Key)
	}
	return keys
}

// host is host:port of a URL.
func host(t testing.TB, endpoint string) string {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		t.Fatal(err)
	}
	return u.Host
}
