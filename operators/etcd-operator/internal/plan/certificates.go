package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// unfitToStart says why a member that is restarted may not come back; empty if nothing is
// known to be in its way. One whose Secret is gone runs on, and starts no more.
func unfitToStart(v *facts.View) string {
	if t := &v.Cluster.TLS; t.Problem == facts.CertificatesMissing || t.Problem == facts.CertificatesInvalid {
		return t.Message
	}
	return ""
}
