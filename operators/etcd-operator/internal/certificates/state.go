package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// pendingDelay is how soon to look again while certificates are being issued, and
// wrongDelay while something is wrong with them.
const (
	pendingDelay = 2 * time.Second
	wrongDelay   = 5 * time.Second
)

// State is what is known of a cluster's certificates.
type State struct {
	TLS facts.TLS
	// Config is for calls to the members (etcdclient.By); nil if they serve clients in
	// the clear, or if the operator has nothing to show to them.
	Config *tls.Config
	// Told is what was done, and what is to be known, since the last State.
	Told []Event
	// isHindered is true if a write was rejected.
	isHindered bool
}

// mine are the Secrets of the roles.
func (in *input) mine() []*corev1.Secret {
	var all []*corev1.Secret
	for _, r := range issuedRoles {
		all = append(all, in.kept[r])
	}
	return all
}

// strangers are the problems with Secrets that have a name that the cluster needs, and
// are not the cluster's.
func (in *input) strangers(secrets []*corev1.Secret) []problem {
	var wrong []problem
	for _, s := range secrets {
		if in.foreign(s) {
			wrong = append(wrong, invalid("Secret %s does not belong to this EtcdCluster, which needs its name: delete it", s.Name))
		}
	}
	return wrong
}

// state tells of Secrets as they were read. t is nil while CAs are not known, and
// wrong is what else stands in the way.
func (in *input) state(t *rotation, wrong []problem) State {
	s := State{TLS: facts.TLS{Wanted: true, Trust: announced(in.cluster)}}
	wrong = append(wrong, in.hindered...)
	explained := len(wrong) > 0 && in.cluster.Spec.Issued() != nil
	pairs := map[role]*pair{}
	for _, r := range []role{peer, server, operator, applications} {
		name := secretOf(in.cluster, r)
		if name == "" {
			continue
		}
		secret := in.kept[r]
		if secret == nil {
			if !explained {
				wrong = append(wrong, in.absent(r, name))
			}
			continue
		}
		if in.cluster.Spec.Issued() != nil && in.foreign(secret) {
			continue
		}
		wrong = append(wrong, in.of(r).wrong...)
		if p := in.pair(r); p != nil {
			pairs[r] = p
		}
	}
	wrong = append(wrong, check(in.cluster, pairs, in.now)...)
	in.explain(&s, wrong)
	in.show(&s, pairs[operator])
	s.TLS.Leaf, s.TLS.CA = firstToEnd(pairs, in.now)
	if t != nil {
		s.TLS.Rotation = t.step
		in.announce(&s, t)
	}
	if in.cluster.Spec.Issued() == nil {
		if len(wrong) == 0 {
			s.TLS.Trust = trustHash(trustedBy(pairs[peer]), trustedBy(pairs[server]))
		}
		for _, r := range []role{peer, server, operator} {
			if p := pairs[r]; p != nil && p.endsSoon(in.now) != "" {
				s.Told = append(s.Told, Event{Reason: v1beta2.ClusterReasonCertificateExpiring, Message: p.endsSoon(in.now), Warning: true})
			}
		}
	}
	return s
}

// absent is the problem of a Secret that is not there.
func (in *input) absent(r role, name string) problem {
	if in.cluster.Spec.Issued() == nil {
		old := archived[r]
		return missing("Secret %s does not exist: create it with the keys %s, %s and %s (or %s, %s and %s)", name, old.cert, old.key, old.ca, common.cert, common.key, common.ca)
	}
	message := fmt.Sprintf("the certificate in Secret %s is being issued", name)
	if in.cluster.Spec.Paused {
		message = fmt.Sprintf("Secret %s does not exist: it is created once spec.paused is not set", name)
	}
	return problem{facts.CertificatesPending, message}
}

// explain sums up what is wrong. What somebody has to do comes before what is waited for.
func (in *input) explain(s *State, wrong []problem) {
	var said []string
	for _, kind := range []facts.CertificateProblem{facts.CertificatesMissing, facts.CertificatesInvalid, facts.CertificatesPending} {
		for _, w := range wrong {
			if w.kind != kind {
				continue
			}
			if s.TLS.Problem == "" {
				s.TLS.Problem = kind
			}
			if !slices.Contains(said, w.message) {
				said = append(said, w.message)
			}
		}
	}
	s.TLS.Message = strings.Join(said, "; ")
	switch s.TLS.Problem {
	case "":
	case facts.CertificatesPending:
		s.requeueWithin(pendingDelay)
	default:
		s.requeueWithin(wrongDelay)
	}
}

