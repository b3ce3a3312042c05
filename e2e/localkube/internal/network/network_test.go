package network

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func TestDeviceOf(t *testing.T) {
	for routes, want := range map[string]string{
		"default via 192.0.2.1 dev eth0 proto dhcp metric 100\ndefault via 10.0.0.1 dev wlan0\n": "eth0",
		"default dev tun0 scope link\n": "tun0",
		"":                              "",
	} {
		if got := deviceOf(routes); got != want {
			t.Errorf("deviceOf(%q) = %q, want %q", routes, got, want)
		}
	}
}

func TestCutTableDropsBothWaysOnTheNodesOwnLinkAndLeavesARP(t *testing.T) {
	rules := cutTable(topology.Node{Number: 3})
	for _, want := range []string{
		"table netdev localkube_cut_3 {", `hook ingress device "lk3"`, `hook egress device "lk3"`, "meta protocol { ip, ip6 } drop;",
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("%q is missing in\n%s", want, rules)
		}
	}
}

func TestForgetPodsEndsTheLinkOfAPodWhoseNamespaceLives(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	node, pod := filepath.Join(dir, "node"), filepath.Join(dir, "pod")
	for _, netns := range []string{node, pod} {
		if err := makeNamespace(ctx, netns); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := shell.Run(context.Background(), "umount", netns); err != nil {
				t.Error(err)
			}
		})
	}
	links := func(netns string) string {
		out, err := shell.Run(ctx, "nsenter", "--net="+netns, "ip", "-brief", "link")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	inside := func(argv ...string) []string { return append(enter(node), argv...) }
	if err := all(ctx,
		inside("ip", "link", "add", topology.PodBridge, "type", "bridge"),
		inside("ip", "link", "add", "veth1", "type", "veth", "peer", "name", "eth0", "netns", pod),
		inside("ip", "link", "set", "veth1", "master", topology.PodBridge),
		inside("ip", "link", "add", "veth2", "type", "veth", "peer", "name", "other"),
	); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to forget
		if err := ForgetPods(ctx, node); err != nil {
			t.Fatal(err)
		}
		if got := links(pod); strings.Contains(got, "eth0") {
			t.Errorf("the pod keeps its link:\n%s", got)
		}
		if got := links(node); strings.Contains(got, topology.PodBridge) || strings.Contains(got, "veth1") || !strings.Contains(got, "veth2") {
			t.Errorf("the node keeps the wrong links:\n%s", got)
		}
	}
}

func TestMachineTableMasqueradesWhatLeavesAndNothingInside(t *testing.T) {
	rules := machineTable()
	for _, want := range []string{
		"ip saddr 10.244.1.0/24 ip daddr != { 10.244.0.0/16, 224.0.0.0/4 } masquerade;",
		`ip saddr 172.30.0.0/16 oifname != "lk*" masquerade;`,
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("%q is missing in\n%s", want, rules)
		}
	}
}

func TestWithoutOursKeepsForeignRules(t *testing.T) {
	const saved = "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:CNI-HOSTPORT-DNAT - [0:0]\n-A PREROUTING -j CNI-HOSTPORT-DNAT\n-A PREROUTING -j DOCKER\nCOMMIT\n"
	const want = "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j DOCKER\nCOMMIT\n"
	if got := withoutOurs(saved); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHasRules(t *testing.T) {
	const frame = "# Warning: managed by iptables-nft\ntable ip nat {\n\tchain PREROUTING {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n"
	if hasRules(frame + "\t}\n}\n") {
		t.Error("base chains alone are no rules")
	}
	if !hasRules(frame + "\t\tip daddr 10.0.0.1 counter drop\n\t}\n}\n") {
		t.Error("a rule was overlooked")
	}
}
