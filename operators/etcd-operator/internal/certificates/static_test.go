package certificates

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// noon is when the pure tests are.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// caAt makes a CA of ten years.
func caAt(t *testing.T, at time.Time) *signingCA {
	t.Helper()
	certPEM, keyPEM, err := newCA(&v1beta2.EtcdCluster{}, 10*365*24*time.Hour, at)
	if err != nil {
		t.Fatal(err)
	}
	return readCA(map[string][]byte{"c": certPEM, "k": keyPEM}, "c", "k")
}

// userPair makes what a user's tool makes: for all members and the client Service, good
// for all, for a year.
func userPair(t *testing.T, by *signingCA, change func(*x509.Certificate)) (certPEM, keyPEM []byte) {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "user"}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"*.x.ns.svc", "x-client.ns.svc", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	certPEM, keyPEM, err := create(template, by)
	if err != nil {
		t.Fatal(err)
	}
	return certPEM, keyPEM
}

// staticInput is a cluster whose user keeps good certificates, in the predecessor's layout.
func staticInput(t *testing.T, by *signingCA) *input {
	t.Helper()
	in := &input{now: noon, kept: map[role]*corev1.Secret{}, cluster: &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u"},
		Spec: v1beta2.ClusterSpec{Size: 3, TLS: &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
			Member: &v1beta2.MemberSecret{PeerSecret: "p", ServerSecret: "s"}, OperatorSecret: "o",
		}}},
	}}
	for r, name := range map[role]string{peer: "p", server: "s", operator: "o"} {
		certPEM, keyPEM := userPair(t, by, nil)
		f := archived[r]
		in.kept[r] = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
			Data:       map[string][]byte{f.cert: certPEM, f.key: keyPEM, f.ca: encode(by.cert.Raw)},
		}
	}
	return in
}

// give puts another certificate in a Secret.
func (in *input) give(t *testing.T, r role, by *signingCA, change func(*x509.Certificate)) {
	t.Helper()
	data := in.kept[r].Data
	data[archived[r].cert], data[archived[r].key] = userPair(t, by, change)
}

