package etcdclient

import (
	"bytes"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A Secret of either layout is read, and what is wrong with one is told without what is
// in it.
func TestLoadTLS(t *testing.T) {
	a := etcdtest.NewCA(t, "a")
	leaf, other := a.Issue(t, "root"), a.Issue(t, "root")
	without := func(files map[string][]byte, key string) map[string][]byte {
		delete(files, key)
		return files
	}
	with := func(files map[string][]byte, key string, content []byte) map[string][]byte {
		files[key] = content
		return files
	}
	for name, row := range map[string]struct {
		files map[string][]byte
		// keys are those that the error is about; empty if there is none, and - if there
		// is no certificate at all.
		keys string
		// roots is false if the system's CAs are trusted.
		roots bool
	}{
		"the predecessor's":           {files: leaf.LegacyFiles("etcd-client", a), roots: true},
		"kubernetes.io/tls":           {files: leaf.Files(a), roots: true},
		"no CAs":                      {files: without(leaf.Files(a), "ca.crt")},
		"no CAs, predecessor's":       {files: without(leaf.LegacyFiles("etcd-client", a), "etcd-client-ca.crt")},
		"nothing":                     {keys: "-"},
		"a key without a certificate": {files: without(leaf.Files(a), "tls.crt"), keys: "-"},
		"a certificate without a key": {files: without(leaf.Files(a), "tls.key"), keys: "tls.crt and tls.key"},
		"another's key":               {files: with(leaf.LegacyFiles("etcd-client", a), "etcd-client.key", other.Key), keys: "etcd-client.crt and etcd-client.key"},
		"no PEM":                      {files: with(leaf.Files(a), "tls.crt", []byte("secret")), keys: "tls.crt and tls.key"},
		"CAs that are none":           {files: with(leaf.Files(a), "ca.crt", []byte("secret")), keys: "ca.crt"},
	} {
		dir := t.TempDir()
		etcdtest.Mount(t, dir, row.files)
		config, err := LoadTLS(dir)
		parsed, parseErr := ParseTLS(row.files)
		if (parsed == nil) != (config == nil) || parseErr == nil && (parsed.RootCAs != nil) != row.roots {
			t.Errorf("%s: parsed from memory: %v, want as from the folder: %v", name, parseErr, err)
		}
		var told *TLSError
		if errors.As(parseErr, &told) && told.Keys != row.keys {
			t.Errorf("%s: parsed from memory: %v, want an error about %s", name, parseErr, row.keys)
		}
		var wrong *TLSError
		switch {
		case row.keys == "-":
			if !errors.Is(err, ErrNoCertificate) {
				t.Errorf("%s: %v, want ErrNoCertificate", name, err)
			}
		case row.keys != "":
			if !errors.As(err, &wrong) || wrong.Keys != row.keys {
				t.Errorf("%s: %v, want an error about %s", name, err, row.keys)
				continue
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("%s: %q tells what is in the Secret", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if (config.RootCAs != nil) != row.roots || config.MinVersion != tls.VersionTLS12 {
				t.Errorf("%s: %+v", name, config)
			}
			pair, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
			if err != nil || !bytes.Equal(config.Certificates[0].Certificate[0], pair.Certificate[0]) {
				t.Errorf("%s: it is another certificate (%v)", name, err)
			}
		}
	}
}
