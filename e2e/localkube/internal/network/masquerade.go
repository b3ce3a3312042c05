package network

import (
	"fmt"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func machineTable() string {
	return table("ip", topology.NetworkTable, chain("postrouting", "type nat hook postrouting priority srcnat;",
		podsLeave(topology.ControlPlane),
		fmt.Sprintf("ip saddr %s oifname != %q masquerade;", topology.NodeCIDR, topology.LinkPrefix+"*"),
	))
}

func nodeTable(n topology.Node) string {
	return table("ip", topology.NetworkTable, chain("postrouting", "type nat hook postrouting priority srcnat;", podsLeave(n)))
}

// podsLeave is the rule that gives pods' traffic out of the cluster the node's address.
func podsLeave(n topology.Node) string {
	return fmt.Sprintf("ip saddr %s ip daddr != { %s, 224.0.0.0/4 } masquerade;", n.PodCIDR(), topology.PodCIDR)
}
