package report

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// A restore fences the cluster that it creates before its certificates are issued: only what a
// person must do something about is a Warning.
func TestOnlyCertificatesThatAPersonMustMendAreAWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		tls    facts.TLS
		warned bool
	}{
		"nobody has looked at them yet": {facts.TLS{NoClientCertificate: true}, false},
		"they are being issued":         {facts.TLS{NoClientCertificate: true, Problem: facts.CertificatesPending, Message: "cert-manager has not issued Certificate x-peer: it does not say why"}, false},
		"a Secret is missing":           {facts.TLS{NoClientCertificate: true, Problem: facts.CertificatesMissing, Message: "Secret etcd-peer-tls is not there: create it"}, true},
	} {
		tc.tls.Wanted = true
		o := facts.Observation{Cluster: facts.Cluster{Namespace: "ns", Name: "x", Size: 3, Version: "3.6.16", TLS: tc.tls, Fence: facts.Fence{Mark: "r1"}}}
		d := plan.Plan(o)
		recorder := events.NewFakeRecorder(1)
		r := Reporter{Events: recorder}
		r.TellCertificates(t.Context(), &v1beta2.EtcdCluster{}, &d.Status, &o.Cluster.TLS, &d)
		select {
		case e := <-recorder.Events:
			if !tc.warned || !strings.HasPrefix(e, "Warning") {
				t.Errorf("%s: %s", name, e)
			}
		default:
			if tc.warned {
				t.Errorf("%s: no event, want a Warning", name)
			}
		}
	}
}
