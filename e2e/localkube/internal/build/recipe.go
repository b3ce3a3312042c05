package build

import (
	"fmt"
	"strings"
)

// Recipe says which programs come out of one Go module, and how.
type Recipe struct {
	Name    string // "kubernetes", "etcd", "versitygw", "cert-manager"
	Version string // with the leading v
	Module  string // the module's folder within Source
	Steps   []Step
}

// Step is one call of go build.
type Step struct {
	Packages []string
	LDFlags  string
	// Into is the folder for the programs, relative to the output's bin.
	Into string
	// Rename maps a program's name as go build makes it to the name that it should have.
	Rename map[string]string
}

const stripped = "-s -w" // no symbol table: half the size

const etcdServer = "go.etcd.io/etcd/server/v3"

var etcdNames = map[string]string{"server": "etcd"}

// Kubernetes is everything that the cluster itself runs, from one module, so that shared packages are compiled once.
func Kubernetes() Recipe {
	flags := stripped
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} { // as upstream's hack/lib/version.sh
		flags += fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean",
			pkg, KubernetesVersion, pkg, pkg, strings.Split(KubernetesVersion, ".")[1], pkg)
	}
	programs := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "kube-proxy", "kubeadm"}
	for i, program := range programs {
		programs[i] = "k8s.io/kubernetes/cmd/" + program
	}
	const cni = "github.com/containernetworking/plugins/plugins"
	return Recipe{
		Name: "kubernetes", Version: KubernetesVersion, Module: "kubernetes",
		Steps: []Step{
			{Packages: append(programs, etcdServer, "./coredns", "./pause"), LDFlags: flags, Rename: etcdNames},
			{Packages: []string{cni + "/main/bridge", cni + "/main/loopback", cni + "/ipam/host-local", cni + "/meta/portmap"}, LDFlags: flags, Into: "cni"},
			// Apart: it imports Sirupsen/logrus, which one build can't hold beside sirupsen/logrus.
			{Packages: []string{"github.com/rancher/local-path-provisioner"}, LDFlags: stripped},
		},
	}
}

// Etcd is one etcd release: etcd, etcdctl, etcdutl.
func Etcd(version string) Recipe {
	minor := version[1:strings.LastIndexByte(version, '.')]
	return Recipe{Name: "etcd", Version: version, Module: "etcd-" + minor, Steps: []Step{{
		Packages: []string{etcdServer, "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3"}, LDFlags: stripped, Rename: etcdNames,
	}}}
}

// Versitygw is the S3 server that tests store into: github.com/versity/versitygw.
func Versitygw() Recipe {
	return Recipe{
		Name: "versitygw", Version: VersitygwVersion, Module: "versitygw",
		Steps: []Step{{Packages: []string{"."}, LDFlags: stripped}},
	}
}

// CertManager is cert-manager's controller, for tests of certificates that it issues: see build/cert-manager.
func CertManager() Recipe {
	return Recipe{
		Name: "cert-manager", Version: CertManagerVersion, Module: "cert-manager",
		Steps: []Step{{Packages: []string{"."}, LDFlags: stripped}},
	}
}
