package admissiontest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Applies wants kubectl to apply what each of the lists of arguments names, one after
// the other, seen from the root of the repository.
func Applies(t testing.TB, repoRoot string, all ...[]string) {
	t.Helper()
	for _, args := range all {
		args = append([]string{"apply"}, args...)
		if out, err := apiservertest.Kubectl(t, repoRoot, args...); err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	}
}

// ExamplesApply wants kubectl to apply each of the files that match pattern.
func ExamplesApply(t *testing.T, pattern string) {
	t.Helper()
	namespace := apiservertest.Namespace(t)
	for _, path := range Glob(t, pattern) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			Applies(t, ".", []string{"--namespace", namespace, "-f", path})
		})
	}
}

// Deployed wants the definition of a resource in the folder deploy/<operator>/crd to be
// the one that package crd embeds.
func Deployed(t testing.TB, repoRoot, operator, resource string) {
	t.Helper()
	name := "etcd.database.coreos.com_" + resource + ".yaml"
	embedded, err := os.ReadFile(filepath.Join(repoRoot, "api/crd", name))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("deploy", operator, "crd")
	deployed, err := os.ReadFile(filepath.Join(repoRoot, folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if string(embedded) != string(deployed) {
		t.Errorf("%s differs from api/crd: run make generate", folder)
	}
}
