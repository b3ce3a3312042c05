package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// backdate is how much earlier a certificate begins than it is made: the clocks of those
// who are to accept it may be behind by so much.
const backdate = 5 * time.Minute

// serialBits is the length of serial numbers, which are drawn: RFC 5280 (4.1.2.2) allows
// 20 octets.
const serialBits = 127

// signingCA can sign.
type signingCA struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// readCA reads one from a Secret's data; nil if there is none that can sign.
func readCA(data map[string][]byte, certName, keyName string) *signingCA {
	certs, err := cert.ParseCertsPEM(data[certName])
	if err != nil {
		return nil
	}
	key, err := keyutil.ParsePrivateKeyPEM(data[keyName])
	if err != nil {
		return nil
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil
	}
	public, ok := certs[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(signer.Public()) || !certs[0].IsCA {
		return nil
	}
	return &signingCA{cert: certs[0], key: signer}
}

// newCA makes one of the cluster's own. It returns its certificate and key, in PEM.
func newCA(c *v1beta2.EtcdCluster, lifetime time.Duration, now time.Time) (certPEM, keyPEM []byte, err error) {
	return create(&x509.Certificate{
		Subject:               pkix.Name{CommonName: c.Name + "-ca"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

// issue makes a certificate of a role. It ends with its CA at the latest.
func (a *signingCA) issue(c *v1beta2.EtcdCluster, r role, lifetime time.Duration, now time.Time) (certPEM, keyPEM []byte, err error) {
	names, addresses := namesOf(c, r)
	end := now.Add(lifetime)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
	}
	return create(&x509.Certificate{
		Subject:               pkix.Name{CommonName: subject(c, r)},
		NotBefore:             now.Add(-backdate),
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usages(r),
		BasicConstraintsValid: true,
		DNSNames:              names,
		IPAddresses:           addresses,
	}, a)
}

// create makes a key and a certificate for it, signed by a CA, or by itself.
func create(template *x509.Certificate, by *signingCA) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)); err != nil {
		return nil, nil, fmt.Errorf("draw a serial number: %w", err)
	}
	if by == nil {
		by = &signingCA{cert: template, key: key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode(raw), keyPEM, nil
}

func encode(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: raw})
}

// due tells whether two thirds of a certificate's life have passed, or of the life that
// is wanted now, if that is shorter.
func due(c *x509.Certificate, lifetime time.Duration, now time.Time) bool {
	begin := c.NotBefore.Add(backdate)
	life := min(lifetime, c.NotAfter.Sub(begin))
	return !now.Before(begin.Add(life / 3 * 2))
}

// outdated tells whether a certificate of this CA is to be made anew: since it
// ends, and a new one would last longer, or since it is not for what it is to be for.
func (a *signingCA) outdated(c *v1beta2.EtcdCluster, p *pair, lifetime time.Duration, now time.Time) bool {
	names, addresses := namesOf(c, p.role)
	if !slices.Equal(p.leaf.DNSNames, names) || !slices.EqualFunc(p.leaf.IPAddresses, addresses, net.IP.Equal) {
		return true
	}
	if p.leaf.Subject.CommonName != subject(c, p.role) || !slices.Equal(p.leaf.ExtKeyUsage, usages(p.role)) {
		return true
	}
	return due(p.leaf, lifetime, now) && p.leaf.NotAfter.Before(a.cert.NotAfter)
}
