package admissiontest

import (
	"path"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// ReadsNoSecret installs an operator, for its namespace and for all, and wants the account
// of each to have no right at all that concerns Secrets, and none to everything.
func ReadsNoSecret(t *testing.T, repoRoot, operator string) {
	t.Helper()
	elsewhere := apiservertest.Namespace(t)
	for folder, of := range map[string]struct{ account, namespace string }{
		".":            {"default", "default"},
		"cluster-wide": {"etcd-operators", elsewhere},
	} {
		t.Run(folder, func(t *testing.T) {
			Applies(t, repoRoot, []string{"-k", path.Join("deploy", operator, folder)})
			as := "--as=system:serviceaccount:" + of.account + ":" + operator
			out, err := apiservertest.Kubectl(t, ".", "auth", "can-i", "--list", as, "--namespace", of.namespace)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			rights := string(out)
			if !strings.Contains(rights, "etcdclusters.etcd.database.coreos.com") {
				t.Errorf("the rights are not those of an operator:\n%s", rights)
			}
			for line := range strings.Lines(rights) {
				if strings.HasPrefix(line, "secrets") || strings.HasPrefix(line, "*") {
					t.Errorf("the operator has the right %s", line)
				}
			}
		})
	}
}
