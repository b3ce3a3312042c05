package certificates

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// problem is something wrong with a certificate, and what to do about it.
type problem struct {
	kind    facts.CertificateProblem
	message string
}

// missing and invalid make the problems of the two kinds.
func missing(format string, args ...any) problem {
	return problem{facts.CertificatesMissing, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) problem {
	return problem{facts.CertificatesInvalid, fmt.Sprintf(format, args...)}
}

// pair is a certificate with its key and the CAs beside it.
type pair struct {
	role   role
	secret string
	// files are the keys of the Secret that the rest comes from.
	files   files
	shown   tls.Certificate
	leaf    *x509.Certificate
	through []*x509.Certificate
	trusted caSet
	// verified is what came of it when it was verified last.
	verified verified
}

// readPair reads what is in a Secret. Each of the three keys may have the predecessor's
// name or the common one; members take the first that is there, in this order. What is
// wrong is said without what is in the Secret.
func readPair(r role, s *corev1.Secret) (*pair, []problem) {
	p := &pair{role: r, secret: s.Name}
	old := archived[r]
	var content files
	var wrong []problem
	pick := func(name *string, old, common, what string) string {
		for _, n := range []string{old, common} {
			if data, ok := s.Data[n]; ok && n != "" {
				*name = n
				return string(data)
			}
		}
		wrong = append(wrong, missing("Secret %s has no key %s: write %s there, in PEM", s.Name, either(old, common), what))
		return ""
	}
	content.cert = pick(&p.files.cert, old.cert, common.cert, "the certificate")
	content.key = pick(&p.files.key, old.key, common.key, "the private key of the certificate")
	content.ca = pick(&p.files.ca, old.ca, common.ca, "the certificates of the CAs to trust")
	if len(wrong) > 0 {
		return nil, wrong
	}
	chain, err := cert.ParseCertsPEM([]byte(content.cert))
	if err != nil {
		return nil, []problem{invalid("%s holds no readable certificate: write it there, in PEM, followed by those of intermediate CAs", p.at(p.files.cert))}
	}
	p.leaf, p.through = chain[0], chain[1:]
	key, err := keyutil.ParsePrivateKeyPEM([]byte(content.key))
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, []problem{invalid("%s holds no readable private key: write it there, in PEM and without a password", p.at(p.files.key))}
	}
	public, ok := p.leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(signer.Public()) {
		return nil, []problem{invalid("%s is not the private key of the certificate in %s: write the two that belong together", p.at(p.files.key), p.files.cert)}
	}
	p.shown = tls.Certificate{PrivateKey: signer, Leaf: p.leaf}
	for _, c := range chain {
		p.shown.Certificate = append(p.shown.Certificate, c.Raw)
	}
	if p.trusted = parseCAs([]byte(content.ca)); len(p.trusted) == 0 {
		return nil, []problem{invalid("%s holds no readable certificate: write those of the CAs to trust there, in PEM", p.at(p.files.ca))}
	}
	return p, nil
}

// at names a key of the Secret.
func (p *pair) at(key string) string { return fmt.Sprintf("%s of Secret %s", key, p.secret) }

func either(old, common string) string {
	if old == "" {
		return common
	}
	return old + " (or " + common + ")"
}
