package consumer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kubeadm takes the section etcd of the example, and makes the flags of kube-apiserver of it.
func TestKubeadmTakesTheConfiguration(t *testing.T) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: "make test" builds kubeadm, and names its folder there`)
	}
	kubeadm := filepath.Join(assets, "kubeadm")
	own, err := exec.CommandContext(t.Context(), kubeadm, "version", "--output=short").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := fmt.Sprintf("kubernetesVersion: %s\n", strings.TrimSpace(string(own))) // else it asks the internet
	config := filepath.Join(t.TempDir(), "kubeadm.yaml")
	shown := values(t, exampleDocuments(t, "consumer-kubeadm.yaml"), "kubeadm.yaml")
	if err := os.WriteFile(config, []byte(shown[0]+version), 0o600); err != nil {
		t.Fatal(err)
	}
	made := t.TempDir()
	for _, args := range [][]string{
		{"config", "validate"},
		{"init", "phase", "control-plane", "apiserver", "--dry-run"},
	} {
		cmd := exec.CommandContext(t.Context(), kubeadm, append(args, "--config", config)...)
		cmd.Env = append(cmd.Environ(), "KUBEADM_INIT_DRYRUN_DIR="+made)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kubeadm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	manifests, err := filepath.Glob(filepath.Join(made, "*.yaml"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("kubeadm has made %v (%v), want a manifest", manifests, err)
	}
	manifest, err := os.ReadFile(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{
		"--etcd-servers=https://etcd.example.com:2379",
		"--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt",
		"--etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt",
		"--etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key",
	} {
		if !strings.Contains(string(manifest), "- "+flag+"\n") {
			t.Errorf("kube-apiserver is not told %s:\n%s", flag, manifest)
		}
	}
}
