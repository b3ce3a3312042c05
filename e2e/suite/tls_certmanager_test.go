package suite

import (
	"context"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// anotherName is one of the spec's serverNames.
const anotherName = "etcd.example.com"

// TestCertManager: a cluster whose certificates cert-manager issues, that of the example,
// waits for it, grows, and has them renewed. When the Issuer has another CA, that
// is brought to members and clients in the same steps as the operator's own.
func TestCertManager(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperatorWith(t, harness.Install{CertManager: true})
	s.within(oneMinute, env.InstallCertManagerKinds)
	s.applyExample("cluster-tls-cert-manager.yaml", asItIs)
	c := s.existing("example-issued")
	c.becomes("waiting for cert-manager", harness.All(certificatesAre(false, "CertificatesPending"), withoutMembers), oneMinute)
	s.kubectl("wait", "--for=create", "certificate/example-issued-server", "--timeout=30s")
	s.must(c.Patch(s.ctx, map[string]any{"spec": map[string]any{"TLS": map[string]any{"certManager": map[string]any{
		"caOverlap": overlap.String(), "serverNames": []string{anotherName},
	}}}}))
	s.within(oneMinute, s.certificateNames("example-issued-server", anotherName))
	s.within(oneMinute, func(ctx context.Context) error { return env.StartCertManager(ctx, s.view, s.ns) })
	c.settles(3, twoMinutes)
	c.becomes("ready", certificatesAre(true, ""), oneMinute)

	w, st := c.writes(), s.aStranger("example-issued-client-tls", "example-issued-peer-tls")
	st.isLetIn(c, clientPort, "example-issued-client-tls")
	st.isLetIn(c, peerPort, "example-issued-peer-tls")
	st.isRefused(c, clientPort, "")
	c.isRenewed(st)
	w.noticedNoFailure(aBlink)
	c.hasItsCAReplaced(w, func() {
		// Without its Secret, cert-manager makes another.
		s.kubectl("delete", "secret", "example-ca")
		s.within(oneMinute, c.secretHas("example-ca", "cert-manager.io/certificate-name", "example-ca"))
		s.kubectl("annotate", "--overwrite", "etcd", c.Name, v1beta2.AnnotationRenew+"=again")
	})
	w.noticedNoFailure(aBlink)
	w.lostNothing(3)
	s.leaksNothing()
}

// certificateNames: that Certificate is asked for with that DNS name.
func (s *scene) certificateNames(certificate, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		return harness.Poll(ctx, "Certificate "+certificate+" to name "+name, func(ctx context.Context) (string, error) {
			names, err := env.Kubectl.Run(ctx, "-n", s.ns, "get", "certificate", certificate, "-o", "jsonpath={.spec.dnsNames}")
			if err != nil || strings.Contains(names, name) {
				return "", err
			}
			return "it names " + names, nil
		})
	}
}
