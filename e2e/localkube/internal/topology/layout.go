package topology

import (
	"fmt"
	"path/filepath"
)

// Layout is where the cluster's files are.
type Layout struct {
	// State survives a reboot: etcd's data, PKI, images, volumes.
	State string
	// Run doesn't: sockets, daemons' records, pods' namespaces.
	Run string
	// Lock is held by whoever changes the cluster. It is outside of Run, since Run is removed.
	Lock string
}

// SystemLayout is the one cluster of this machine.
var SystemLayout = Layout{
	State: "/var/lib/etcd-operators-localkube",
	Run:   "/run/localkube",
	Lock:  "/run/lock/etcd-operators-localkube.lock",
}

// Kubeconfig is the users' way in, as cluster-admin.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State, "kubeconfig") }

// Bin holds the programs for users: kubectl.
func (l Layout) Bin() string { return filepath.Join(l.State, "bin") }

// Etc holds the configuration of everything.
func (l Layout) Etc() string { return filepath.Join(l.State, "etc") }

// Registries says where nodes find the registries that are not where their names are: a folder for each
// name, as containerd has it.
func (l Layout) Registries() string { return filepath.Join(l.Etc(), "registries") }

// PKI holds the cluster's certificates and keys.
func (l Layout) PKI() string { return filepath.Join(l.Etc(), "pki") }

// AdminConf is in system:masters: it works before the cluster has any role binding.
func (l Layout) AdminConf() string { return filepath.Join(l.Etc(), "super-admin.conf") }

// Etcd holds the control plane's data.
func (l Layout) Etcd() string { return filepath.Join(l.State, "etcd") }

// Volumes holds the pods' persistent volumes, of all nodes.
func (l Layout) Volumes() string { return filepath.Join(l.State, "volumes") }

// Loaded holds the image tars that were loaded, for nodes that are added later.
func (l Layout) Loaded() string { return filepath.Join(l.State, "loaded") }

// Before says how the machine was.
func (l Layout) Before() string { return filepath.Join(l.State, "before.json") }

// Nodes holds a folder for each node that there is.
func (l Layout) Nodes() string { return filepath.Join(l.State, "nodes") }

// Log holds the daemons' and the pods' logs.
func (l Layout) Log() string { return filepath.Join(l.State, "log") }

// AuditLog has a line for each request of a pod to the API server.
func (l Layout) AuditLog() string { return filepath.Join(l.Log(), "audit.log") }

// Daemons holds the daemons' records.
func (l Layout) Daemons() string { return filepath.Join(l.Run, "daemons") }

// NodeLayout is where one node's files are.
type NodeLayout struct {
	State string // survives the node's stop
	Run   string // doesn't
	Etc   string
	Log   string // the cluster's
}

// Node returns where the node's files are.
func (l Layout) Node(n Node) NodeLayout {
	name := fmt.Sprintf("n%d", n.Number)
	return NodeLayout{
		State: filepath.Join(l.Nodes(), name),
		Run:   filepath.Join(l.Run, name),
		Etc:   filepath.Join(l.Etc(), name),
		Log:   l.Log(),
	}
}

// Kubelet is kubelet's --root-dir.
func (l NodeLayout) Kubelet() string { return filepath.Join(l.State, "kubelet") }

// KubeletPKI is kubelet's --cert-dir.
func (l NodeLayout) KubeletPKI() string { return filepath.Join(l.State, "kubelet-pki") }

// KubeletConf is kubelet's kubeconfig.
func (l NodeLayout) KubeletConf() string { return filepath.Join(l.Etc, "kubelet.conf") }

// Static is where kubelet looks for static pods.
func (l NodeLayout) Static() string { return filepath.Join(l.Etc, "manifests") }

// PodLogs holds the pods' logs.
func (l NodeLayout) PodLogs() string { return filepath.Join(l.Log, "pods", filepath.Base(l.State)) }

// Containerd is containerd's root: images and layers.
func (l NodeLayout) Containerd() string { return filepath.Join(l.State, "containerd") }

// Opt is where containerd would install further programs; its default is /opt/containerd.
func (l NodeLayout) Opt() string { return filepath.Join(l.State, "opt") }

// Imported marks which image tars the node's containerd has.
func (l NodeLayout) Imported() string { return filepath.Join(l.State, "imported") }

// Stopped marks a node that was stopped on purpose.
func (l NodeLayout) Stopped() string { return filepath.Join(l.State, "stopped") }

// Socket is containerd's.
func (l NodeLayout) Socket() string { return filepath.Join(l.Run, "containerd.sock") }

// NetNS is an isolated node's network namespace.
func (l NodeLayout) NetNS() string { return filepath.Join(l.Run, "netns") }

// CNI holds the pod network's configuration.
func (l NodeLayout) CNI() string { return filepath.Join(l.Etc, "cni") }

// IPAM remembers which pod has which address. A reboot forgets it, as it ends the pods.
func (l NodeLayout) IPAM() string { return filepath.Join(l.Run, "cni-ipam") }
