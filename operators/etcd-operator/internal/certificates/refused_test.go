package certificates

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What cert-manager has issued and cannot be used, each with what its user has to correct.
func TestUnusableIsNotDelivered(t *testing.T) {
	by, other := caAt(t, noon), caAt(t, noon)
	for name, row := range map[string]struct {
		change func(map[string][]byte)
		says   string
	}{
		"without its CA": {
			func(data map[string][]byte) { delete(data, common.ca) },
			"cert-manager has issued Certificate x-peer without its CA (ca.crt of Secret x-peer-issued-tls): name an issuer that writes it",
		},
		"with another's CA": {
			func(data map[string][]byte) { data[common.ca] = encode(other.cert.Raw) },
			"the certificate in tls.crt of Secret x-peer-issued-tls is not signed by a CA in ca.crt: correct the issuer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &input{now: noon, issued: map[role]*corev1.Secret{}, cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}}
			policy := certManagerPolicy()
			in.cluster.Spec.TLS = &policy
			certPEM, keyPEM, err := by.issue(in.cluster, peer, time.Hour, noon)
			if err != nil {
				t.Fatal(err)
			}
			in.issued[peer] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: issuedName(in.cluster, peer)}, Data: map[string][]byte{
				common.cert: certPEM, common.key: keyPEM, common.ca: encode(by.cert.Raw),
			}}
			row.change(in.issued[peer].Data)
			pairs, wrong, _ := in.readIssued()
			if pairs[peer] != nil || !says(wrong, row.says) {
				t.Errorf("got %+v, want %q", wrong, row.says)
			}
		})
	}
}

// says notes problems, and reports whether one of them has a text.
func says(wrong []problem, text string) bool {
	found := false
	for _, w := range wrong {
		messages.NoteShape("CertificatesReady=False "+string(w.kind), w.message)
		found = found || strings.Contains(w.message, text)
	}
	return found
}

// failing is an API server that refuses every write.
type failing struct {
	client.Client
	with error
}

func (f failing) Create(context.Context, client.Object, ...client.CreateOption) error { return f.with }

// What the API server refuses is told with what mends it.
func TestRefusedCertificatesAreTold(t *testing.T) {
	resource := schema.GroupResource{Group: certManagerGroup, Resource: "certificates"}
	for name, row := range map[string]struct {
		err  error
		kind facts.CertificateProblem
		says string
	}{
		"no right":  {apierrors.NewForbidden(resource, "x-peer", errors.New("no such right")), facts.CertificatesMissing, "the operator is not allowed to request certificates from cert-manager ("},
		"no number": {apierrors.NewBadRequest("spec.duration is too short"), facts.CertificatesInvalid, "cert-manager rejects the Certificates that spec.TLS.certManager asks for (spec.duration is too short): correct it"},
		"a failure": {apierrors.NewInternalError(errors.New("no leader")), facts.CertificatesPending, "cannot write Certificate x-peer: Internal error occurred: no leader"},
	} {
		t.Run(name, func(t *testing.T) {
			to := &unstructured.Unstructured{}
			to.SetName("x-peer")
			done, wrong := (&Keeper{Client: failing{with: row.err}}).request(t.Context(), request{to: to})
			if done || wrong == nil || wrong.kind != row.kind || !says([]problem{*wrong}, row.says) {
				t.Errorf("done %t, %+v, want %s, %q", done, wrong, row.kind, row.says)
			}
		})
	}
}
