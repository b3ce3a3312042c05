package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/tlsprobe"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestStaticTLS: a cluster, that of the example, waits for the Secrets that its user
// keeps, says what is wrong with each, and begins when they are good. Members talk to
// nobody without a certificate of the cluster, and show a new one without a restart.
func TestStaticTLS(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	const name, member, operator, peers, servers, app = "example-static", "etcd-member", "example-operator", "example-peer", "example-server", "app"
	ours, theirs := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "theirs")
	peer := ours.Issue(t, member, s.peerNames(name)...)
	server := ours.Issue(t, member, s.serverNames(name)...)

	s.applyExample("cluster-tls-static.yaml", asItIs)
	c := s.existing(name)
	c.becomes("without Secrets", certificatesAre(false, "CertificatesMissing", peers, servers, operator, "peer.crt", "tls.crt"), oneMinute)
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
		{"with a foreign certificate", theirs.Issue(t, member, s.serverNames(name)...).LegacyFiles("server", ours), []string{servers, "not signed by a CA"}},
	} {
		s.puts(servers, bad.files)
		c.becomes(bad.what, harness.All(certificatesAre(false, "CertificatesInvalid", bad.words...), withoutMembers), oneMinute)
	}
	s.puts(servers, server.LegacyFiles("server", ours))
	c.settles(3, twoMinutes)
	c.becomes("ready", certificatesAre(true, ""), oneMinute)

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
	// The same CA has signed both: it is the name that tells clusters apart.
	st.isRefused(c, peerPort, "neighbour")

	before := c.restarts()
	next := ours.Issue(t, member, s.serverNames(name)...)
	s.puts(servers, next.LegacyFiles("server", ours))
	st.sees(c, "its new certificate", oneMinute, func(port string, a tlsprobe.Answer) bool {
		return port != clientPort || a.Serial == next.Serial
	})
	c.isUnrestarted(before)
	c.cantSwitch([]string{"TLS"}, nil, map[string]any{"static": nil, "auto": map[string]any{}})
	w.noticed(aBlink)
	w.lostNothing(3)
	s.leaksNothing()
}

// TestStaticCAIsReplaced: the user replaces the CA of the certificates that
// they keep, by the three steps of docs/tasks/tls.md, while a client writes.
func TestStaticCAIsReplaced(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	const name, app = "etcd", "app"
	old, next := etcdtest.NewCA(t, "old"), etcdtest.NewCA(t, "next")
	members := func(by *etcdtest.CA, trusted ...*etcdtest.CA) {
		s.puts(name+"-peer", by.Issue(t, "member", s.peerNames(name)...).Files(trusted...))
		s.puts(name+"-server", by.Issue(t, "member", s.serverNames(name)...).Files(trusted...))
	}
	clients := func(by *etcdtest.CA, trusted ...*etcdtest.CA) {
		s.puts(name+"-operator", by.Issue(t, "root").Files(trusted...))
		s.puts(app, by.Issue(t, app).Files(trusted...))
	}
	clients(old, old)
	members(old, old)
	c := s.cluster(name, harness.Size(3), harness.Volumes, harness.StaticTLS(name), harness.MinTLS("TLS1.3"))
	c.Certificate = app
	c.settles(3, twoMinutes)
	w, st := c.writes(), s.aStranger(app)
	st.isRefusedByTLS12(c, app)

	trust := c.trusts("")
	clients(old, old, next)
	s.must(w.Remount(s.ctx))
	members(old, old, next)
	both := c.trusts(trust)
	clients(next, old, next)
	s.must(w.Remount(s.ctx))
	members(next, old, next)
	st.sees(c, "certificates of the new CA", oneMinute, func(_ string, a tlsprobe.Answer) bool { return a.Issuer == "CN=next" })
	clients(next, next)
	s.must(w.Remount(s.ctx))
	members(next, next)
	c.trusts(both)
	w.noticed(anElection) // on a machine that is busy with all the other tests
	w.lostNothing(3)
	s.leaksNothing()
}

// trusts waits until all members trust others than they did, and nothing is left to do. It
// returns whom, as the status tells.
func (c *cluster) trusts(before string) string {
	c.s.t.Helper()
	c.becomes("settled with another trust", harness.All(certificatesAre(true, ""), harness.Settled(3), func(s harness.State) string {
		trust := s.Cluster.Status.TLS.Trust
		if trust == before {
			return "it trusts the same as before"
		}
		for _, p := range s.Pods {
			if got := p.Annotations[v1beta2.AnnotationTrust]; got != trust {
				return fmt.Sprintf("member %s trusts %s, want %s", p.Name, got, trust)
			}
		}
		return ""
	}), anUpgrade)
	return c.State().Cluster.Status.TLS.Trust
}
