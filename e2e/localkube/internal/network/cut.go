package network

import (
	"context"
	"fmt"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// cutTable drops, on the machine's end of a node's link, all that isn't ARP. So packets are lost in silence, as in a
// network that has parted, instead of being refused.
func cutTable(n topology.Node) string {
	drop := "meta protocol { ip, ip6 } drop;"
	hook := func(name string) string {
		return chain(name, fmt.Sprintf("type filter hook %s device %q priority -500;", name, n.Link()), drop)
	}
	return table("netdev", cutName(n), hook("ingress"), hook("egress"))
}

func cutName(n topology.Node) string { return fmt.Sprintf("localkube_cut_%d", n.Number) }

// Cut parts the node from every other and from the API server.
func Cut(ctx context.Context, n topology.Node) error { return applyTable(ctx, nil, cutTable(n)) }

// Heal undoes Cut. A node that isn't cut off is no error.
func Heal(ctx context.Context, n topology.Node) error {
	return deleteTable(ctx, nil, "netdev "+cutName(n))
}

// IsCut tells whether the node is cut off.
func IsCut(ctx context.Context, n topology.Node) bool {
	return shellOK(ctx, "nft", "list", "table", "netdev", cutName(n))
}