// giveRSA puts a certificate for an RSA key in the peers' Secret, of a CA between,
// with that one's certificate behind it.
func (in *input) giveRSA(t *testing.T) {
	t.Helper()
	unbounded := func(name string, by *signingCA) (*signingCA, []byte) {
		certPEM, keyPEM, err := create(&x509.Certificate{
			Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour * 24 * 300),
			KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
		}, by)
		if err != nil {
			t.Fatal(err)
		}
		return readCA(map[string][]byte{"c": certPEM, "k": keyPEM}, "c", "k"), certPEM
	}
	root, rootPEM := unbounded("root", nil)
	signer, between := unbounded("between", root)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, in.pair(peer).leaf, signer.cert, key.Public(), signer.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	in.parsed = nil
	in.kept[peer].Data["peer-ca.crt"] = rootPEM
	in.kept[peer].Data["peer.crt"] = append(encode(raw), between...)
	in.kept[peer].Data["peer.key"] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func TestStatic(t *testing.T) {
	by, other := caAt(t, noon.Add(-time.Hour)), caAt(t, noon.Add(-time.Hour))
	expired := caAt(t, noon.Add(-11*365*24*time.Hour))
	lacks := func(r role, key string) func(*testing.T, *input) {
		return func(_ *testing.T, in *input) { delete(in.kept[r].Data, key) }
	}
	holds := func(r role, key, text string) func(*testing.T, *input) {
		return func(_ *testing.T, in *input) { in.kept[r].Data[key] = []byte(text) }
	}
	given := func(r role, by *signingCA, change func(*x509.Certificate)) func(*testing.T, *input) {
		return func(t *testing.T, in *input) { in.give(t, r, by, change) }
	}
	for name, row := range map[string]struct {
		change func(*testing.T, *input)
		reason facts.CertificateProblem
		says   []string
		blind  bool
		told   string
	}{
		"good": {},
		"common layout": {change: func(_ *testing.T, in *input) {
			for r, s := range in.kept {
				f := archived[r]
				s.Data = map[string][]byte{common.cert: s.Data[f.cert], common.key: s.Data[f.key], common.ca: s.Data[f.ca]}
			}
		}},
		"both layouts: members take the predecessor's": {change: holds(peer, common.cert, "rubbish")},
		"no Secret": {
			change: func(_ *testing.T, in *input) { in.kept[peer] = nil },
			reason: facts.CertificatesMissing, says: []string{"Secret p does not exist: create it with the keys peer.crt, peer.key and peer-ca.crt (or tls.crt, tls.key and ca.crt)"},
		},
		"no operator's Secret": {
			change: func(_ *testing.T, in *input) { in.kept[operator] = nil }, blind: true,
			reason: facts.CertificatesMissing, says: []string{"Secret o does not exist", "etcd-client-ca.crt"},
		},
		"no certificate": {change: lacks(server, "server.crt"), reason: facts.CertificatesMissing, says: []string{"Secret s has no key server.crt (or tls.crt): write"}},
		"no key":         {change: lacks(operator, "etcd-client.key"), reason: facts.CertificatesMissing, says: []string{"Secret o has no key etcd-client.key (or tls.key): write"}, blind: true},
		"no CA":          {change: lacks(peer, "peer-ca.crt"), reason: facts.CertificatesMissing, says: []string{"Secret p has no key peer-ca.crt (or ca.crt): write"}},
		"several things": {
			change: func(t *testing.T, in *input) {
				delete(in.kept[peer].Data, "peer.key")
				in.give(t, server, by, func(c *x509.Certificate) { c.DNSNames = nil })
			},
			reason: facts.CertificatesMissing, says: []string{"peer.key", "; ", "*.x.ns.svc"},
		},
		"unreadable certificate": {change: holds(peer, "peer.crt", "hush"), reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p holds no readable certificate: write"}},
		"unreadable key":         {change: holds(peer, "peer.key", "hush"), reason: facts.CertificatesInvalid, says: []string{"peer.key of Secret p holds no readable private key: write"}},
		"unreadable CA":          {change: holds(peer, "peer-ca.crt", "hush"), reason: facts.CertificatesInvalid, says: []string{"peer-ca.crt of Secret p holds no readable certificate: write"}},
		"another's key": {
			change: func(t *testing.T, in *input) { _, in.kept[server].Data["server.key"] = userPair(t, by, nil) },
			reason: facts.CertificatesInvalid, says: []string{"server.key of Secret s is not the private key of the certificate in server.crt: write"},
		},
		"expired": {
			change: given(server, by, func(c *x509.Certificate) { c.NotAfter = noon }),
			reason: facts.CertificatesInvalid, says: []string{"server.crt of Secret s expired at 2026-06-01T12:00:00Z: write"},
		},
		"operator's expired": {
			change: given(operator, by, func(c *x509.Certificate) { c.NotAfter = noon.Add(-time.Second) }), blind: true,
			reason: facts.CertificatesInvalid, says: []string{"etcd-client.crt of Secret o expired"},
		},
		"not yet valid": {
			change: given(peer, by, func(c *x509.Certificate) { c.NotBefore = noon.Add(time.Second) }),
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is not valid before 2026-06-01T12:00:01Z"},
		},
		"ends soon": {
			change: given(peer, by, func(c *x509.Certificate) { c.NotAfter = noon.Add(expiryWarning) }),
			told:   "peer.crt of Secret p expires at 2026-06-08T12:00:00Z: write a new one before then",
		},
		"does not end soon": {change: given(peer, by, func(c *x509.Certificate) { c.NotAfter = noon.Add(expiryWarning + time.Second) })},
		"peer of another CA": {
			change: given(peer, other, nil),
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is not signed by a CA in peer-ca.crt of Secret p"},
		},
		"server of one that the operator does not know": {
			change: given(server, other, nil),
			reason: facts.CertificatesInvalid, says: []string{"server.crt of Secret s is not signed by a CA in etcd-client-ca.crt of Secret o"},
		},
		"operator of one that members do not know": {
			change: given(operator, other, nil),
			reason: facts.CertificatesInvalid, says: []string{"etcd-client.crt of Secret o is not signed by a CA in server-ca.crt of Secret s"},
		},
		"clients of another CA than members": {change: func(t *testing.T, in *input) {
			in.give(t, operator, other, nil)
			in.kept[server].Data["server-ca.crt"] = encode(other.cert.Raw)
		}},
		"expired CA": {
			change: func(t *testing.T, in *input) {
				in.give(t, peer, expired, nil)
				in.kept[peer].Data["peer-ca.crt"] = encode(expired.cert.Raw)
			},
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is refused by the CAs in peer-ca.crt of Secret p", "expired"},
		},
		"trusted certificate that is no CA": {
			change: func(_ *testing.T, in *input) { in.kept[peer].Data["peer-ca.crt"] = in.kept[server].Data["server.crt"] },
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is not signed by"},
		},
		"peer for clients alone": {
			change: given(peer, by, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }),
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p lacks the extended key usage server auth"},
		},
		"peer for servers alone": {
			change: given(peer, by, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }),
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p lacks the extended key usage client auth"},
		},
		"server for servers alone": {change: given(server, by, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] })},
		"operator for servers alone": {
			change: given(operator, by, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }),
			reason: facts.CertificatesInvalid, says: []string{"etcd-client.crt of Secret o lacks the extended key usage client auth"},
		},
		"for anything": {change: given(peer, by, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} })},
		"unbounded":    {change: given(peer, by, func(c *x509.Certificate) { c.ExtKeyUsage = nil })},
		"peer for another cluster": {
			change: given(peer, by, func(c *x509.Certificate) { c.DNSNames = []string{"*.y.ns.svc"} }),
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is not for *.x.ns.svc: write"},
		},
		"server for members alone": {
			change: given(server, by, func(c *x509.Certificate) { c.DNSNames = c.DNSNames[:1] }),
			reason: facts.CertificatesInvalid, says: []string{"server.crt of Secret s is not for x-client.ns.svc: write"},
		},
		"a domain that it is not for": {
			change: func(_ *testing.T, in *input) {
				in.cluster.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".example.org"}
			},
			reason: facts.CertificatesInvalid, says: []string{"peer.crt of Secret p is not for *.x.ns.svc.example.org", "server.crt of Secret s is not for *.x.ns.svc.example.org"},
		},
		"a domain that it is for": {change: func(t *testing.T, in *input) {
			in.cluster.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".example.org"}
			for _, r := range []role{peer, server} {
				in.give(t, r, by, func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "*.x.ns.svc.example.org") })
			}
		}},
		"peers alone": {change: func(_ *testing.T, in *input) {
			static := in.cluster.Spec.TLS.Static
			static.Member.ServerSecret, static.OperatorSecret = "", ""
			in.kept = map[role]*corev1.Secret{peer: in.kept[peer]}
		}},
		"RSA, by an intermediate CA": {change: func(t *testing.T, in *input) { in.giveRSA(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			in := staticInput(t, by)
			if row.change != nil {
				row.change(t, in)
			}
			out, err := in.decided()
			if err != nil || len(out.writes) > 0 {
				t.Fatalf("%d writes, %v: the user's Secrets are not to be touched", len(out.writes), err)
			}
			got := out.state.TLS
			if got.Problem != row.reason || got.NoClientCertificate != row.blind {
				t.Errorf("got %+v, want reason %q, blind %t", got, row.reason, row.blind)
			}
			for _, text := range row.says {
				if !strings.Contains(got.Message, text) {
					t.Errorf("the message is %q, want %q in it", got.Message, text)
				}
			}
			if row.reason == "" && got.Message != "" || strings.Contains(got.Message, "hush") || strings.Contains(got.Message, "BEGIN") {
				t.Errorf("the message is %q", got.Message)
			}
			if (got.Trust != "") != (row.reason == "") {
				t.Errorf("the trust is %q", got.Trust)
			}
			if (out.state.TLS.RequeueAfter > 0) != (row.reason != "") {
				t.Errorf("it is looked at again in %s", out.state.TLS.RequeueAfter)
			}
			if wants := !row.blind && in.cluster.ServerTLSSecret() != ""; (out.state.Config != nil) != wants {
				t.Errorf("there is a config: %t, want %t", out.state.Config != nil, wants)
			}
			told := ""
			for _, e := range out.state.Told {
				told += e.Message
			}
			if (row.told == "") != (told == "") || !strings.Contains(told, row.told) {
				t.Errorf("told %q, want %q", told, row.told)
			}
		})
	}
}

