package certificates

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
)

// caSet is a set of CA certificates that are trusted.
type caSet []*x509.Certificate

// parseCAs reads PEM; what can't be read is none.
func parseCAs(pem []byte) caSet {
	all, err := cert.ParseCertsPEM(pem)
	if err != nil {
		return nil
	}
	return caSet{}.with(all)
}

func (a caSet) has(c *x509.Certificate) bool { return slices.ContainsFunc(a, c.Equal) }

// with are those of both sets, in the order of the first.
func (a caSet) with(b caSet) caSet {
	all := slices.Clone(a)
	for _, c := range b {
		if !all.has(c) {
			all = append(all, c)
		}
	}
	return all
}

// without are those that are not in b.
func (a caSet) without(b caSet) caSet {
	return slices.DeleteFunc(slices.Clone(a), b.has)
}

func (a caSet) equal(b caSet) bool {
	return len(a.without(b)) == 0 && len(b.without(a)) == 0
}

// expired tells whether none of them is valid any more.
func (a caSet) expired(now time.Time) bool {
	return !slices.ContainsFunc(a, func(c *x509.Certificate) bool { return now.Before(c.NotAfter) })
}

func (a caSet) pem() []byte {
	var all []byte
	for _, c := range a {
		all = append(all, encode(c.Raw)...)
	}
	return all
}

func (a caSet) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range a {
		pool.AddCert(c)
	}
	return pool
}

// id is the same for the same set, in whichever order.
func (a caSet) id() string {
	sums := make([]string, len(a))
	for i, c := range a {
		sum := sha256.Sum256(c.Raw)
		sums[i] = hex.EncodeToString(sum[:])
	}
	slices.Sort(sums)
	sum := sha256.Sum256([]byte(strings.Join(sums, "\n")))
	return hex.EncodeToString(sum[:8])
}

// trustHash is that of the CAs that members trust: for each other, and for
// clients. A set that is empty stands for traffic in the clear.
func trustHash(forPeers, forClients caSet) string {
	sum := sha256.Sum256([]byte("peer " + forPeers.id() + "\nserver " + forClients.id()))
	return hex.EncodeToString(sum[:8])
}

// sign tells whether one of them has signed a certificate, by itself or through others
// that are shown with it, whatever the time is.
func (a caSet) sign(c *x509.Certificate, through []*x509.Certificate) bool {
	for _, one := range a {
		if c.Equal(one) || c.CheckSignatureFrom(one) == nil {
			return true
		}
	}
	for i, next := range through {
		rest := slices.Delete(slices.Clone(through), i, i+1)
		if c.CheckSignatureFrom(next) == nil && a.sign(next, rest) {
			return true
		}
	}
	return false
}
