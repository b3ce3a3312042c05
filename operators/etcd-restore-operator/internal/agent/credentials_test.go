package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// files are mounted in a folder.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// certificate is a Secret with a certificate of that common name.
func certificate(t *testing.T, commonName string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: commonName}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return files(t, map[string]string{
		"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
}

// enableAuth gives an etcd users, and enables authentication.
func enableAuth(t *testing.T, o *origin) {
	t.Helper()
	for user, role := range map[string]string{"root": "root", "admin": "root", "reader": "reading"} {
		if _, err := o.client.UserAdd(t.Context(), user, "of then"); err != nil {
			t.Fatal(err)
		}
		if role != "root" {
			if _, err := o.client.RoleAdd(t.Context(), role); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.client.UserGrantRole(t.Context(), user, role); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.client.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// databaseOf is the database that an etcd that was ended has, which its snapshots hold.
func databaseOf(t *testing.T, o *origin) []byte {
	t.Helper()
	o.process.Terminate()
	content, err := os.ReadFile(filepath.Join(o.member.Dir, "member", "snap", "db"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// mustNotBePrepared checks that a seed, too, refuses such a snapshot, before any member is
// stopped for it, and leaves nothing behind.
func mustNotBePrepared(t *testing.T, database []byte, c *task.Credentials, reason string) {
	t.Helper()
	tk := preparing(t, onVolume(t, database), etcdtest.NewMember(t, etcdtest.Newest(), "seed"), bump)
	tk.SkipHashCheck, tk.Credentials = true, c
	mustFail(t, tk, reason, "")
	if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
		t.Errorf("the volume holds %v", got)
	}
}

// What etcd-operator would be refused with is found before anything is stopped.
func TestCredentialsOfTheSnapshot(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		o := startOrigin(t, version)
		enableAuth(t, o)
		database := databaseOf(t, o)
		secret := func(content map[string]string) *task.Credentials {
			return &task.Credentials{Secret: "etcd-root", Dir: files(t, content)}
		}
		for name, tc := range map[string]struct {
			credentials   *task.Credentials
			reason, words string // empty: they are right
		}{
			"the password of then":          {secret(map[string]string{"username": "root", "password": "of then"}), "", ""},
			"without a username":            {secret(map[string]string{"password": "of then"}), "", ""},
			"another user with the role":    {secret(map[string]string{"username": "admin", "password": "of then"}), "", ""},
			"nobody is asked":               {nil, "", ""},
			"a certificate of root":         {&task.Credentials{CommonName: "root"}, "", ""},
			"a certificate of admin":        {&task.Credentials{TLSDir: certificate(t, "admin")}, "", ""},
			"a certificate, wrong password": {&task.Credentials{CommonName: "root", Secret: "etcd-root", Dir: files(t, map[string]string{"password": "of now"})}, "", ""},
			"another password":              {secret(map[string]string{"username": "root", "password": "of now"}), task.ReasonRootSecretInvalid, "has another password than Secret"},
			"another user":                  {secret(map[string]string{"username": "stranger", "password": "of then"}), task.ReasonRootSecretInvalid, "has no user of the name"},
			"a user without the role":       {secret(map[string]string{"username": "reader", "password": "of then"}), task.ReasonRootSecretInvalid, "has no role root"},
			"no password":                   {secret(map[string]string{"username": "root"}), task.ReasonRootSecretMissing, "has no key password"},
			"an empty password":             {secret(map[string]string{"username": "root", "password": ""}), task.ReasonRootSecretMissing, "has no key password"},
			"no Secret":                     {&task.Credentials{Secret: "etcd-root", Dir: filepath.Join(t.TempDir(), "none")}, task.ReasonRootSecretMissing, "does not exist"},
			"nothing":                       {&task.Credentials{}, task.ReasonRootSecretMissing, "has no spec.auth.rootSecret"},
			"a certificate of nobody":       {&task.Credentials{TLSDir: certificate(t, "nobody")}, task.ReasonRootSecretMissing, "common name"},
			"a certificate of a reader":     {&task.Credentials{TLSDir: certificate(t, "reader")}, task.ReasonRootSecretMissing, "common name"},
			"no certificate":                {&task.Credentials{TLSDir: t.TempDir()}, task.ReasonRootSecretMissing, "common name"},
		} {
			t.Run(name, func(t *testing.T) {
				tk := onVolume(t, database)
				tk.SkipHashCheck, tk.Credentials = true, tc.credentials
				if tc.reason != "" {
					mustFail(t, tk, tc.reason, tc.words)
					mustNotBePrepared(t, database, tc.credentials, tc.reason)
					_, result := carry(t.Context(), t, tk)
					for _, told := range []string{"of now", "of then", "reader", "stranger"} {
						if strings.Contains(result.Failure.Message, told) {
							t.Errorf("%q is told: %s", told, result.Failure.Message)
						}
					}
					return
				}
				if found := must(t, tk).Snapshot; !found.AuthEnabled {
					t.Errorf("found %+v", found)
				}
			})
		}
	})
	t.Run("not enabled", func(t *testing.T) {
		tk := onVolume(t, startOrigin(t, etcdtest.Newest()).content)
		tk.Credentials = &task.Credentials{}
		if code, result := carry(t.Context(), t, tk); code != agent.ExitDone || result.Snapshot.AuthEnabled {
			t.Errorf("got %+v", result)
		}
	})
}
