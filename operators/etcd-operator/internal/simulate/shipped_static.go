package simulate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// This file is a person who keeps the certificates of a cluster, in some of the runs of the
// shipped operator.

// noticeWithin is how soon an operator must have noticed that a Secret is gone of which no
// watch tells it: it looks every half minute.
const noticeWithin = time.Minute

func (w *world) isStatic() bool { return w.cfg.TLS && w.ships() && w.seed%3 == 0 }

// keepStatic writes the Secrets, and puts back what was taken away for a while.
func (w *world) keepStatic() {
	if !w.isStatic() {
		return
	}
	if w.issued.static == nil {
		w.issued.static = staticSecrets()
	}
	for i, s := range w.issued.static {
		away := w.during(SpoilCertificates)
		if i == operatorTLS {
			away = w.during(LackCertificates)
		}
		if is := w.secret(s.Name); !away && (is == nil || isSpoilt(is)) {
			w.say("the user writes Secret %s", s.Name)
			w.keepSecret(s.DeepCopy())
		}
	}
}

// spoilStatic takes Secrets away, or spoils the operator's, for a while.
func (w *world) spoilStatic(f Fault) bool {
	switch f.Kind {
	case RotateCA:
		return true
	case SpoilCertificates:
		w.issued.lostAt = w.now
		w.dropSecret(secretNames[peerTLS])
		w.dropSecret(secretNames[serverTLS])
	default:
		name := secretNames[operatorTLS]
		is := w.secret(name)
		if is == nil {
			return false
		}
		if f.A%2 == 0 {
			w.dropSecret(name)
			break
		}
		is = is.DeepCopy()
		is.Data[corev1.TLSCertKey] = []byte(nothing)
		w.keepSecret(is)
	}
	w.until[f.Kind] = max(w.until[f.Kind], w.step+f.For)
	w.say("FAULT %s", f)
	return true
}

// staticSecrets are those of the members and of the operator, of one CA.
func staticSecrets() []*corev1.Secret {
	certificate := func(name string, by *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now(), NotAfter: time.Now().AddDate(1, 0, 0),
			BasicConstraintsValid: true, IsCA: by == nil, DNSNames: []string{"*." + clusterName + "." + namespace + ".svc", clusterName + "-client." + namespace + ".svc"},
		}
		if by == nil {
			by, key = c, own
		}
		raw, err := x509.CreateCertificate(rand.Reader, c, by, own.Public(), key)
		if err != nil {
			panic(err)
		}
		if c, err = x509.ParseCertificate(raw); err != nil {
			panic(err)
		}
		return c, own
	}
	inPEM := func(c *x509.Certificate) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})
	}
	ca, caKey := certificate("ca", nil, nil)
	var all []*corev1.Secret
	for _, name := range secretNames[:operatorTLS+1] {
		c, key := certificate("root", ca, caKey)
		keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
		if err != nil {
			panic(err)
		}
		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "static"},
			Data:       map[string][]byte{corev1.TLSCertKey: inPEM(c), corev1.TLSPrivateKeyKey: keyPEM, corev1.ServiceAccountRootCAKey: inPEM(ca)},
		})
	}
	return all
}
