// Package config renders every configuration file and argument list of the cluster. It is pure: the same input
// gives the same text, so that a change of the text means that a daemon must be restarted.
package config

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(constants).ParseFS(files, "templates/*"))

// constants are what the templates name of topology: they can't name a package's constants.
var constants = template.FuncMap{
	"serviceCIDR":      func() string { return topology.ServiceCIDR },
	"podCIDR":          func() string { return topology.PodCIDR },
	"clusterDNS":       func() string { return topology.ClusterDNS },
	"clusterDomain":    func() string { return topology.ClusterDomain },
	"podBridge":        func() string { return topology.PodBridge },
	"cniNetwork":       func() string { return topology.CNINetwork },
	"apiServerPort":    func() int { return topology.APIServerPort },
	"apiServerAddress": func() string { return topology.ControlPlane.Address().String() },
}

// Cluster is what the cluster's own files are made from.
type Cluster struct {
	Layout topology.Layout
	Bin    string // folder of the Kubernetes programs
	// Version is Kubernetes' version, with the leading v.
	Version string
	// HasUpstreamDNS is false when the machine knows no name server: CoreDNS refuses to forward to nobody.
	HasUpstreamDNS bool
	MTU            int
	// NodeMonitorGracePeriod is kube-controller-manager's flag; empty: Kubernetes' own default.
	NodeMonitorGracePeriod string
	Images                 Images
}

// Images are the references of the images that the cluster itself needs.
type Images struct{ Pause, Busybox, CoreDNS, LocalPath string }

// Node is what one node's files are made from.
type Node struct {
	Cluster
	topology.Node
	Dir topology.NodeLayout
}

// For returns the input of one node's files.
func (c Cluster) For(n topology.Node) Node {
	return Node{Cluster: c, Node: n, Dir: c.Layout.Node(n)}
}

// Addons is the manifest of what runs in the cluster from the start: DNS, volumes, and kubeadm's role binding.
func (c Cluster) Addons() (string, error) {
	return render("addons.yaml", struct {
		Cluster
		ControlPlane topology.Node
	}{c, topology.ControlPlane})
}

// AuditPolicy logs the metadata of each request of a pod once: who, what, when, what allowed it, and how it ended.
func (c Cluster) AuditPolicy() (string, error) { return render("audit-policy.yaml", c) }

// Kubeadm is the input of kubeadm's certs and kubeconfig phases for the node.
func (n Node) Kubeadm() (string, error) { return render("kubeadm.yaml", n) }

// Containerd is the node's containerd.toml.
func (n Node) Containerd() (string, error) { return render("containerd.toml", n) }

// Kubelet is the node's KubeletConfiguration.
func (n Node) Kubelet() (string, error) { return render("kubelet.yaml", n) }

// KubeProxy is the node's KubeProxyConfiguration.
func (n Node) KubeProxy() (string, error) { return render("kube-proxy.yaml", n) }

// CNI is the node's pod network.
func (n Node) CNI() (string, error) { return render("cni.conflist", n) }

func render(name string, data any) (string, error) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("rendering %s: %w", name, err)
	}
	return out.String(), nil
}

// Fingerprint changes when one of the texts does.
func Fingerprint(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])
}
