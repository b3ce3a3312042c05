package simulate

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// The model of certificates: who has signed those that members show, whom their Secrets
// tell them to trust, and what each has read of that. etcd reads certificates at each
// handshake, and CAs only when it starts: members whose views differ don't reach
// each other.
//
// The keeper of certificates is modelled as it is to be: a new CA is trusted by
// all before it signs, and the old one until nothing of it is left. It goes by what is
// written on Pods.

// overlap is for how long a CA is trusted after the last certificate of it.
const overlap = time.Minute

// secrets are what the Secrets of a cluster hold.
type secrets struct {
	// leaf is the CA that has signed the certificates, trusted the set of those
	// that are trusted, as bits. wanted is the CA that is to sign.
	leaf, wanted int
	trusted      uint64
	// reissued is when the certificates were signed last.
	reissued time.Duration
}

// newSecrets are those of a cluster that begins.
func newSecrets() secrets { return secrets{trusted: 1, reissued: never} }

// trust stands for the hash of the CAs that are trusted.
func (s *secrets) trust() string { return fmt.Sprintf("trust%x", s.trusted) }

func (s *secrets) rotating() bool { return s.leaf != s.wanted || bits.OnesCount64(s.trusted) > 1 }

// recordedTrust is what the status tells of whom to trust.
func (c *etcdCluster) recordedTrust() string {
	return trustOf(c.status)
}

func trustOf(s *v1beta2.ClusterStatus) string {
	if s.TLS == nil {
		return ""
	}
	return s.TLS.Trust
}

// keepCertificates does the next step of the replacement of a CA.
func (w *world) keepCertificates() {
	s := &w.secrets
	switch {
	case !w.cfg.TLS || w.cluster.paused || w.cluster.deleting || w.during(SpoilCertificates):
	case s.leaf != s.wanted && s.trusted>>s.wanted&1 == 0:
		s.trusted |= 1 << s.wanted
		w.say("CA %d is to be trusted, too", s.wanted)
		if w.cfg.has(EarlyLeaves) {
			w.reissue()
		}
	case s.leaf != s.wanted && w.allTrust():
		w.reissue()
	case s.leaf == s.wanted && s.rotating() && (w.age(s.reissued) >= overlap && w.allTrust() || w.cfg.has(EarlyDrop)):
		s.trusted = 1 << s.leaf
		w.say("CA %d alone is to be trusted", s.leaf)
		w.checkTrust()
	}
}

// reissue lets the new CA sign all certificates.
func (w *world) reissue() {
	s := &w.secrets
	s.leaf, s.reissued = s.wanted, w.now
	w.say("certificates are of CA %d", s.leaf)
	w.disturbed++
	w.checkTrust()
}

// allTrust reports whether all Pods were made for the CAs of today, and serve.
func (w *world) allTrust() bool {
	for _, p := range w.pods {
		if p.trust != w.secrets.trust() || !p.ready || p.deleting != never {
			return false
		}
	}
	return w.cluster.recordedTrust() == w.secrets.trust()
}

// checkTrust: a member that runs trusts those who sign now, and shows a certificate of
// those who are trusted now: else the others would reach it no more.
func (w *world) checkTrust() {
	if w.ships() {
		w.checkIssued()
		return
	}
	s := &w.secrets
	for _, r := range w.runs {
		p := w.pod(r.name)
		switch {
		case r.etcd == nil || p == nil || p.uid != r.uid || !w.kubeletTalks(r.node):
		case r.trusted>>s.leaf&1 == 0:
			w.fail(trustKept, "certificates are of CA %d, and %s was started before it was trusted", s.leaf, r.name)
		case s.trusted>>r.leaf&1 == 0:
			w.fail(trustKept, "CA %d is not trusted any more, and %s shows a certificate of it", r.leaf, r.name)
		}
	}
}

// trustKept is the invariant that no member is shut out by the replacement of an
// CA; certified is the one that none begins, or is made to start, without the
// certificates that the spec asks for.
const (
	trustKept = "Trust"
	certified = "Certificates"
)

// mount is a kubelet that brings a Pod's Secrets up to date.
func (w *world) mount(r *run) {
	switch {
	case w.ships():
		w.mountIssued(r)
	case !w.during(SpoilCertificates):
		r.leaf, r.mounted = w.secrets.leaf, w.secrets.trusted
	}
}

// trustEachOther reports whether two members take each other's certificates.
func (w *world) trustEachOther(a, b *run) bool {
	if w.ships() {
		return !w.cfg.TLS || takeEachOther(a.issued[peerTLS], b.issued[peerTLS])
	}
	return !w.cfg.TLS || (a.trusted>>b.leaf&1 == 1 && b.trusted>>a.leaf&1 == 1)
}

// certificates are what an operator sees of them.
func (w *world) certificates() facts.TLS {
	if !w.cfg.TLS {
		return facts.TLS{}
	}
	s := &w.secrets
	t := facts.TLS{Wanted: true, Trust: s.trust(), Leaf: facts.Validity{NotBefore: epoch, NotAfter: epoch.Add(1000 * time.Hour)}}
	switch {
	case s.leaf != s.wanted:
		t.Rotation = v1beta2.CATrustingBoth
	case s.rotating():
		t.Rotation = v1beta2.CAReissuing
	case s.reissued != never && !w.allTrust():
		t.Rotation = v1beta2.CADroppingOld
	}
	if w.during(SpoilCertificates) {
		t.Trust, t.Problem, t.Message = "", facts.CertificatesMissing, "the Secret of the members is gone"
	}
	if w.during(LackCertificates) {
		t.NoClientCertificate, t.Problem, t.Message = true, w.lackingCertificate, "the model says so"
		if t.Problem != facts.CertificatesInvalid {
			t.Trust = ""
		}
	}
	if t.Problem != "" || t.Rotation != "" {
		t.RequeueAfter = lookAgain
	}
	return t
}

// lookAgain is how soon an operator looks again at certificates that it waits for.
const lookAgain = 5 * time.Second

var certificateProblems = []facts.CertificateProblem{facts.CertificatesMissing, facts.CertificatesInvalid, facts.CertificatesPending}

// spoilCertificates is a user who deletes a Secret, or replaces the CA.
func (w *world) spoilCertificates(f Fault) bool {
	if !w.cfg.TLS {
		return false
	}
	if w.ships() {
		return w.spoilIssued(f)
	}
	switch f.Kind {
	case RotateCA:
		if w.secrets.rotating() || w.secrets.wanted > 60 {
			return false
		}
		w.secrets.wanted++
	case LackCertificates:
		w.lackingCertificate = certificateProblems[f.A%len(certificateProblems)]
		fallthrough
	default:
		w.until[f.Kind] = max(w.until[f.Kind], w.step+f.For)
	}
	w.say("FAULT %s", f)
	return true
}

// checkStartable: no member is ended, to be started again, whose Secret is gone (S6).
func (w *world) checkStartable(t *todo, p *pod) {
	if w.during(SpoilCertificates) && w.now-w.issued.lostAt > noticeWithin && t.disturbed == w.disturbed && !t.sent {
		w.fail("S6", "%s is restarted, and the Secret that it needs to start is gone", p.name)
	}
}

// checkCertified: a Pod is made for CAs that are known.
func (w *world) checkCertified(seen *facts.Cluster, name string) {
	if w.cfg.TLS && (seen.LastStatus.TLS == nil || seen.LastStatus.TLS.Trust == "") {
		w.fail(certified, "Pod %s is made, and it is not known whom it is to trust", name)
	}
}
