package config

import (
	"fmt"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Etcd is the control plane's etcd. It doesn't sync to the disk: this cluster's data may be lost with the machine.
func (c Cluster) Etcd() []string {
	name := topology.ControlPlane.Name()
	client, peer := loopback(topology.EtcdClientPort), loopback(topology.EtcdPeerPort)
	return []string{
		filepath.Join(c.Bin, "etcd"),
		"--name=" + name,
		"--data-dir=" + c.Layout.Etcd(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + name + "=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

// APIServer is kube-apiserver, as kubeadm would start it, with an audit log.
func (c Cluster) APIServer() []string {
	pki := c.Layout.PKI()
	address := topology.ControlPlane.Address().String()
	return []string{
		filepath.Join(c.Bin, "kube-apiserver"),
		"--advertise-address=" + address,
		"--bind-address=" + address,
		fmt.Sprintf("--secure-port=%d", topology.APIServerPort),
		"--etcd-servers=" + loopback(topology.EtcdClientPort),
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=" + filepath.Join(pki, "ca.crt"),
		"--tls-cert-file=" + filepath.Join(pki, "apiserver.crt"),
		"--tls-private-key-file=" + filepath.Join(pki, "apiserver.key"),
		"--kubelet-client-certificate=" + filepath.Join(pki, "apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + filepath.Join(pki, "apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file=" + filepath.Join(pki, "sa.pub"),
		"--service-account-signing-key-file=" + filepath.Join(pki, "sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc." + topology.ClusterDomain,
		"--service-cluster-ip-range=" + topology.ServiceCIDR,
		"--requestheader-client-ca-file=" + filepath.Join(pki, "front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + filepath.Join(pki, "front-proxy-client.crt"),
		"--proxy-client-key-file=" + filepath.Join(pki, "front-proxy-client.key"),
		"--audit-policy-file=" + filepath.Join(c.Layout.Etc(), "audit-policy.yaml"),
		"--audit-log-path=" + c.Layout.AuditLog(),
		"--audit-log-maxsize=100", // MiB: about 100,000 requests
		"--audit-log-maxbackup=5",
		"--v=1",
	}
}

// clientQPS lifts the limit of 20 requests a second that costs the controllers 5 s at the cluster's start.
var clientQPS = []string{"--kube-api-qps=300", "--kube-api-burst=600"}

// ControllerManager is kube-controller-manager. There is one, so it needs no election.
func (c Cluster) ControllerManager() []string {
	pki := c.Layout.PKI()
	args := append(c.controller("kube-controller-manager", "controller-manager.conf"),
		"--use-service-account-credentials=true",
		"--root-ca-file="+filepath.Join(pki, "ca.crt"),
		"--client-ca-file="+filepath.Join(pki, "ca.crt"),
		"--requestheader-client-ca-file="+filepath.Join(pki, "front-proxy-ca.crt"),
		"--service-account-private-key-file="+filepath.Join(pki, "sa.key"),
		"--cluster-signing-cert-file="+filepath.Join(pki, "ca.crt"),
		"--cluster-signing-key-file="+filepath.Join(pki, "ca.key"),
		"--cluster-name=localkube",
		"--service-cluster-ip-range="+topology.ServiceCIDR,
		"--controllers=*,bootstrapsigner,tokencleaner",
	)
	if c.NodeMonitorGracePeriod != "" {
		args = append(args, "--node-monitor-grace-period="+c.NodeMonitorGracePeriod)
	}
	return args
}

// Scheduler is kube-scheduler.
func (c Cluster) Scheduler() []string { return c.controller("kube-scheduler", "scheduler.conf") }

func (c Cluster) controller(program, kubeconfig string) []string {
	kubeconfig = filepath.Join(c.Layout.Etc(), kubeconfig)
	args := []string{
		filepath.Join(c.Bin, program),
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--v=1",
	}
	return append(args, clientQPS...)
}

// ContainerdArgs starts the node's containerd, Debian's.
func (n Node) ContainerdArgs() []string {
	return n.inside("containerd", "--config="+filepath.Join(n.Dir.Etc, "containerd.toml"))
}

// KubeletArgs starts the node's kubelet.
func (n Node) KubeletArgs() []string {
	return n.inside(filepath.Join(n.Bin, "kubelet"),
		"--config="+filepath.Join(n.Dir.Etc, "kubelet.yaml"),
		"--kubeconfig="+n.Dir.KubeletConf(),
		"--hostname-override="+n.Name(),
		"--node-ip="+n.Address().String(),
		"--node-labels=topology.kubernetes.io/zone="+n.Zone(),
		"--root-dir="+n.Dir.Kubelet(),
		"--cert-dir="+n.Dir.KubeletPKI(),
		"--v=2",
	)
}

// KubeProxyArgs starts the node's kube-proxy.
func (n Node) KubeProxyArgs() []string {
	return n.inside(filepath.Join(n.Bin, "kube-proxy"),
		"--config="+filepath.Join(n.Dir.Etc, "kube-proxy.yaml"),
		"--v=1",
	)
}

// inside prefixes what makes a program run in the node's network namespace. It is nsenter, not `ip netns exec`,
// which would hide the cgroup mounts.
func (n Node) inside(argv ...string) []string {
	if !n.Isolated() {
		return argv
	}
	return append([]string{"nsenter", "--net=" + n.Dir.NetNS(), "--"}, argv...)
}

func loopback(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
