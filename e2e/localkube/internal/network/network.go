// Package network makes the nodes' network on one machine, cuts nodes off from it, and removes it.
//
// The machine is the router between the nodes: each isolated node has a veth pair to it and a route for its pods.
// Pods keep their addresses inside the cluster, leave it with their node's address, and leave the machine with the
// machine's.
package network

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// defaultMTU is Ethernet's, for a machine without a default route.
const defaultMTU = 1500

// MTU returns the MTU of the interface that the machine's default route goes through.
func MTU(ctx context.Context) (int, error) {
	routes, err := shell.Run(ctx, "ip", "-4", "route", "show", "default")
	if err != nil {
		return 0, err
	}
	device := deviceOf(routes)
	if device == "" {
		return defaultMTU, nil
	}
	data, err := os.ReadFile("/sys/class/net/" + device + "/mtu")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// deviceOf returns the device of the first route in ip-route(8)'s output, or "".
func deviceOf(routes string) string {
	first, _, _ := strings.Cut(routes, "\n")
	fields := strings.Fields(first)
	for i, field := range fields {
		if field == "dev" && i+1 < len(fields) {
			return fields[i+1]
		}
	}
	return ""
}

// Machine makes the machine's side: the control plane's address, the way to the Services, and masquerading.
func Machine(ctx context.Context, mtu int) error {
	node := topology.ControlPlane
	link := node.Link()
	if !exists(link) {
		// A bridge without ports serves as an interface of our own; not every kernel has dummy ones.
		if _, err := shell.Run(ctx, "ip", "link", "add", link, "mtu", strconv.Itoa(mtu), "type", "bridge"); err != nil {
			return err
		}
	}
	err := all(ctx,
		[]string{"ip", "addr", "replace", prefix(node.Address().String(), node), "dev", link},
		[]string{"ip", "link", "set", link, "up"},
		// Without a default route the machine itself would have no way to the Services.
		[]string{"ip", "route", "replace", topology.ServiceCIDR, "dev", link, "src", node.Address().String()},
	)
	if err != nil {
		return err
	}
	return applyTable(ctx, nil, machineTable())
}

// Attach gives an isolated node its network namespace, its link to the machine, and its routes.
func Attach(ctx context.Context, n topology.Node, netns string, mtu int) error {
	if err := makeNamespace(ctx, netns); err != nil {
		return err
	}
	link := n.Link()
	if !exists(link) {
		if _, err := shell.Run(ctx, "ip", "link", "add", link, "mtu", strconv.Itoa(mtu), "type", "veth",
			"peer", "name", "eth0", "mtu", strconv.Itoa(mtu), "netns", netns); err != nil {
			return err
		}
	}
	inside := func(argv ...string) []string { return append(enter(netns), argv...) }
	err := all(ctx,
		[]string{"ip", "addr", "replace", prefix(n.Gateway().String(), n), "dev", link},
		[]string{"ip", "link", "set", link, "up"},
		inside("ip", "link", "set", "lo", "up"),
		inside("ip", "addr", "replace", prefix(n.Address().String(), n), "dev", "eth0"),
		inside("ip", "link", "set", "eth0", "up"),
		inside("ip", "route", "replace", "default", "via", n.Gateway().String()),
		inside("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; f=/proc/sys/net/bridge/bridge-nf-call-iptables; [ ! -e $f ] || echo 1 >$f"),
		[]string{"ip", "route", "replace", n.PodCIDR().String(), "via", n.Address().String()},
	)
	if err != nil {
		return err
	}
	return applyTable(ctx, enter(netns), nodeTable(n))
}

// makeNamespace makes a network namespace that lives as long as its file is mounted.
func makeNamespace(ctx context.Context, path string) error {
	if shellOK(ctx, "nsenter", "--net="+path, "true") {
		return nil
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	_, err := shell.Run(ctx, "unshare", "--net="+path, "true")
	return err
}

func enter(netns string) []string { return []string{"nsenter", "--net=" + netns, "--"} }

func exists(link string) bool {
	_, err := os.Stat("/sys/class/net/" + link)
	return err == nil
}

func prefix(address string, n topology.Node) string {
	return fmt.Sprintf("%s/%d", address, n.Subnet().Bits())
}

func all(ctx context.Context, commands ...[]string) error {
	for _, argv := range commands {
		if _, err := shell.Run(ctx, argv[0], argv[1:]...); err != nil {
			return err
		}
	}
	return nil
}

func shellOK(ctx context.Context, name string, args ...string) bool {
	_, err := shell.Run(ctx, name, args...)
	return err == nil
}
