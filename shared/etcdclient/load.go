package etcdclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tlsLayouts are the names of the keys of a client's TLS Secret: the predecessor's, and
// those of kubernetes.io/tls.
var tlsLayouts = []struct{ cert, key, ca string }{
	{"etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"},
	{"tls.crt", "tls.key", "ca.crt"},
}

// ErrNoCertificate is returned by [LoadTLS] for a Secret that has neither layout.
var ErrNoCertificate = errors.New("it has neither the keys etcd-client.crt, etcd-client.key and etcd-client-ca.crt nor tls.crt, tls.key and ca.crt")

// TLSError says what is wrong with keys of a client's TLS Secret. It tells nothing of
// what is in them.
type TLSError struct {
	// Keys are the names of the Secret's keys to be corrected, in words.
	Keys string
	Err  error
}

func (e *TLSError) Error() string { return fmt.Sprintf("%s: %v", e.Keys, e.Err) }

// Unwrap is what is wrong.
func (e *TLSError) Unwrap() error { return e.Err }

// LoadTLS reads a client's TLS Secret that is mounted at dir, in either layout. Without
// CAs in it, the system's are trusted. The error is [ErrNoCertificate] or a
// [*TLSError].
func LoadTLS(dir string) (*tls.Config, error) {
	for _, l := range tlsLayouts {
		if _, err := os.Stat(filepath.Join(dir, l.cert)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, l.cert), filepath.Join(dir, l.key))
		if err != nil {
			return nil, &TLSError{l.cert + " and " + l.key, err}
		}
		config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		ca, err := os.ReadFile(filepath.Join(dir, l.ca))
		if errors.Is(err, fs.ErrNotExist) {
			return config, nil
		}
		if err != nil {
			return nil, &TLSError{l.ca, err}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, &TLSError{l.ca, errors.New("it holds no certificate in PEM")}
		}
		return config, nil
	}
	return nil, ErrNoCertificate
}
