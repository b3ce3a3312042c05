package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func example() Cluster {
	return Cluster{
		Layout: topology.SystemLayout, Bin: "/cache/bin", Version: "v1.2.3", HasUpstreamDNS: true, MTU: 1400,
		Images: Images{Pause: "registry.local/pause:1", Busybox: "registry.local/busybox:1", CoreDNS: "registry.local/coredns:1", LocalPath: "registry.local/lpp:1"},
	}
}

// TestFilesSayWhatTheClusterDependsOn holds on to the lines without which this Kubernetes doesn't start, or doesn't
// leave the machine as it was.
func TestFilesSayWhatTheClusterDependsOn(t *testing.T) {
	two := example().For(topology.Node{Number: 2})
	for name, c := range map[string]struct {
		render func() (string, error)
		want   []string
	}{
		"containerd": {two.Containerd, []string{
			`restrict_oom_score_adj = true`, `disable_apparmor = true`, `SystemdCgroup = false`, `netns_mounts_under_state_dir = true`,
			`sandbox_image = "registry.local/pause:1"`, `config_path = "/var/lib/etcd-operators-localkube/etc/registries"`, `address = "/run/localkube/n2/containerd.sock"`, `bin_dir = "/cache/bin/cni"`,
		}},
		"kubelet": {two.Kubelet, []string{
			"address: 172.30.2.2\n", "cgroupDriver: cgroupfs\n", "failCgroupV1: false\n", "failSwapOn: false\n", "oomScoreAdj: 0\n",
			"cgroupRoot: /localkube-2\n", "clusterDNS: [10.96.0.10]\n", "makeIPTablesUtilChains: false",
		}},
		"kube-proxy": {two.KubeProxy, []string{"mode: nftables\n", "oomScoreAdj: 0\n", "hostnameOverride: localkube-2\n", "maxPerCore: 0"}},
		"kubeadm":    {two.Kubeadm, []string{"advertiseAddress: 172.30.1.2,", "name: localkube-2,", "kubernetesVersion: v1.2.3\n"}},
		"addons": {example().Addons, []string{
			"clusterIP: 10.96.0.10\n", "forward . /etc/resolv.conf", "cache 30", "ttl 30", "image: registry.local/coredns:1\n",
			`is-default-class: "true"`, "kubeadm:cluster-admins", "--service-account-name", "--helper-image",
		}},
		"audit policy": {example().AuditPolicy, []string{"level: Metadata\n  userGroups: [\"system:serviceaccounts\"]\n", "level: None\n  userGroups: [\"system:serviceaccounts:kube-system\"]\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.render()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			if strings.Contains(got, "<no value>") || strings.Contains(got, "{{") {
				t.Errorf("not fully rendered:\n%s", got)
			}
		})
	}
}

func TestCoreDNSForwardsToNobodyWhenThereIsNobody(t *testing.T) {
	c := example()
	c.HasUpstreamDNS = false
	text, err := c.Addons()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "forward") {
		t.Error("CoreDNS ends at once when it is to forward and /etc/resolv.conf names no server")
	}
}

func TestCNIIsJSONWithTheNodesOwnRange(t *testing.T) {
	for _, n := range topology.All() {
		text, err := example().For(n).CNI()
		if err != nil {
			t.Fatal(err)
		}
		var parsed struct {
			Plugins []struct {
				Type   string
				MTU    int
				IPMasq bool
				IPAM   struct{ Ranges [][]struct{ Subnet string } }
			}
		}
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		bridge := parsed.Plugins[0]
		if bridge.Type != "bridge" || bridge.MTU != 1400 || bridge.IPMasq || bridge.IPAM.Ranges[0][0].Subnet != n.PodCIDR().String() {
			t.Errorf("%s: %+v", n.Name(), bridge)
		}
	}
}

func TestOnlyIsolatedNodesAreEnteredByNsenter(t *testing.T) {
	for _, n := range topology.All() {
		node := example().For(n)
		for _, argv := range [][]string{node.ContainerdArgs(), node.KubeletArgs(), node.KubeProxyArgs()} {
			if got := argv[0] == "nsenter"; got != n.Isolated() {
				t.Errorf("%s: %v", n.Name(), argv)
			}
		}
	}
}

func TestControlPlaneKeepsOffTheUsualEtcdPorts(t *testing.T) {
	for _, arg := range slices.Concat(example().Etcd(), example().APIServer()) {
		if strings.HasSuffix(arg, ":2379") || strings.HasSuffix(arg, ":2380") {
			t.Errorf("%s: tests on the machine may want this port", arg)
		}
	}
}

func TestNodeMonitorGracePeriodIsKubernetesOwnUnlessChosen(t *testing.T) {
	c := example()
	const flag = "--node-monitor-grace-period="
	set := func() bool {
		return slices.ContainsFunc(c.ControllerManager(), func(arg string) bool { return strings.HasPrefix(arg, flag) })
	}
	if set() {
		t.Error("set though nobody chose it")
	}
	c.NodeMonitorGracePeriod = "16s"
	if !slices.Contains(c.ControllerManager(), flag+"16s") {
		t.Error("the chosen period is missing")
	}
}
