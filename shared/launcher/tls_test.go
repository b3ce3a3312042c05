package launcher

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// secret mounts the files of a Secret and returns etcd's flags for it, as a Pod has them.
func secret(t *testing.T, files map[string][]byte) (dir string, flags []string) {
	t.Helper()
	dir = t.TempDir()
	etcdtest.Mount(t, dir, files)
	either := func(one, other string) string { return filepath.Join(dir, one) + Or + filepath.Join(dir, other) }
	return dir, []string{
		"etcd", "--name=a|b",
		"--peer-cert-file=" + either("peer.crt", "tls.crt"),
		"--peer-key-file=" + either("peer.key", "tls.key"),
		"--peer-trusted-ca-file=" + either("peer-ca.crt", "ca.crt"),
		"--peer-client-cert-auth",
	}
}

func TestPlace(t *testing.T) {
	a := etcdtest.NewCA(t, "a")
	leaf := a.Issue(t, "m")
	for name, row := range map[string]struct {
		files map[string][]byte
		want  [3]string
	}{
		"the predecessor's keys":        {leaf.LegacyFiles("peer", a), [3]string{"peer.crt", "peer.key", "peer-ca.crt"}},
		"the keys of kubernetes.io/tls": {leaf.Files(a), [3]string{"tls.crt", "tls.key", "ca.crt"}},
	} {
		dir, argv := secret(t, row.files)
		before := slices.Clone(argv)
		got, err := place(argv)
		want := []string{
			"etcd", "--name=a|b",
			"--peer-cert-file=" + filepath.Join(dir, row.want[0]), "--peer-key-file=" + filepath.Join(dir, row.want[1]),
			"--peer-trusted-ca-file=" + filepath.Join(dir, row.want[2]), "--peer-client-cert-auth",
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
		if diff := cmp.Diff(before, argv); diff != "" {
			t.Errorf("%s: the command was changed:\n%s", name, diff)
		}
	}
	_, argv := secret(t, map[string][]byte{"tls.crt": leaf.Cert, "tls.key": leaf.Key})
	_, err := place(argv)
	if err == nil {
		t.Fatal("a Secret without CAs will do")
	}
	for _, word := range []string{"--peer-trusted-ca-file", "peer-ca.crt", "/ca.crt", "add the key"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %s", err, word)
		}
	}
	if config := peerTLS(argv); config != nil {
		t.Error("peers are asked by TLS without CAs")
	}
	if config := peerTLS([]string{"etcd", "--name=m"}); config != nil {
		t.Error("peers are asked by TLS though there is none")
	}
}

// An etcd that listens shakes hands by TLS, long before it serves.
func TestAnswersByTLS(t *testing.T) {
	ours := etcdtest.NewCA(t, "ours")
	leaf := ours.Issue(t, "m", "127.0.0.1")
	_, argv := secret(t, leaf.Files(ours))
	config := peerTLS(argv)
	if config == nil {
		t.Fatal("no config")
	}
	demanding := leaf.Config(t, ours)
	demanding.ClientCAs, demanding.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	demanding.ClientCAs.AppendCertsFromPEM(ours.PEM)

	serves := httptest.NewUnstartedServer(http.NotFoundHandler())
	serves.TLS = demanding
	serves.StartTLS()
	defer serves.Close()
	if !answers(within(t), serves.URL, config) {
		t.Error("a member that serves is taken for one that does not")
	}
	if answers(within(t), serves.URL, nil) {
		t.Error("a complaint about a certificate is taken for an answer")
	}

	l, err := tls.Listen("tcp", "127.0.0.1:0", demanding)
	if err != nil {
		t.Fatal(err)
	}
	shaken := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			shaken <- err
			return
		}
		shaken <- conn.(*tls.Conn).Handshake()
		<-t.Context().Done()
		conn.Close()
	}()
	if answers(within(t), "https://"+l.Addr().String(), config) {
		t.Error("a member that only listens is taken for one that serves")
	}
	l.Close()
	if err := <-shaken; err != nil {
		t.Errorf("shake hands: %v", err)
	}
}

func TestNobodyIsServedInTheClear(t *testing.T) {
	for scheme, want := range map[string]string{
		"http": "--listen-client-urls=http://127.0.0.1:0", "https": "--listen-client-urls=https://127.0.0.1:0",
	} {
		if got := toNobody([]string{"etcd", "--listen-client-urls=" + scheme + "://0.0.0.0:2379"}); got != want {
			t.Errorf("%s: %s, want %s", scheme, got, want)
		}
	}
}

// Each etcd gets the variable by the name that it knows, and no other: 3.6 does not start
// with both.
func TestEnvironment(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		bin := etcdtest.Binary(t, version)
		env, err := environment(within(t), bin, Checks{}, slog.Default())
		if diff := cmp.Diff(os.Environ(), env); diff != "" || err != nil {
			t.Errorf("without the variable: %v %s", err, diff)
		}
		t.Setenv(EnvSkipPeerSAN, "true")
		env, err = environment(within(t), bin, Checks{}, slog.Default())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range env {
			if name, value, _ := strings.Cut(e, "="); strings.Contains(name, "PEER_SKIP") {
				names = append(names, name)
				if value != "true" {
					t.Errorf("%s is %q", name, value)
				}
			}
		}
		want := EnvSkipPeerSAN
		if strings.HasPrefix(version, "3.5.") {
			want = envSkipPeerSANBefore
		}
		if !slices.Equal(names, []string{want}) {
			t.Errorf("it gets %v, want %s", names, want)
		}
	})
	t.Setenv(EnvSkipPeerSAN, "true")
	if _, err := environment(within(t), "/bin/true", Checks{}, slog.Default()); err == nil {
		t.Error("what says no version has one")
	}
	if _, err := environment(within(t), filepath.Join(t.TempDir(), "etcd"), Checks{}, slog.Default()); err == nil {
		t.Error("a program that is not there has a version")
	}
}
