// Package topology says where everything of the cluster is: addresses, names, and files.
//
// Node 1 is the machine itself: it runs the control plane and its pods in the machine's network namespace, with the
// address of a bridge of our own, so that nothing depends on the machine's interfaces. Nodes 2 and 3 each have a
// network namespace of their own, tied to the machine by a veth pair, and so can be cut off.
package topology

import (
	"fmt"
	"net/netip"
)

const (
	// MaxNodes is what one small machine carries, and what a three-member etcd needs.
	MaxNodes = 3

	// ServiceCIDR holds the Services' addresses: kubeadm's and kind's usual range.
	ServiceCIDR = "10.96.0.0/16"
	// ClusterDNS is the DNS Service's address.
	ClusterDNS = "10.96.0.10"
	// PodCIDR holds the pods' addresses, of all nodes: kind's usual range.
	PodCIDR = "10.244.0.0/16"
	// NodeCIDR holds the nodes' addresses, a /24 for each.
	NodeCIDR = "172.30.0.0/16"
	// ClusterDomain is the DNS domain of Services and pods.
	ClusterDomain = "cluster.local"

	// APIServerPort is the usual one.
	APIServerPort = 6443
	// EtcdClientPort is not 2379, which tests on the machine may want.
	EtcdClientPort = 12379
	// EtcdPeerPort is not 2380, for the same reason.
	EtcdPeerPort = 12380

	// PodBridge is the pods' bridge in each node's network namespace.
	PodBridge = "lkpods"
	// LinkPrefix begins the name of every interface that localkube makes in the machine's own namespace.
	LinkPrefix = "lk"
	// NetworkTable is the nft table that masquerades what leaves the cluster.
	NetworkTable = "localkube"
	// CNINetwork is the pod network's name in CNI, and so in the names of CNI's cache files.
	CNINetwork = "localkube"
)

// Node is one node of the cluster, counted from 1.
type Node struct{ Number int }

// ControlPlane is the node on the machine itself.
var ControlPlane = Node{Number: 1}

// ParseNumber returns the node with that number, if there can be one.
func ParseNumber(number int) (Node, error) {
	if number < 1 || number > MaxNodes {
		return Node{}, fmt.Errorf("node %d does not exist: nodes are numbered 1 to %d", number, MaxNodes)
	}
	return Node{Number: number}, nil
}

// All returns every node there can be.
func All() []Node {
	nodes := make([]Node, 0, MaxNodes)
	for n := 1; n <= MaxNodes; n++ {
		nodes = append(nodes, Node{Number: n})
	}
	return nodes
}

// Isolated tells whether the node has a network namespace of its own, and so can be stopped and cut off.
func (n Node) Isolated() bool { return n != ControlPlane }

// Name is the Kubernetes node's name.
func (n Node) Name() string { return fmt.Sprintf("localkube-%d", n.Number) }

// Zone is the node's failure domain, which has no other node.
func (n Node) Zone() string { return fmt.Sprintf("zone-%d", n.Number) }

// Address is the node's InternalIP.
func (n Node) Address() netip.Addr { return n.host(2) }

// Gateway is the machine's end of an isolated node's veth pair.
func (n Node) Gateway() netip.Addr { return n.host(1) }

// Subnet holds Address and Gateway.
func (n Node) Subnet() netip.Prefix { return netip.PrefixFrom(n.host(0), 24) }

func (n Node) host(last byte) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 30, byte(n.Number), last})
}

// PodCIDR is the node's share of the pods' addresses.
func (n Node) PodCIDR() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(n.Number), 0}), 24)
}

// Link is the node's interface in the machine's network namespace: a bridge that carries the node's address for the
// control plane's node, the machine's end of the veth pair for the others.
func (n Node) Link() string { return fmt.Sprintf("%s%d", LinkPrefix, n.Number) }

// Cgroup is the node's root in every cgroup hierarchy, without the leading slash.
func (n Node) Cgroup() string { return n.Name() }