// show makes what the operator shows to the members, if there is any.
func (in *input) show(s *State, own *pair) {
	if in.cluster.ServerTLSSecret() == "" {
		return
	}
	if own == nil || own.dates(in.now) != nil {
		s.TLS.NoClientCertificate = true
		return
	}
	s.Config = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own.shown}, RootCAs: own.trusted.pool()}
}

// announced is the hash that members trust as far as the status tells.
func announced(c *v1beta2.EtcdCluster) string {
	if c.Status.TLS == nil {
		return ""
	}
	return c.Status.TLS.Trust
}

// unknown returns the State of a cluster whose Secrets were never read.
func unknown(c *v1beta2.EtcdCluster) State {
	return State{TLS: facts.TLS{Wanted: true, Trust: announced(c), NoClientCertificate: c.ServerTLSSecret() != ""}}
}

// unreadable returns the last known State of a cluster, after the API server returned an error for its
// certificates.
func unreadable(last State, err error, now time.Time) State {
	if !last.TLS.Leaf.NotAfter.IsZero() && now.After(last.TLS.Leaf.NotAfter) { // members may not accept it any more
		last.Config, last.TLS.NoClientCertificate = nil, true
	}
	said := []string{"cannot read certificates: " + conditiontext.Clip(err.Error())}
	if last.TLS.NoClientCertificate {
		said = append(said, "the operator cannot ask members until it can read the Secret")
	} else {
		said = append(said, "the operator keeps using the certificates that it read last")
	}
	if apierrors.IsForbidden(err) {
		said = append(said, "grant it that right")
	}
	last.Told = nil
	last.TLS.Problem = facts.CertificatesUnreadable
	last.TLS.Message = strings.Join(said, "; ")
	last.TLS.RequeueAfter = wrongDelay
	return last
}

// announce tells the hash of the CAs that members are to trust, once all Secrets
// have them, and kubelets have had time to hear of that. Until then it stays as it was.
func (in *input) announce(s *State, t *rotation) {
	if !t.next.IsZero() {
		s.requeueWithin(t.next.Sub(in.now))
	}
	hash, settled := trustHash(t.wanted, t.wanted), in.now
	for _, r := range issuedRoles {
		if in.kept[r] == nil || !in.bundle(r).equal(t.wanted) {
			return
		}
		if at := since(in.kept[r], annotationTrusted, t.wanted.id()); at.Add(settling).After(settled) {
			settled = at.Add(settling)
		}
	}
	if was := announced(in.cluster); was != "" && was != hash && settled.After(in.now) {
		s.requeueWithin(settled.Sub(in.now))
		return
	}
	s.TLS.Trust = hash
}

// requeueWithin asks to look again, unless that is asked for sooner.
func (s *State) requeueWithin(in time.Duration) {
	if in = max(in, time.Millisecond); s.TLS.RequeueAfter == 0 || in < s.TLS.RequeueAfter {
		s.TLS.RequeueAfter = in
	}
}

// trustedBy are the CAs beside a certificate; none without one.
func trustedBy(p *pair) caSet {
	if p == nil {
		return nil
	}
	return p.trusted
}

// firstToEnd is the validity of the certificate that ends first, and of the CA that does of those that
// have signed them; zero if there is none.
func firstToEnd(pairs map[role]*pair, now time.Time) (leaf, ca facts.Validity) {
	sooner := func(first *facts.Validity, c *x509.Certificate) {
		if v := (facts.Validity{NotBefore: c.NotBefore, NotAfter: c.NotAfter}); v.EndsBefore(*first) {
			*first = v
		}
	}
	for r, p := range pairs {
		sooner(&leaf, p.leaf)
		if by := verifier(pairs, r); by != nil {
			chain, _ := p.chain(by, now)
			for i, c := range chain {
				if i > 0 { // the first one is the leaf
					sooner(&ca, c)
				}
			}
		}
	}
	return leaf, ca
}
