package certificates

import (
	"crypto/x509"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// role is what a certificate is for.
type role string

const (
	// peer is shown by members to each other.
	peer role = "peer"
	// server is shown by members to clients.
	server role = "server"
	// operator is shown to members by the operators and the Jobs of backups.
	operator role = "operator"
	// applications is shown to members by applications; it is only issued, never the user's own.
	applications role = "client"
)

// issuedRoles are those for which certificates are issued, in the order in which a new
// CA's are delivered.
var issuedRoles = []role{operator, applications, peer, server}

// files are the names of a Secret's keys.
type files struct{ cert, key, ca string }

// common are those of Secrets of type kubernetes.io/tls.
var common = files{cert: corev1.TLSCertKey, key: corev1.TLSPrivateKeyKey, ca: corev1.ServiceAccountRootCAKey}

// archived are the names that the predecessor's users have, for each role.
var archived = map[role]files{
	peer:     {cert: "peer.crt", key: "peer.key", ca: "peer-ca.crt"},
	server:   {cert: "server.crt", key: "server.key", ca: "server-ca.crt"},
	operator: {cert: "etcd-client.crt", key: "etcd-client.key", ca: "etcd-client-ca.crt"},
}

// secretOf is the name of the Secret of a role; "" if the cluster has none.
func secretOf(c *v1beta2.EtcdCluster, r role) string {
	switch r {
	case peer:
		return c.PeerTLSSecret()
	case server:
		return c.ServerTLSSecret()
	case operator:
		return c.OperatorTLSSecret()
	default:
		return c.ClientTLSSecret()
	}
}

// subject is the common name of a certificate that is issued; that of applications may be
// empty. That of the operator is etcd's own administrator, so that etcd's authentication lets it
// through.
func subject(c *v1beta2.EtcdCluster, r role) string {
	switch r {
	case operator:
		return v1beta2.DefaultRootUser
	case applications:
		return c.ClientCommonName()
	case peer, server:
	}
	return c.Name + "-" + string(r)
}

// usages are what a certificate that is issued is good for. etcd shows the server's to
// itself as a client, too.
func usages(r role) []x509.ExtKeyUsage {
	if r == peer || r == server {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}