// The trust changes with the CAs alone, whatever their order; and it stays as it
// was while something is wrong.
func TestStaticTrust(t *testing.T) {
	by, other := caAt(t, noon.Add(-time.Hour)), caAt(t, noon.Add(-time.Hour))
	in := staticInput(t, by)
	trust := func() string {
		in.parsed = nil
		out, err := in.decided()
		if err != nil {
			t.Fatal(err)
		}
		return out.state.TLS.Trust
	}
	first := trust()
	in.give(t, peer, by, nil)
	if trust() != first {
		t.Error("a renewed certificate restarts members")
	}
	one, two := encode(by.cert.Raw), encode(other.cert.Raw)
	in.kept[server].Data["server-ca.crt"] = append(append([]byte("# both\n"), one...), two...)
	both := trust()
	in.kept[server].Data["server-ca.crt"] = append(append(append([]byte{}, two...), one...), two...)
	if both == first || trust() != both {
		t.Error("the trust is to be that of the set of CAs")
	}
	in.kept[peer].Data["peer-ca.crt"], in.kept[server].Data["server-ca.crt"] = in.kept[server].Data["server-ca.crt"], one
	if got := trust(); got == both || got == first {
		t.Error("whom peers trust, and whom clients, is not the same")
	}
	in.cluster.Status.TLS = &v1beta2.TLSStatus{Trust: both}
	in.kept[peer].Data["peer-ca.crt"] = two
	if trust() != both {
		t.Error("members would be restarted to trust CAs that have not signed their certificates")
	}
}
