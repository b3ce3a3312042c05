package s3

import (
	"crypto/tls"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// privateName is a name that nobody but a proxy can resolve (RFC 6761).
const privateName = "s3.private.test"

// secure is a server behind TLS with a certificate of a CA of its own.
func secure(t *testing.T) (*s3test.Server, *s3test.Proxy, *etcdtest.CA) {
	t.Helper()
	server := s3test.Start(t)
	server.Bucket(t, bucket)
	ca := etcdtest.NewCA(t, "private")
	leaf := ca.Issue(t, "s3", "127.0.0.1", privateName)
	pair, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	return server, s3test.NewSecureProxy(t, server, pair), ca
}

// mounted makes a folder as a kubelet does.
func mounted(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	etcdtest.Mount(t, dir, files)
	return dir
}

func TestPrivateCA(t *testing.T) {
	server, proxy, ca := secure(t)
	another := etcdtest.NewCA(t, "another")
	// withBundle is a Secret with ca_bundle in its config, as the predecessor's users have.
	withBundle := func(bundle string, more map[string][]byte) string {
		files := map[string][]byte{
			"credentials": []byte("[default]\naws_access_key_id = " + server.AccessKey + "\naws_secret_access_key = " + server.SecretKey + "\n"),
			"config":      []byte("[default]\nregion = us-east-1\nca_bundle = " + bundle + "\n"),
		}
		for name, content := range more {
			files[name] = content
		}
		return mounted(t, files)
	}
	elsewhere := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(elsewhere, ca.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		caDir, secretDir string
		want             objectstore.Reason // empty: it works
		words            string
	}{
		"nobody says which":          {want: objectstore.TLSInvalid, words: "s3.caSecret"},
		"a Secret":                   {caDir: mounted(t, map[string][]byte{"ca.crt": ca.PEM})},
		"a ConfigMap of several":     {caDir: mounted(t, map[string][]byte{"a.crt": another.PEM, "bundle.pem": ca.PEM})},
		"another CA":                 {caDir: mounted(t, map[string][]byte{"ca.crt": another.PEM}), want: objectstore.TLSInvalid, words: "private CA"},
		"an empty Secret":            {caDir: mounted(t, nil), want: objectstore.InvalidSettings, words: "key ca.crt"},
		"no PEM":                     {caDir: mounted(t, map[string][]byte{"ca.crt": []byte("x")}), want: objectstore.InvalidSettings, words: "BEGIN CERTIFICATE"},
		"ca_bundle: a key":           {secretDir: withBundle("ca.pem", map[string][]byte{"ca.pem": ca.PEM})},
		"ca_bundle: from a laptop":   {secretDir: withBundle("/home/me/.aws/ca.pem", map[string][]byte{"ca.pem": ca.PEM})},
		"ca_bundle: in the Pod":      {secretDir: withBundle(elsewhere, nil), want: objectstore.InvalidSettings, words: "add the key ca.pem"},
		"ca_bundle: nowhere":         {secretDir: withBundle("/home/me/.aws/ca.pem", nil), want: objectstore.InvalidSettings, words: "add the key ca.pem"},
		"ca_bundle: of no PEM":       {secretDir: withBundle("ca.pem", map[string][]byte{"ca.pem": []byte("x")}), want: objectstore.InvalidSettings, words: "BEGIN CERTIFICATE"},
		"the field before ca_bundle": {secretDir: withBundle("none.pem", nil), caDir: mounted(t, map[string][]byte{"ca.crt": ca.PEM})},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(t, server, proxy.Endpoint)
			s.CADir = c.caDir
			if c.secretDir != "" {
				s.SecretDir = c.secretDir
			}
			store, err := Open(t.Context(), s)
			if err == nil {
				_, err = store.Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{})
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words)):
				t.Errorf("got %v, want %v and words of %q", err, c.want, c.words)
			}
			if err != nil && strings.Contains(err.Error(), server.SecretKey) {
				t.Errorf("the secret key is in %q", err)
			}
		})
	}
}

// The environment of the proxy is read once by a process, so each case is one.
const (
	childEnv      = "OBJECTSTORE_TEST_ENDPOINT"
	childSecret   = "OBJECTSTORE_TEST_SECRET_DIR"
	childCA       = "OBJECTSTORE_TEST_CA_DIR"
	childIsStored = "the child has stored it"
)

// TestProxyChild stores an object from an environment of its own, for TestProxy.
func TestProxyChild(t *testing.T) {
	endpoint := os.Getenv(childEnv)
	if endpoint == "" {
		return // TestProxy runs it
	}
	store := open(t, Settings{Bucket: bucket, Endpoint: endpoint, ForcePathStyle: true, SecretDir: os.Getenv(childSecret), CADir: os.Getenv(childCA)})
	want := content(smallPart + 1)
	if _, err := store.Put(t.Context(), "key", plain(want), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Log(childIsStored)
}

// TestProxy stores through a proxy that alone knows where the store is.
func TestProxy(t *testing.T) {
	server, front, ca := secure(t)
	caDir := mounted(t, map[string][]byte{"ca.crt": ca.PEM})
	for name, c := range map[string]struct {
		env   func(url string) []string
		fails bool
	}{
		"HTTPS_PROXY":   {env: func(url string) []string { return []string{"HTTPS_PROXY=" + url} }},
		"https_proxy":   {env: func(url string) []string { return []string{"https_proxy=" + url} }},
		"NO_PROXY":      {env: func(url string) []string { return []string{"HTTPS_PROXY=" + url, "NO_PROXY=.private.test"} }, fails: true},
		"without proxy": {env: func(string) []string { return nil }, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			tunnel := s3test.NewTunnel(t, front.Endpoint)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyChild$", "-test.v")
			// Nothing of a proxy that the tests themselves are run behind.
			child.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, childEnv+"=https://"+privateName, childSecret+"="+server.SecretDir(t), childCA+"="+caDir)
			child.Env = append(child.Env, c.env(tunnel.URL)...)
			out, err := child.CombinedOutput()
			stored := err == nil && strings.Contains(string(out), childIsStored)
			asked := tunnel.Asked()
			if c.fails {
				if stored || len(asked) > 0 {
					t.Errorf("stored %t by %v, want neither:\n%s", stored, asked, out)
				}
				return
			}
			if !stored || !slices.Equal(asked, []string{privateName + ":443"}) {
				t.Errorf("stored %t by way of %v (%v), want the store alone:\n%s", stored, asked, err, out)
			}
		})
	}
	check(t, server, "key", content(smallPart+1))
}
