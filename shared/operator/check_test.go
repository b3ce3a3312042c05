package operator

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// TestCheck: --check names what is missing, and waits for nothing.
func TestCheck(t *testing.T) {
	namespace := apiservertest.Namespace(t)
	c := account(apiservertest.Config(), namespace)
	p := programs["etcd-restore-operator"]
	p.Name = "etcd-restore-operator"
	o := &Options{Name: p.Name, Namespace: namespace, LeaderElect: true, CheckOnly: true}
	err := p.check(t.Context(), c, o)
	for _, want := range []string{"missing permissions", "deploy/etcd-restore-operator/base/role.yaml", "leader-election.yaml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without a Role: %v, want %q", err, want)
		}
	}
	grant(t, namespace, "operator", shipped(t, p.Name))
	if err := p.check(t.Context(), c, o); err != nil {
		t.Errorf("with its Role: %v", err)
	}
	o.ClusterWide = true
	if err := p.check(t.Context(), c, o); err == nil {
		t.Error("a Role of one namespace is enough for all")
	}
	p.Related = []Dependency{{Operator: "other", Definition: []byte("metadata: {name: others.etcd.database.coreos.com}")}}
	if err := p.check(t.Context(), c, o); err == nil || !strings.Contains(err.Error(), "apply deploy/other/crd") {
		t.Errorf("without a kind: %v", err)
	}
}
