package clienttls

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestConfig: one and the same Config follows what is mounted, in both directions.
func TestConfig(t *testing.T) {
	old, next := etcdtest.NewCA(t, "old"), etcdtest.NewCA(t, "next")
	dir := t.TempDir()
	etcdtest.Mount(t, dir, old.Issue(t, "client").Files(old))
	config, err := Config(dir)
	if err != nil {
		t.Fatal(err)
	}
	ofOld := server(t, old, "localhost")
	elsewhere := server(t, old, "etcd.example.com")
	ofNext := server(t, next, "localhost")

	for _, step := range []struct {
		reason    string
		mounted   map[string][]byte // nil: as it was
		old, next bool
	}{
		{reason: "it trusts what is mounted, and is trusted", old: true},
		{reason: "it trusts both, and shows the new certificate", mounted: next.Issue(t, "client").Files(old, next), next: true},
		{reason: "it trusts both, and shows the old one", mounted: old.Issue(t, "client").Files(old, next), old: true},
		{reason: "it trusts the new one alone", mounted: next.Issue(t, "client").Files(next), next: true},
	} {
		if step.mounted != nil {
			etcdtest.Mount(t, dir, step.mounted)
		}
		if got := answers(config, ofOld); got != step.old {
			t.Errorf("%s: the old server answers: %t", step.reason, got)
		}
		if got := answers(config, ofNext); got != step.next {
			t.Errorf("%s: the new server answers: %t", step.reason, got)
		}
		if answers(config, elsewhere) {
			t.Errorf("%s: it takes a certificate for another name", step.reason)
		}
	}
}

func TestConfigWithoutSecret(t *testing.T) {
	if config, err := Config(""); config != nil || err != nil {
		t.Errorf("without a folder: %v, %v", config, err)
	}
	if _, err := Config(t.TempDir()); err == nil {
		t.Error("an empty folder is taken for a Secret")
	}
	a := etcdtest.NewCA(t, "a")
	files := a.Issue(t, "client").Files(a)
	files["ca.crt"] = []byte("nothing")
	dir := t.TempDir()
	etcdtest.Mount(t, dir, files)
	if _, err := Config(dir); err == nil {
		t.Error("it needs no CA")
	}
}

// server takes only clients of its CA.
func server(t *testing.T, a *etcdtest.CA, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = a.Issue(t, "server", name).Config(t, a)
	s.TLS.ClientCAs, s.TLS.ClientAuth = s.TLS.RootCAs, tls.RequireAndVerifyClientCert
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func answers(config *tls.Config, s *httptest.Server) bool {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Get(strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}
