package suite

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/knock"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestStaticTLS: a cluster, that of the example, waits for the Secrets that its user keeps, says what is wrong
// with each, and begins when they are good. Members talk to nobody without a certificate
// of the cluster, and show a new one without a restart.
func TestStaticTLS(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	const name, member, operator, peers, servers, app = "example-static", "etcd-member", "example-operator", "example-peer", "example-server", "app"
	ours, theirs := etcdtest.NewAuthority(t, "ours"), etcdtest.NewAuthority(t, "theirs")
	peer := ours.Issue(t, member, s.peerNames(name)...)
	server := ours.Issue(t, member, s.serverNames(name)...)

	s.applyExample("cluster-tls-static.yaml", asItIs)
	c := s.existing(name)
	c.becomes("without Secrets", certificatesAre(false, "CertificatesMissing", peers, servers, operator, "peer.crt", "tls.crt"), soon)
	s.puts(operator, ours.Issue(t, "root").LegacyFiles("etcd-client", ours))
	s.puts(peers, peer.Files(ours)) // the names of kubernetes.io/tls, beside the predecessor's
	for _, bad := range []struct {
		what  string
		files map[string][]byte
		words []string
	}{
		{"with an expired certificate", ours.IssueUntil(t, time.Now().Add(-time.Minute), member, s.serverNames(name)...).LegacyFiles("server", ours), []string{servers, "server.crt", "expired"}},
		{"with a certificate for others", ours.Issue(t, member, s.serverNames("other")...).LegacyFiles("server", ours), []string{servers, "*." + name + "." + s.ns + ".svc", "subject alternative names"}},
		{"with another key", etcdtest.Leaf{Cert: server.Cert, Key: peer.Key}.LegacyFiles("server", ours), []string{servers, "server.key", "not the private key"}},
		{"with a foreign certificate", theirs.Issue(t, member, s.serverNames(name)...).LegacyFiles("server", ours), []string{servers, "not signed by an authority"}},
	} {
		s.puts(servers, bad.files)
		c.becomes(bad.what, harness.All(certificatesAre(false, "CertificatesInvalid", bad.words...), withoutMembers), soon)
	}
	s.puts(servers, server.LegacyFiles("server", ours))
	c.settles(3, later)
	c.becomes("ready", certificatesAre(true, ""), soon)

	s.puts(app, ours.Issue(t, "app").Files(ours))
	s.puts("foreign", theirs.Issue(t, "app").Files(ours))
	s.puts("neighbour", ours.Issue(t, member, s.peerNames("other")...).Files(ours))
	c.Certificate = app
	w := c.writes()
	st := s.aStranger(app, "foreign", "neighbour", peers)
	st.isLetIn(c, clientPort, app)
	st.isLetIn(c, peerPort, peers)
	for _, port := range []string{clientPort, peerPort} {
		st.isRefused(c, port, "")
		st.isRefused(c, port, "foreign")
		st.isRefusedInTheClear(c, port)
	}
	// The same authority has signed both: it is the name that tells clusters apart.
	st.isRefused(c, peerPort, "neighbour")

	before := c.restarts()
	next := ours.Issue(t, member, s.serverNames(name)...)
	s.puts(servers, next.LegacyFiles("server", ours))
	st.sees(c, "its new certificate", soon, func(port string, a knock.Answer) bool {
		return port != clientPort || a.Serial == serialOf(t, next)
	})
	c.isUnrestarted(before)
	c.cantSwitch([]string{"TLS"}, nil, map[string]any{"static": nil, "auto": map[string]any{}})
	w.noticed(aBlink)
	w.lostNothing(3)
	s.leaksNothing()
}

// serialOf is a certificate's number as a stranger tells it.
func serialOf(t *testing.T, l etcdtest.Leaf) string {
	t.Helper()
	block, _ := pem.Decode(l.Cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert.SerialNumber.Text(16)
}
