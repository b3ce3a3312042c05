package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// CA signs certificates for tests.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is its certificate.
	PEM []byte
}

// Leaf is a certificate for client and server alike, with its key.
type Leaf struct {
	// Cert and Key are PEM.
	Cert, Key []byte
	// Serial is the certificate's number, by which one is told from another.
	Serial string
}

// serial counts the certificates that were made.
var serial atomic.Int64

// NewCA makes a CA that nobody trusts yet.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	a := &CA{key: newKey(t)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	a.PEM = sign(t, a.cert, a.cert, &a.key.PublicKey, a.key)
	return a
}

// Issue signs a certificate of this common name for these DNS names and IP addresses.
func (a *CA) Issue(t testing.TB, commonName string, names ...string) Leaf {
	t.Helper()
	return a.IssueUntil(t, time.Now().Add(time.Hour), commonName, names...)
}

// IssueUntil is Issue for a certificate that ends at a moment, perhaps in the past.
func (a *CA) IssueUntil(t testing.TB, end time.Time, commonName string, names ...string) Leaf {
	t.Helper()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: commonName},
		NotBefore: end.Add(-2 * time.Hour), NotAfter: end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, name)
		}
	}
	key := newKey(t)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Leaf{
		Cert:   sign(t, cert, a.cert, &key.PublicKey, a.key),
		Key:    pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		Serial: cert.SerialNumber.String(),
	}
}

// Config is how the owner of the certificate talks to those who are of one of the CAs.
func (l Leaf) Config(t testing.TB, trusted ...*CA) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(l.Cert, l.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := Trusting(trusted...)
	config.Certificates = []tls.Certificate{pair}
	return config
}

// Trusting is how somebody without a certificate talks to those who are of one of the CAs.
func Trusting(trusted ...*CA) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(Bundle(trusted...))
	return config
}

// Bundle is the PEM of all CAs.
func Bundle(cas ...*CA) []byte {
	var all []byte
	for _, a := range cas {
		all = slices.Concat(all, a.PEM)
	}
	return all
}

// Files are those of a Secret of type kubernetes.io/tls with the CAs beside.
func (l Leaf) Files(trusted ...*CA) map[string][]byte {
	return map[string][]byte{"tls.crt": l.Cert, "tls.key": l.Key, "ca.crt": Bundle(trusted...)}
}

// LegacyFiles are those of a Secret of the predecessor's: <prefix>.crt, <prefix>.key and
// <prefix>-ca.crt.
func (l Leaf) LegacyFiles(prefix string, trusted ...*CA) map[string][]byte {
	return map[string][]byte{prefix + ".crt": l.Cert, prefix + ".key": l.Key, prefix + "-ca.crt": Bundle(trusted...)}
}

// versions counts the contents that were mounted.
var versions atomic.Int64

// Mount makes dir show these files, as a kubelet does with a Secret: all of them change
// at once, by a symbolic link.
func Mount(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	err := mount(dir, files)
	if err != nil {
		t.Fatalf("mount a Secret: %v", err)
	}
}

func mount(dir string, files map[string][]byte) error {
	const data = "..data"
	version := "..version" + strconv.FormatInt(versions.Add(1), 10)
	if err := os.MkdirAll(filepath.Join(dir, version), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, version, name), content, 0o600); err != nil {
			return err
		}
	}
	fresh := filepath.Join(dir, version+".link")
	if err := os.Symlink(version, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(dir, data)); err != nil {
		return err
	}
	for name := range files {
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

// ShownSerial is the number of the certificate that a server shows.
func ShownSerial(addr string) (string, error) {
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) // it is only looked at
	if err != nil {
		return "", fmt.Errorf("look at the certificate of %s: %w", addr, err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, cert, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, by)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
