package crdtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// What a user applies to install the operator is accepted, from a clean checkout and
// again over itself.
func TestInstallationsApply(t *testing.T) {
	admissiontest.Applies(t, repoRoot,
		[]string{"-k", "deploy/etcd-backup-operator"},
		[]string{"-k", "deploy/etcd-backup-operator"},
		[]string{"-k", "deploy/etcd-backup-operator/cluster-wide"},
	)
}

// Certificates, passwords and keys are mounted by the kubelet, where they are needed.
func TestReadsNoSecret(t *testing.T) {
	admissiontest.ReadsNoSecret(t, repoRoot, "etcd-backup-operator")
}

// Every example is accepted as it stands.
func TestExamplesApply(t *testing.T) {
	admissiontest.ExamplesApply(t, filepath.Join(repoRoot, "examples/backup*.yaml"))
}

// The object that the example's CronJob creates is accepted, and its account may create
// it and do nothing else.
func TestExampleCronJob(t *testing.T) {
	namespace := apiservertest.Namespace(t)
	if out, err := apiservertest.Kubectl(t, repoRoot, "apply", "--namespace", namespace, "-f", "examples/backup-cronjob.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	manifest, err := apiservertest.Kubectl(t, ".", "get", "configmap", "etcd-backup", "--namespace", namespace, "-o", `jsonpath={.data.etcdbackup\.yaml}`)
	if err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	file := filepath.Join(t.TempDir(), "etcdbackup.yaml")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	as := "--as=system:serviceaccount:" + namespace + ":etcd-backup-creator"
	if out, err := apiservertest.Kubectl(t, ".", "create", as, "--namespace", namespace, "-f", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, what := range [][]string{{"get", "secrets"}, {"get", "etcdbackups"}, {"delete", "etcdbackups"}, {"create", "pods"}} {
		args := append([]string{"auth", "can-i", as, "--namespace", namespace}, what...)
		if out, err := apiservertest.Kubectl(t, ".", args...); err == nil {
			t.Errorf("the account may %v: %s", what, out)
		}
	}
}
