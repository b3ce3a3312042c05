package tlsprobe

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestAt(t *testing.T) {
	ours, theirs := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "theirs")
	shown := ours.Issue(t, "server", "127.0.0.1")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = shown.Config(t, ours)
	s.TLS.MinVersion = tls.VersionTLS13
	s.TLS.ClientCAs, s.TLS.ClientAuth = s.TLS.RootCAs, tls.RequireAndVerifyClientCert
	s.StartTLS()
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()

	good, legacy, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	etcdtest.Mount(t, good, ours.Issue(t, "client").Files(ours))
	etcdtest.Mount(t, legacy, ours.Issue(t, "client").LegacyFiles("etcd-client", ours))
	etcdtest.Mount(t, foreign, theirs.Issue(t, "client").Files(ours))
	for _, dir := range []string{good, legacy} {
		got, err := Caller{Dir: dir}.At(t.Context(), address)
		if err != nil || got.Refused != "" || got.Issuer != "CN=ours" || got.Serial != shown.Serial {
			t.Errorf("with a certificate of the server's CA: %+v, %v", got, err)
		}
	}
	for dir, why := range map[string]string{"": "tls: certificate required", foreign: "tls: unknown certificate authority"} {
		for range 100 { // it is no matter of luck
			got, err := Caller{Dir: dir}.At(t.Context(), address)
			if err != nil || !strings.Contains(got.Refused, why) {
				t.Fatalf("with the certificate %q: %+v, %v, want %s", dir, got, err, why)
			}
		}
	}
	if got, err := (Caller{Clear: true}).At(t.Context(), address); err != nil || got.Refused == "" {
		t.Errorf("without TLS: %+v, %v", got, err)
	}
	if got, err := (Caller{Dir: good, TLS12: true}).At(t.Context(), address); err != nil || !strings.Contains(got.Refused, "protocol version not supported") {
		t.Errorf("by TLS 1.2: %+v, %v", got, err)
	}
	s.Close()
	if got, err := (Caller{Dir: good}).At(t.Context(), address); err == nil {
		t.Errorf("nobody listens, and that is taken for %+v", got)
	}
}
