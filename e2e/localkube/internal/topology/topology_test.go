package topology

import (
	"net/netip"
	"testing"
)

func TestNodesHaveDisjointAddressesInsideTheClusterRanges(t *testing.T) {
	pods, nodes, services := netip.MustParsePrefix(PodCIDR), netip.MustParsePrefix(NodeCIDR), netip.MustParsePrefix(ServiceCIDR)
	if !services.Contains(netip.MustParseAddr(ClusterDNS)) {
		t.Errorf("the DNS Service's address %s is outside of %s", ClusterDNS, ServiceCIDR)
	}
	for _, n := range All() {
		if !nodes.Contains(n.Address()) || !nodes.Contains(n.Gateway()) || n.Address() == n.Gateway() {
			t.Errorf("%s: address %s, gateway %s", n.Name(), n.Address(), n.Gateway())
		}
		if !pods.Overlaps(n.PodCIDR()) || n.PodCIDR().Bits() <= pods.Bits() {
			t.Errorf("%s: pods' range %s is not within %s", n.Name(), n.PodCIDR(), pods)
		}
		for _, other := range All() {
			if other != n && (other.Subnet().Overlaps(n.Subnet()) || other.PodCIDR().Overlaps(n.PodCIDR())) {
				t.Errorf("%s and %s overlap", n.Name(), other.Name())
			}
		}
	}
}

func TestParseNumber(t *testing.T) {
	for number, ok := range map[int]bool{-1: false, 0: false, 1: true, MaxNodes: true, MaxNodes + 1: false} {
		if _, err := ParseNumber(number); (err == nil) != ok {
			t.Errorf("ParseNumber(%d): %v", number, err)
		}
	}
}

func TestUnixSocketPathsFitTheKernel(t *testing.T) {
	const longest = 107 // bytes in sockaddr_un, without the final zero
	for _, n := range All() {
		if path := SystemLayout.Node(n).Socket() + ".ttrpc"; len(path) > longest {
			t.Errorf("%s is %d bytes long", path, len(path))
		}
	}
}
