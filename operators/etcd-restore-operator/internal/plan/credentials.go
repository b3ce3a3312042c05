package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Credentials are those that etcd-operator shows a cluster with authentication enabled, as
// far as an EtcdCluster's spec tells: the names of Secrets, which the operator never reads.
type Credentials struct {
	// RootSecret is spec.auth.rootSecret; empty if there is none.
	RootSecret string
	// CommonName is the name in the operator's client certificate, if the operator issues
	// it. TLSSecret is the Secret with one that somebody else issues. Both are empty without
	// TLS.
	CommonName, TLSSecret string
}

// credentials are those of the cluster that is restored or will be made.
func (v *view) credentials() Credentials {
	spec := v.clusterSpec()
	c := Credentials{RootSecret: spec.RootSecret()}
	switch cluster := (&v1beta2.EtcdCluster{Spec: *spec}); {
	case spec.Issued() != nil:
		c.CommonName = v1beta2.DefaultRootUser
	default:
		c.TLSSecret = cluster.OperatorTLSSecret()
	}
	return c
}
