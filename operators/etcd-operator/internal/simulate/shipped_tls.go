package simulate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"math/bits"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// This file is TLS with the shipped keeper of certificates. Its Secrets are real; who takes
// whose certificate follows from the CAs in them, which are numbered as they come.

// The Secrets of a cluster, by whose they are.
const (
	peerTLS = iota
	serverTLS
	operatorTLS
	clientTLS
	numTLS
)

var secretNames = [numTLS]string{clusterName + "-peer-tls", clusterName + "-server-tls", clusterName + "-operator-tls", clusterName + "-client-tls"}

const caSecret = clusterName + "-ca-tls"

// side is one side of a handshake: the CA whose certificate it shows, those that it trusts,
// and, of a member, those that are mounted and that etcd reads when it starts.
type side struct {
	usable           bool
	leaf             int
	mounted, trusted uint64
}

func takeEachOther(a, b side) bool {
	return a.usable && b.usable && a.trusted>>b.leaf&1 == 1 && b.trusted>>a.leaf&1 == 1
}

// issued is what the world knows of Secrets.
type issued struct {
	// cas are the CAs, and numbers what they are called, by key id.
	cas     []*x509.Certificate
	numbers map[string]int
	sides   [numTLS]side
	// static are the Secrets that a person keeps, and lostAt is when one of them was taken away.
	static []*corev1.Secret
	lostAt time.Duration
	// shown are the sides of configurations of operators.
	shown *tls.Config
	side  side
}

// askForTLS is the spec and the annotation of a user who wants certificates to be issued.
func (w *world) askForTLS(c *etcdCluster, o *v1beta2.EtcdCluster) {
	if w.isStatic() {
		o.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
			Member:         &v1beta2.MemberSecret{PeerSecret: secretNames[peerTLS], ServerSecret: secretNames[serverTLS]},
			OperatorSecret: secretNames[operatorTLS],
		}}
		return
	}
	o.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{IssuedTLS: v1beta2.IssuedTLS{CAOverlap: &metav1.Duration{Duration: 2 * overlap}}}}
	if c.rotate > 0 {
		o.Annotations[v1beta2.AnnotationRotateCA] = strconv.Itoa(c.rotate)
	}
}

func (w *world) secret(name string) *corev1.Secret {
	s, _ := w.children[childKey(&corev1.Secret{}, name)].(*corev1.Secret)
	return s
}

func (a *api) createSecret(s *corev1.Secret) error {
	if a.w.secret(s.Name) != nil {
		return apierrors.NewAlreadyExists(secretResource, s.Name)
	}
	a.w.touch("a Secret is made")
	s.UID, s.ResourceVersion = types.UID(a.w.uid()), "1"
	a.w.keepSecret(s.DeepCopy())
	return nil
}

func (a *api) patchSecret(o client.Object, how client.Patch) error {
	is := a.w.secret(o.GetName())
	if is == nil {
		return apierrors.NewNotFound(secretResource, o.GetName())
	}
	data, err := how.Data(o) // the difference
	if err != nil {
		return err
	}
	var next corev1.Secret
	if err := patched(is, client.RawPatch(how.Type(), data), &next); err != nil {
		return err
	}
	if next.ResourceVersion != is.ResourceVersion {
		return apierrors.NewConflict(secretResource, is.Name, errConflict)
	}
	a.w.touch("a Secret is changed")
	a.w.keepSecret(&next)
	return nil
}

var secretResource = corev1.Resource("secrets")

// keepSecret makes a Secret what the API server has.
func (w *world) keepSecret(s *corev1.Secret) {
	n, _ := strconv.Atoi(s.ResourceVersion)
	s.ResourceVersion = strconv.Itoa(n + 1)
	w.children[childKey(s, s.Name)] = s
	w.readSecret(s.Name)
	if w.trace != nil {
		w.say("Secret %s is written: %v", s.Name, w.issued.sides)
	}
	w.disturbed++
	w.checkIssued()
}

// dropSecret is a person who deletes one.
func (w *world) dropSecret(name string) {
	delete(w.children, childKey(&corev1.Secret{}, name))
	w.readSecret(name)
	w.disturbed++
}

// readSecret notes whose certificate a Secret has, and which CAs.
func (w *world) readSecret(name string) {
	for i, n := range secretNames {
		if n != name {
			continue
		}
		is := &w.issued.sides[i]
		s := w.secret(name)
		if s == nil {
			*is = side{}
			return
		}
		leaf, err := cert.ParseCertsPEM(s.Data[corev1.TLSCertKey])
		trusted, _ := cert.ParseCertsPEM(s.Data[corev1.ServiceAccountRootCAKey])
		*is = side{usable: err == nil}
		for _, ca := range trusted {
			is.trusted |= 1 << w.issued.number(ca)
		}
		if err == nil {
			is.leaf = w.issued.numbers[string(leaf[0].AuthorityKeyId)]
		}
	}
}

// number is what a CA is called.
func (k *issued) number(ca *x509.Certificate) int {
	if n, ok := k.numbers[string(ca.SubjectKeyId)]; ok {
		return n
	}
	if k.numbers == nil {
		k.numbers = map[string]int{}
	}
	k.numbers[string(ca.SubjectKeyId)] = len(k.cas)
	k.cas = append(k.cas, ca)
	return len(k.cas) - 1
}

