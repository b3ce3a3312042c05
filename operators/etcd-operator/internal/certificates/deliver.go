package certificates

import (
	"bytes"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Event tells of something that was done, or that is to be known.
type Event struct {
	// Reason is a word, and Message a sentence.
	Reason, Message string
	// Warning is true when somebody has to do something.
	Warning bool
}

// write is one Secret to create (from is nil) or to change, as it was read.
type write struct {
	from, to *corev1.Secret
	// told is empty if nothing is to be told of it.
	told Event
}

// fresh is a certificate with its key, in PEM, and why it takes the place of another.
type fresh struct {
	cert, key []byte
	why       string
}

// deliver is the write that gives a role's Secret what it is to have: a new certificate,
// if there is one, and the CAs; nil if it has that.
func (in *input) deliver(r role, t *rotation, f *fresh) *write {
	from := in.kept[r]
	to := member.Secret(in.cluster, secretOf(in.cluster, r))
	if from != nil {
		to = from.DeepCopy()
	}
	data := map[string][]byte{common.cert: to.Data[common.cert], common.key: to.Data[common.key], common.ca: to.Data[common.ca]}
	if to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	var told Event
	if f != nil {
		data[common.cert], data[common.key] = f.cert, f.key
		if asked := in.cluster.Annotations[v1beta2.AnnotationRenew]; asked != "" {
			to.Annotations[v1beta2.AnnotationRenew] = asked
		}
		told = Event{Reason: v1beta2.ClusterReasonCertificateIssued, Message: fmt.Sprintf("Secret %s has a new certificate: %s", to.Name, f.why)}
	}
	if !parseCAs(data[common.ca]).equal(t.wanted) || len(data[common.ca]) == 0 {
		data[common.ca] = t.wanted.pem()
		if f == nil {
			told = Event{Reason: v1beta2.ClusterReasonTrustedCAsChanged, Message: fmt.Sprintf("Secret %s has changed CAs to trust", to.Name)}
		}
	}
	to.Data = data
	in.stamp(to, annotationTrusted, t.wanted.id())
	p := in.pair(r)
	if f != nil {
		p, _ = readPair(r, to)
	}
	if p != nil && t.newest.sign(p.leaf, p.through) {
		in.stamp(to, annotationIssued, t.newest.id())
	}
	if from != nil && maps.EqualFunc(from.Data, to.Data, bytes.Equal) && equality.Semantic.DeepEqual(from.Annotations, to.Annotations) {
		return nil
	}
	return &write{from: from, to: to, told: told}
}

// stamp notes since when something holds, if it is not noted yet.
func (in *input) stamp(s *corev1.Secret, annotation, id string) {
	if since(s, annotation, id).IsZero() {
		s.Annotations[annotation] = id + " " + stamp(in.now)
	}
}

// renewed reports whether the certificate in a Secret is as new as the user asks.
func (in *input) renewed(s *corev1.Secret) bool {
	asked := in.cluster.Annotations[v1beta2.AnnotationRenew]
	return asked == "" || s.Annotations[v1beta2.AnnotationRenew] == asked
}
