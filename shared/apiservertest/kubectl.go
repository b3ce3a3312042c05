package apiservertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubectl runs kubectl against the server, in folder dir, and returns what it prints.
// It is looked for beside kube-apiserver, and then in PATH.
func Kubectl(t testing.TB, dir string, args ...string) (output []byte, err error) {
	t.Helper()
	kubectl, err := exec.LookPath(filepath.Join(os.Getenv(assetsEnv), "kubectl"))
	if err != nil {
		if kubectl, err = exec.LookPath("kubectl"); err != nil {
			t.Fatalf("this test needs kubectl, in %s or in PATH: %v", assetsEnv, err)
		}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfigOf(config), kubeconfig); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(Context(t), kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

func kubeconfigOf(config *rest.Config) *clientcmdapi.Config {
	const name = "test"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return kubeconfig
}
