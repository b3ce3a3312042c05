package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of what [Env.StartTLSEtcd] makes.
const (
	tlsEtcd = "secure"
	// ClientTLS and LegacyClientTLS are Secrets with the same client certificate, with
	// the keys of a kubernetes.io/tls Secret and those of the archived operator.
	ClientTLS       = "client-tls"
	LegacyClientTLS = "client-tls-legacy"
	// StrangerTLS is one with a certificate of another authority.
	StrangerTLS = "stranger-tls"
	serverTLS   = "server-tls"
)

// etcdImage is the etcd that runs where no operator runs one.
const etcdImage = "quay.io/coreos/etcd:v3.6.16"

// StartTLSEtcd starts an etcd of one member that takes nobody without a certificate of
// its authority, as somebody else might run it, with Secrets for its clients, and a
// writer. It returns the URL.
func (e *Env) StartTLSEtcd(ctx context.Context, v *View, namespace string) (url string, w *Writer, err error) {
	host := tlsEtcd + "." + namespace
	secrets, err := tlsSecrets(namespace, host)
	if err != nil {
		return "", nil, err
	}
	for i := range secrets {
		if err := e.Client.Create(ctx, &secrets[i]); err != nil {
			return "", nil, err
		}
	}
	if err := e.Client.Create(ctx, service(namespace, tlsEtcd, 2379)); err != nil {
		return "", nil, err
	}
	pod := restrictedPod(namespace, tlsEtcd)
	c := &pod.Spec.Containers[0]
	c.Name, c.Image = "etcd", etcdImage
	c.Command = []string{
		"etcd", "--data-dir=/data/etcd", "--client-cert-auth", "--trusted-ca-file=/tls/ca.crt", "--cert-file=/tls/tls.crt", "--key-file=/tls/tls.key",
		"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://" + host + ":2379",
	}
	mount(&pod.Spec, "data", "/data", emptyDir())
	mount(&pod.Spec, "tls", "/tls", secretVolume(serverTLS))
	if err := e.Client.Create(ctx, pod); err != nil {
		return "", nil, err
	}
	writing := restrictedPod(namespace, tlsEtcd+"-writer", "write", "--endpoint="+host+":2379", fmt.Sprintf("--rate=%d", Rate), "--tls=/tls")
	mount(&writing.Spec, "tls", "/tls", secretVolume(ClientTLS))
	w, err = e.startWriter(ctx, v, writing)
	return "https://" + host + ":2379", w, err
}

func secretVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

// tlsSecrets are those of a server of that name and of its clients.
func tlsSecrets(namespace, host string) ([]corev1.Secret, error) {
	ours, err := newAuthority()
	if err != nil {
		return nil, err
	}
	theirs, err := newAuthority()
	if err != nil {
		return nil, err
	}
	server, err := ours.issue(host)
	if err != nil {
		return nil, err
	}
	client, err := ours.issue("root")
	if err != nil {
		return nil, err
	}
	stranger, err := theirs.issue("root")
	if err != nil {
		return nil, err
	}
	standard := func(name string, p pair, authority []byte) corev1.Secret {
		return secret(namespace, name, map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": authority})
	}
	return []corev1.Secret{
		standard(serverTLS, server, ours.pem), standard(ClientTLS, client, ours.pem), standard(StrangerTLS, stranger, theirs.pem),
		secret(namespace, LegacyClientTLS, map[string][]byte{
			"etcd-client.crt": client.certificate, "etcd-client.key": client.key, "etcd-client-ca.crt": ours.pem,
		}),
	}, nil
}

func secret(namespace, name string, data map[string][]byte) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// authority signs certificates; pem is its own.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate and its key, as PEM.
type pair struct{ certificate, key []byte }

// validity is longer than any test takes, with room for clocks that differ.
const validity = 24 * time.Hour

func newAuthority() (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate, key, encode("CERTIFICATE", der)}, err
}

// issue makes a certificate for a server or a client of that name. etcd, whose gateway
// is a client of itself, wants its own to be both.
func (a authority) issue(name string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	return pair{encode("CERTIFICATE", der), encode("EC PRIVATE KEY", private)}, err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
