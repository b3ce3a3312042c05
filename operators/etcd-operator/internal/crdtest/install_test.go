package crdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What a user applies to install the operator is accepted, from a clean
// checkout and again over itself.
func TestInstallationsApply(t *testing.T) {
	kubectl, err := exec.LookPath(filepath.Join(os.Getenv(assetsEnv), "kubectl"))
	if err != nil {
		if kubectl, err = exec.LookPath("kubectl"); err != nil {
			t.Fatalf("this test needs kubectl, in %s or in PATH: %v", assetsEnv, err)
		}
	}
	kubeconfig := writeKubeconfig(t)
	for _, args := range [][]string{
		{"apply", "-k", "deploy/etcd-operator"},
		{"apply", "-k", "deploy/etcd-operator"},
		{"apply", "-k", "deploy/etcd-operator/cluster-wide"},
		{"apply", "-f", "examples/predecessor-deployment.yaml"},
	} {
		cmd := exec.CommandContext(requestContext(t), kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
		cmd.Dir = repoRoot
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	}
}

// The CRD that kubectl installs is the one that the operator embeds.
func TestDeployedCRDIsTheEmbeddedOne(t *testing.T) {
	const name = "etcd.database.coreos.com_etcdclusters.yaml"
	embedded, err := os.ReadFile(filepath.Join(repoRoot, "api/crd", name))
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := os.ReadFile(filepath.Join(repoRoot, "deploy/etcd-operator/crd", name))
	if err != nil {
		t.Fatal(err)
	}
	if string(embedded) != string(deployed) {
		t.Error("deploy/etcd-operator/crd differs from api/crd: run make generate")
	}
}

func writeKubeconfig(t *testing.T) string {
	t.Helper()
	const name = "crdtest"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return path
}
