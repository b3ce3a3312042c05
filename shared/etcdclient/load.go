package etcdclient

import (
	"cmp"
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
	return parseTLS(func(key string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, key)) })
}

// ParseTLS is [LoadTLS] of the keys of a client's TLS Secret that are in memory.
func ParseTLS(data map[string][]byte) (*tls.Config, error) {
	return parseTLS(func(key string) ([]byte, error) {
		content, ok := data[key]
		if !ok {
			return nil, &fs.PathError{Op: "read", Path: key, Err: fs.ErrNotExist}
		}
		return content, nil
	})
}

// TLSKeys are the names of the keys under which a client's TLS Secret has the certificate, its
// private key, and the CAs; empty if it has neither layout.
func TLSKeys(data map[string][]byte) (cert, key, ca string) {
	for _, l := range tlsLayouts {
		if _, ok := data[l.cert]; ok {
			return l.cert, l.key, l.ca
		}
	}
	return "", "", ""
}

// parseTLS reads the keys of a client's TLS Secret. Read returns [fs.ErrNotExist] for one that
// it does not have.
func parseTLS(read func(key string) ([]byte, error)) (*tls.Config, error) {
	for _, l := range tlsLayouts {
		certPEM, err := read(l.cert)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		keyPEM, keyErr := read(l.key)
		if err := cmp.Or(err, keyErr); err != nil {
			return nil, &TLSError{l.cert + " and " + l.key, err}
		}
		cert, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			return nil, &TLSError{l.cert + " and " + l.key, err}
		}
		config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		ca, err := read(l.ca)
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
