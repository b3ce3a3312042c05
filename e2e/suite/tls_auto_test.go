package suite

import (
	"bytes"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/tlsprobe"
)

// TestAutoTLS: a cluster whose certificates the operator issues, that of the example, is
// backed up, and restored in its place and beside it. Applications have a Secret of their
// own.
func TestAutoTLS(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	s.applyExample("cluster-tls.yaml", asItIs)
	c := s.existing("example-tls")
	c.settles(3, twoMinutes)
	c.becomes("ready", certificatesAre(true, ""), oneMinute)
	s.kubectl("wait", "--for=condition=Complete", "--timeout=60s", "job/example-tls-client")
	w, m := c.holdsKeys(500), c.isMirrored()
	at := st.at("tls.db")
	s.backup("backup", w.Writer, at, harness.OfCluster(c.Name)).isStored(oneMinute)
	snapshot := s.snapshotAt(at)
	c.adds("more", "more/", 100)

	stranger := s.aStranger(c.State().Cluster.ClientTLSSecret(), c.State().Cluster.PeerTLSSecret())
	stranger.isLetIn(c, clientPort, "example-tls-client-tls")
	stranger.isLetIn(c, peerPort, "example-tls-peer-tls")
	stranger.isRefused(c, clientPort, "")
	stranger.isRefused(c, peerPort, "example-tls-client-tls")
	c.cantSwitch([]string{"TLS"}, nil, map[string]any{"auto": nil, "static": map[string]any{"operatorSecret": "o", "member": map[string]any{"serverSecret": "s"}}})

	fresh := s.restore("copy", harness.AsNew(c.Name), at.from)
	fresh.serves(oneMinute)
	beside := s.existing(fresh.Name)
	fresh.completes(twoMinutes)
	beside.isMirrored().holds(snapshot)
	if a, b := s.secret("example-tls-ca-tls"), s.secret("copy-ca-tls"); bytes.Equal(a.Data["tls.crt"], b.Data["tls.crt"]) {
		t.Error("the copy has the CA of the cluster that it is a copy of")
	}
	inPlace := s.restore("in-place", harness.InPlace(c.Name), at.from)
	inPlace.serves(oneMinute)
	inPlace.completes(twoMinutes)
	c.settles(3, twoMinutes)
	m.holds(snapshot)
	m.noticedRestores(1, 1)
	c.writes().lostNothing(3)
	s.leaksNothing()
}

// overlap is how long the tests trust a replaced CA, once clients have been told to
// look at their Secret.
const overlap = 20 * time.Second

// TestCertificatesAreReplaced: certificates are renewed without a restart, and then the
// CA, while a client writes: no write fails for good, and none is lost. Backups
// follow.
func TestCertificatesAreReplaced(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	store := s.aStore()
	c := s.cluster("etcd", harness.Size(3), harness.Volumes, harness.AutoTLS, harness.CAOverlap(overlap))
	c.settles(3, twoMinutes)
	w, st := c.writes(), s.aStranger()
	c.isRenewed(st)
	w.noticedNoFailure(aBlink)
	c.hasItsCAReplaced(w, func() { s.kubectl("annotate", "etcd", c.Name, v1beta2.AnnotationRotateCA+"=now") })
	w.noticedNoFailure(aBlink)
	s.backup("backup", w.Writer, store.at("etcd.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
	w.lostNothing(3)
	s.leaksNothing()
}

// isRenewed asks for new certificates, and waits until members show them; none is
// restarted.
func (c *cluster) isRenewed(st *stranger) {
	c.s.t.Helper()
	before, old := c.restarts(), map[string]bool{}
	st.sees(c, "its certificates", oneMinute, func(_ string, a tlsprobe.Answer) bool {
		old[a.Serial] = true
		return true
	})
	c.s.kubectl("annotate", "etcd", c.Name, v1beta2.AnnotationRenew+"=now")
	for _, secret := range []string{"-peer-tls", "-server-tls", "-operator-tls", "-client-tls"} {
		c.s.within(oneMinute, c.secretHas(c.Name+secret, v1beta2.AnnotationRenew, "now"))
	}
	st.sees(c, "its new certificates", oneMinute, func(_ string, a tlsprobe.Answer) bool { return !old[a.Serial] })
	c.isUnrestarted(before)
}

// hasItsCAReplaced follows the steps from one CA to the next: applications
// trust both before members show certificates of the new one, and have theirs before
// members trust it alone.
func (c *cluster) hasItsCAReplaced(w *etcdClient, begin func()) {
	c.s.t.Helper()
	members, trust := c.members(), c.State().Cluster.Status.TLS.Trust
	begin()
	c.becomes("trusting both", rotation(v1beta2.CATrustingBoth), oneMinute)
	c.s.must(w.Remount(c.s.ctx))
	c.becomes("reissuing", rotation(v1beta2.CAReissuing), anUpgrade)
	c.s.must(w.Remount(c.s.ctx))
	c.s.must(c.Remount(c.s.ctx, members...))
	c.becomes("trusting the new one alone", rotation(""), anUpgrade)
	c.becomes("settled with the same members", harness.All(sameMembers(members), harness.Settled(3)), anUpgrade)
	if now := c.State().Cluster.Status.TLS.Trust; now == trust {
		c.s.t.Errorf("it trusts the same CA as before: %s", now)
	}
}

// rotation: the replacement of the CA has come so far.
func rotation(step v1beta2.CARotation) harness.Check {
	return func(s harness.State) string {
		if s.Cluster.Status.TLS == nil {
			return "the status tells nothing of certificates"
		}
		if got := s.Cluster.Status.TLS.Rotation; got != step {
			return "the replacement of the CA has come to " + string(got)
		}
		return ""
	}
}
