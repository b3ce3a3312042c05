package certificates

import (
	"net"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// defaultDomain is what Kubernetes clusters call themselves unless told otherwise.
const defaultDomain = "cluster.local"

// someMember stands for the member whose name nobody knows yet.
const someMember = "0123456789"

// domain is that of the Kubernetes cluster, without dots around.
func domain(c *v1beta2.EtcdCluster) string {
	if c.Spec.Pod != nil {
		if d := strings.Trim(c.Spec.Pod.ClusterDomain, "."); d != "" {
			return d
		}
	}
	return defaultDomain
}

// namesOf are the names and addresses in a certificate that is issued. Members' names
// are drawn when they are made, so that theirs is one for all. One without a common name has
// another: RFC 5280 and cert-manager ask for one of the two.
func namesOf(c *v1beta2.EtcdCluster, r role) (names []string, addresses []net.IP) {
	if r != peer && r != server {
		if subject(c, r) == "" {
			names = []string{c.Name + "-" + string(r)}
		}
		return names, nil
	}
	headless := member.PeerServiceName(c.Name) + "." + c.Namespace + ".svc"
	names = []string{"*." + headless, "*." + headless + "." + domain(c)}
	if r == peer {
		return names, nil
	}
	front := member.ClientServiceName(c.Name)
	names = append(names,
		front, front+"."+c.Namespace, front+"."+c.Namespace+".svc", front+"."+c.Namespace+".svc."+domain(c),
		headless, "localhost")
	addresses = []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback}
	issued := c.Spec.Issued()
	if issued == nil {
		return names, addresses
	}
	for _, n := range issued.ServerNames {
		if ip := net.ParseIP(n); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, n)
		}
	}
	return names, addresses
}

// hosts are the names that a certificate must be for, so that those who connect accept
// it: of any member, and of the client Service.
func hosts(c *v1beta2.EtcdCluster, r role) []string {
	all := []string{member.Host(c, member.Name(c.Name, someMember))}
	if r == server {
		all = append(all, member.ClientServiceName(c.Name)+"."+c.Namespace+".svc")
	}
	return all
}
