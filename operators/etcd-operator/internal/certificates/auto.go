package certificates

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Keys of the CA's Secret, beside those of its present certificate and key, while
// it is being replaced.
const (
	formerCert = "old.crt"
	formerKey  = "old.key"
)

// outcome is what follows from an input.
type outcome struct {
	state  State
	writes []write
	// requests are cert-manager's Certificates to write.
	requests []request
}

// add notes a write, if there is one.
func (o *outcome) add(w *write) {
	if w != nil {
		o.writes = append(o.writes, *w)
	}
}

// auto decides for a cluster whose CA the operator is.
func (in *input) auto() (outcome, error) {
	if wrong := in.strangers(append(in.mine(), in.ca)); len(wrong) > 0 {
		return outcome{state: in.state(nil, wrong)}, nil
	}
	if in.ca == nil {
		if wrong := in.lostCA(); len(wrong) > 0 {
			return outcome{state: in.state(nil, wrong)}, nil
		}
		w, err := in.establish()
		return outcome{state: in.state(nil, nil), writes: []write{w}}, err
	}
	present := readCA(in.ca.Data, common.cert, common.key)
	if present == nil {
		return outcome{state: in.state(nil, []problem{invalid("Secret %s no longer holds a CA certificate and its key: restore it, or delete it to have a new CA rotated in without downtime", in.ca.Name)})}, nil
	}
	t := in.rotate(caSet{present.cert}, parseCAs(in.ca.Data[formerCert]))
	if in.mustReplace(present, &t) {
		w, err := in.replace()
		return outcome{state: in.state(&t, nil), writes: []write{w}}, err
	}
	out := outcome{state: in.state(&t, nil)}
	for _, r := range issuedRoles {
		f, err := in.reissue(r, &t, present)
		if err != nil {
			return out, err
		}
		out.add(in.deliver(r, &t, f))
	}
	if len(out.writes) == 0 && len(t.wanted) == 1 && len(in.ca.Data[formerCert]) > 0 {
		out.add(in.forget())
	}
	return out, nil
}

// lostCA returns the problem of a cluster that has lost its CA and a Secret that the CA signed, while a member
// trusts that CA. Members serve with the files that their kubelets keep, and would not accept what a new CA
// signs. The operator would lock itself out, or members would refuse each other. If only the CA's Secret is
// lost, nothing has to be signed until members trust both CAs.
func (in *input) lostCA() []problem {
	var gone []string
	for _, r := range []role{peer, server, operator} {
		if in.kept[r] == nil {
			gone = append(gone, secretOf(in.cluster, r))
		}
	}
	i := slices.IndexFunc(in.pods, func(p pod) bool { return p.trust != "" })
	if len(gone) == 0 || i < 0 {
		return nil
	}
	ca := in.cluster.CATLSSecret()
	return []problem{missing("Secret %s with the CA is gone, and so is %s: restore Secret %s from a backup, because Pod %s trusts only its CA",
		ca, strings.Join(gone, ", "), ca, in.pods[i].name)}
}

// establish makes the cluster's CA. If there were Secrets of another one, whose
// own was lost, its certificates stay trusted until all members trust the new one.
func (in *input) establish() (write, error) {
	certPEM, keyPEM, err := newCA(in.cluster, in.cluster.Spec.TLS.Auto.EffectiveCALifetime(), in.now)
	if err != nil {
		return write{}, err
	}
	to := member.Secret(in.cluster, in.cluster.CATLSSecret())
	to.Data = map[string][]byte{common.cert: certPEM, common.key: keyPEM}
	in.heed(to)
	return write{to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateAuthorityChanged, Message: fmt.Sprintf("created the cluster's CA in Secret %s", to.Name)}}, nil
}

// mustReplace reports whether a new CA is to be made: two thirds of the life of
// the present one have passed, or the user asks for it. While one is being replaced, the
// next waits.
func (in *input) mustReplace(present *signingCA, t *rotation) bool {
	if len(t.old) > 0 || (!t.trusted && in.now.Before(present.cert.NotAfter)) {
		return false
	}
	asked := in.cluster.Annotations[v1beta2.AnnotationRotateCA]
	return (asked != "" && in.ca.Annotations[v1beta2.AnnotationRotateCA] != asked) ||
		due(present.cert, in.cluster.Spec.TLS.Auto.EffectiveCALifetime(), in.now)
}

// replace makes a new CA beside the present one, which signs until all members
// trust the new one.
func (in *input) replace() (write, error) {
	certPEM, keyPEM, err := newCA(in.cluster, in.cluster.Spec.TLS.Auto.EffectiveCALifetime(), in.now)
	if err != nil {
		return write{}, err
	}
	to := in.ca.DeepCopy()
	to.Data = map[string][]byte{
		common.cert: certPEM, common.key: keyPEM,
		formerCert: in.ca.Data[common.cert], formerKey: in.ca.Data[common.key],
	}
	in.heed(to)
	return write{from: in.ca, to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateAuthorityChanged, Message: fmt.Sprintf("CA rotation started for Secret %s: members restart to trust both CAs", to.Name)}}, nil
}

// heed notes which wish for a new CA was fulfilled.
func (in *input) heed(s *corev1.Secret) {
	if asked := in.cluster.Annotations[v1beta2.AnnotationRotateCA]; asked != "" {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[v1beta2.AnnotationRotateCA] = asked
	}
}

// forget drops the former CA from the Secret: no other Secret has it any more.
func (in *input) forget() *write {
	to := in.ca.DeepCopy()
	to.Data = maps.Clone(in.ca.Data)
	delete(to.Data, formerCert)
	delete(to.Data, formerKey)
	return &write{from: in.ca, to: to, told: Event{Reason: v1beta2.ClusterReasonCertificateAuthorityChanged, Message: fmt.Sprintf("CA rotation: the former CA of Secret %s is no longer trusted; members restart", to.Name)}}
}

// reissue makes the certificate that a role needs; nil if it has a good one.
func (in *input) reissue(r role, t *rotation, present *signingCA) (*fresh, error) {
	p := in.pair(r)
	signer := in.signer(r, p, t, present)
	why := ""
	lifetime := in.cluster.Spec.Issued().Lifetime()
	switch {
	case p == nil:
		why = "no usable one existed"
		if in.kept[r] == nil {
			why = "it is the first"
		}
	case signer == nil:
		return nil, nil
	case !(caSet{signer.cert}).sign(p.leaf, p.through):
		why = "the new CA has signed it"
	case !in.renewed(in.kept[r]):
		why = "its renewal was requested"
	case signer.outdated(in.cluster, p, lifetime, in.now):
		why = "the former one expires or is for other names"
	default:
		return nil, nil
	}
	certPEM, keyPEM, err := signer.issue(in.cluster, r, lifetime, in.now)
	if err != nil {
		return nil, err
	}
	return &fresh{cert: certPEM, key: keyPEM, why: why}, nil
}

// signer is the CA that a role's certificate is to be of now; nil if that is one
// whose key is lost, and the certificate stays as it is.
func (in *input) signer(r role, p *pair, t *rotation, present *signingCA) *signingCA {
	if len(t.old) == 0 || (p != nil && t.newest.sign(p.leaf, p.through)) {
		return present
	}
	if t.trusted && (r != server || t.servers) {
		return present
	}
	if former := readCA(in.ca.Data, formerCert, formerKey); former != nil {
		return former
	}
	if p == nil {
		return present
	}
	return nil
}
