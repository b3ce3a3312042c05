// Package clienttls is TLS as an application should have it: with a certificate and
// CAs that are read from a mounted Secret at every handshake, so that a change of
// either needs no restart.
package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Config is how a client connects that has a Secret mounted at dir, with tls.crt, tls.key
// and ca.crt; nil, which is plain text, without dir. The Secret must be there, and good,
// now.
func Config(dir string) (*tls.Config, error) {
	if dir == "" {
		return nil, nil
	}
	if _, err := certificate(dir); err != nil {
		return nil, err
	}
	if _, err := trustedCAs(dir); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate(dir) },
		// crypto/tls knows one set of CAs for all handshakes: VerifyConnection
		// does what this leaves out, with those of now.
		InsecureSkipVerify: true,
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(dir, s) },
	}, nil
}

// certificate reads certificate and key, both from the same version of the Secret.
func certificate(dir string) (*tls.Certificate, error) {
	path, err := filepath.EvalSymlinks(filepath.Join(dir, "tls.crt"))
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(path, filepath.Join(filepath.Dir(path), "tls.key"))
	return &pair, err
}

func trustedCAs(dir string) (*x509.CertPool, error) {
	path := filepath.Join(dir, "ca.crt")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("no certificate in %s", path)
	}
	return pool, nil
}

// What is said of a server that can't be verified: of an address of IP, crypto/tls keeps
// to itself.
var (
	errNothingShown = errors.New("the server has shown no certificate")
	errNoName       = errors.New("the server must be called by a DNS name")
)

// verify does what crypto/tls does of itself with the CAs that it was given once.
func verify(dir string, s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errNothingShown
	}
	if s.ServerName == "" {
		return errNoName
	}
	roots, err := trustedCAs(dir)
	if err != nil {
		return err
	}
	through := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		through.AddCert(c)
	}
	_, err = s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: s.ServerName, Roots: roots, Intermediates: through})
	return err
}
