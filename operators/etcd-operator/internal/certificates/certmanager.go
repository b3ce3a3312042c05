package certificates

import (
	"bytes"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// certManager decides for a cluster whose certificates cert-manager issues: into Secrets
// that nobody uses, from where they are delivered when everybody knows their CA.
func (in *input) certManager() outcome {
	wrong := in.strangers(in.mine())
	for _, r := range issuedRoles {
		if from := in.requests[r]; from != nil && !metav1.IsControlledBy(from, in.cluster) {
			wrong = append(wrong, invalid("Certificate %s does not belong to this EtcdCluster, which needs its name: delete it", from.GetName()))
		}
	}
	if len(wrong) > 0 {
		return outcome{state: in.state(nil, wrong)}
	}
	if in.issued == nil {
		return outcome{state: in.state(nil, nil)}
	}
	var out outcome
	for _, r := range issuedRoles {
		if q := in.request(r); q != nil {
			out.requests = append(out.requests, *q)
		}
		if w := in.renew(r); w != nil {
			out.add(w)
		}
	}
	pairs, wrong, told := in.readIssued()
	var t *rotation
	if len(pairs) == len(issuedRoles) {
		t = in.follow(pairs)
		for _, r := range issuedRoles {
			out.add(in.deliver(r, t, in.next(r, t, pairs[r])))
		}
	}
	out.state = in.state(t, wrong)
	out.state.Told = append(out.state.Told, told...)
	if len(pairs) < len(issuedRoles) {
		out.state.requeueWithin(pendingDelay)
	}
	return out
}

// readIssued reads what cert-manager has issued. While a certificate is being renewed, the
// one that was delivered serves on, and what cert-manager says is only told.
func (in *input) readIssued() (pairs map[role]*pair, wrong []problem, told []Event) {
	pairs = map[role]*pair{}
	for _, r := range issuedRoles {
		s, name := in.issued[r], requestName(in.cluster, r)
		var bad *problem
		switch {
		case s == nil || len(s.Data[common.cert]) == 0 || len(s.Data[common.key]) == 0:
			bad = &problem{facts.CertificatesPending, fmt.Sprintf("cert-manager has not issued Certificate %s: %s", name, in.answer(r))}
		case len(s.Data[common.ca]) == 0:
			w := missing("cert-manager has issued Certificate %s without its CA (ca.crt of Secret %s): name an issuer that writes it, such as one of type CA, in spec.TLS.certManager.issuerRef", name, s.Name)
			bad = &w
		default:
			p, problems := readPair(r, s)
			if p == nil {
				bad = &problems[0]
				break
			}
			if !p.trusted.sign(p.leaf, p.through) {
				w := invalid("the certificate in %s is not signed by a CA in %s: correct the issuer in spec.TLS.certManager.issuerRef", p.at(p.files.cert), p.files.ca)
				bad = &w
				break
			}
			pairs[r] = p
			continue
		}
		if in.pair(r) == nil {
			wrong = append(wrong, *bad)
		} else {
			told = append(told, Event{Reason: string(bad.kind), Message: bad.message, Warning: true})
		}
	}
	return pairs, wrong, told
}

// follow finds how far the replacement of a CA has come. While certificates of
// two are issued, since cert-manager renews each in its own time, all are to be trusted.
func (in *input) follow(pairs map[role]*pair) *rotation {
	var newest caSet
	mixed := false
	for _, r := range issuedRoles {
		newest = newest.with(pairs[r].trusted)
	}
	for _, r := range issuedRoles {
		mixed = mixed || !pairs[r].trusted.equal(newest)
	}
	t := in.rotate(newest, nil)
	if mixed && len(t.old) == 0 {
		t.step = v1beta2.CATrustingBoth
		if t.trusted {
			t.step = v1beta2.CAReissuing
		}
		// Clients have half of the overlap to load the CAs.
		told := since(in.kept[server], annotationTrusted, t.wanted.id())
		t.next = told.Add(in.cluster.Spec.Issued().Overlap() / 2)
		t.servers = !told.IsZero() && !in.now.Before(t.next)
		if told.IsZero() || t.servers {
			t.next = time.Time{}
		}
	}
	return &t
}

// next is what a role's Secret is to get of what was issued for it; nil if it has that,
// or must wait until its CA is trusted.
func (in *input) next(r role, t *rotation, p *pair) *fresh {
	from := in.issued[r]
	f := &fresh{cert: from.Data[common.cert], key: from.Data[common.key], why: "cert-manager has issued it"}
	current := in.pair(r)
	if current == nil {
		return f
	}
	same := bytes.Equal(in.kept[r].Data[common.cert], f.cert)
	asked := in.cluster.Annotations[v1beta2.AnnotationRenew]
	if same && (in.renewed(in.kept[r]) || from.Annotations[v1beta2.AnnotationRenew] != asked) {
		return nil
	}
	known := false
	for _, a := range t.wanted {
		one := caSet{a}
		known = known || (one.sign(current.leaf, current.through) && one.sign(p.leaf, p.through))
	}
	if known || (t.trusted && (r != server || t.servers)) {
		return f
	}
	return nil
}

// renew is the write that makes cert-manager issue a certificate anew, since the user asks
// for it: it does when it finds none in its Secret. Nobody uses that Secret.
func (in *input) renew(r role) *write {
	from, asked := in.issued[r], in.cluster.Annotations[v1beta2.AnnotationRenew]
	if from == nil || in.kept[r] == nil || in.renewed(in.kept[r]) || from.Annotations[v1beta2.AnnotationRenew] == asked {
		return nil
	}
	to := from.DeepCopy()
	if to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	to.Annotations[v1beta2.AnnotationRenew] = asked
	if to.Data == nil {
		to.Data = map[string][]byte{}
	}
	to.Data[corev1.TLSCertKey] = []byte{}
	return &write{from: from, to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateIssued, Message: fmt.Sprintf("asked cert-manager to reissue Certificate %s", requestName(in.cluster, r))}}
}
