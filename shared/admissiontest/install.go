package admissiontest

import (
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
