package crdtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What a user applies to install the operator is accepted, from a clean
// checkout and again over itself.
func TestInstallationsApply(t *testing.T) {
	for _, args := range [][]string{
		{"apply", "-k", "deploy/etcd-operator"},
		{"apply", "-k", "deploy/etcd-operator"},
		{"apply", "-k", "deploy/etcd-operator/cluster-wide"},
		{"apply", "-f", "examples/predecessor-deployment.yaml"},
	} {
		if out, err := apiservertest.Kubectl(t, repoRoot, args...); err != nil {
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
