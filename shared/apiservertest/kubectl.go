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
	cmd := exec.CommandContext(Context(t), kubectl, append([]string{"--kubeconfig", Kubeconfig(t, config)}, args...)...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// Kubeconfig writes how to reach a server into a file, and returns its path.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfigOf(config), path); err != nil {
		t.Fatal(err)
	}
	return path
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