// mountable reports whether a Pod gets its Secrets.
func (w *world) mountable() bool {
	return !w.ships() || (w.secret(secretNames[peerTLS]) != nil && w.secret(secretNames[serverTLS]) != nil)
}

// mountIssued is a kubelet that brings a Pod's Secrets up to date, as long as they exist.
func (w *world) mountIssued(r *run) {
	for i := range operatorTLS {
		if is := w.issued.sides[i]; w.secret(secretNames[i]) != nil {
			r.issued[i].usable, r.issued[i].leaf, r.issued[i].mounted = is.usable, is.leaf, is.trusted
		}
	}
}

// loadCAs is etcd as it starts.
func (w *world) loadCAs(r *run) {
	r.trusted = r.mounted
	for i := range r.issued {
		r.issued[i].trusted = r.issued[i].mounted
	}
}

// shakesHands reports whether an operator and a member take each other's certificates.
func (m *members) shakesHands(ctx context.Context, r *run) bool {
	if !m.w.cfg.TLS || r.state == waiting { // launchers answer everybody
		return true
	}
	k := &m.w.issued
	config := etcdclient.ConfigOf(ctx)
	if config == nil {
		return false
	}
	if k.shown != config {
		k.shown, k.side = config, side{usable: true, leaf: k.numbers[string(config.Certificates[0].Leaf.AuthorityKeyId)]}
		for i, ca := range k.cas {
			if _, err := ca.Verify(x509.VerifyOptions{Roots: config.RootCAs, CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
				k.side.trusted |= 1 << i
			}
		}
	}
	return takeEachOther(k.side, r.issued[serverTLS])
}

// checkIssued: members that run and are told of Secrets take each other's certificates, and
// those of the operator and of applications, and these theirs.
func (w *world) checkIssued() {
	shows := func(r *run, what string, member, other side) {
		switch {
		case !other.usable || !member.usable: // it was spoilt: it shows none
		case member.trusted>>other.leaf&1 == 0:
			w.fail(trustKept, "the %s certificate is of CA %d, and %s was started before it was trusted", what, other.leaf, r.name)
		case other.trusted>>member.leaf&1 == 0:
			w.fail(trustKept, "%s shows a certificate of CA %d, which is not trusted any more for %s", r.name, member.leaf, what)
		}
	}
	for _, r := range w.runs {
		p := w.pod(r.name)
		if r.etcd == nil || p == nil || p.uid != r.uid || !w.kubeletTalks(r.node) {
			continue
		}
		shows(r, "peer", r.issued[peerTLS], w.issued.sides[peerTLS])
		shows(r, "operator", r.issued[serverTLS], w.issued.sides[operatorTLS])
		shows(r, "client", r.issued[serverTLS], w.issued.sides[clientTLS])
	}
}

// isRotating reports whether a CA is being replaced, or is to be.
func (w *world) isRotating() bool {
	if !w.ships() || w.isStatic() {
		return false
	}
	ca := w.secret(caSecret)
	if ca == nil || isSpoilt(ca) || ca.Annotations[v1beta2.AnnotationRotateCA] != "" && ca.Annotations[v1beta2.AnnotationRotateCA] != strconv.Itoa(w.cluster.rotate) {
		return true
	}
	for _, is := range w.issued.sides {
		if bits.OnesCount64(is.trusted) != 1 {
			return true
		}
	}
	return false
}

func isSpoilt(s *corev1.Secret) bool { return string(s.Data[corev1.TLSCertKey]) == nothing }

// nothing is what is in a Secret that is spoilt.
const nothing = "nothing"

// dropSpoiltCA is a user who does as he is told with a CA that cannot be read: he deletes it.
func (w *world) dropSpoiltCA() {
	if s := w.secret(caSecret); s != nil && isSpoilt(s) {
		w.say("the user deletes Secret %s", caSecret)
		w.dropSecret(caSecret)
	}
}

// spoilIssued is a user who asks for a new CA, or deletes or spoils Secrets.
func (w *world) spoilIssued(f Fault) bool {
	if w.isStatic() {
		return w.spoilStatic(f)
	}
	names := append([]string{caSecret}, secretNames[:]...)
	name := names[f.A%len(names)]
	s := w.secret(name)
	switch {
	case s == nil || len(w.issued.cas) > 50:
		return false
	case f.Kind != RotateCA && (w.isRotating() || slices.ContainsFunc(w.issued.sides[:], func(s side) bool { return !s.usable })):
		return false // with the key of a CA and a certificate of it both lost, members are shut out
	case f.Kind == RotateCA:
		w.cluster.rotate++
		w.cluster.version++
	case f.Kind == SpoilCertificates:
		w.dropSecret(name)
	case f.Kind == LackCertificates:
		s = s.DeepCopy()
		s.Data[corev1.TLSCertKey] = []byte(nothing)
		w.keepSecret(s)
	}
	w.say("FAULT %s: %s", f, name)
	return true
}
