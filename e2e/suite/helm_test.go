package suite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestHelm: an EtcdCluster lives untouched through the upgrade of the chart that installed its
// operator, and through its removal. A later release takes it over.
func TestHelm(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	s.installsChart()
	if out, err := env.Helm(s.ctx, s.ns, "test", harness.OperatorName); err != nil {
		t.Fatalf("helm test: %v\n%s", err, out)
	}
	s.tell("helm test has passed")

	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	members := c.restarts()
	w := c.writes()

	_, err := env.Helm(s.ctx, s.ns, "upgrade", harness.OperatorName, chartOf(harness.OperatorName), "--set", "replicas=1,podLabels.team=storage,resources.limits.memory=512Mi")
	s.must(err)
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	s.tell("the operator runs with other values")
	if team := s.kubectl("get", "pods", "-l", "team=storage", "-o", "name"); strings.Count(team, "pod/") != 1 {
		t.Errorf("after the upgrade the operator's Pods are %q", team)
	}
	c.settles(3, oneMinute)
	c.isUnrestarted(members)

	s.must(env.UninstallRelease(s.ctx, s.ns, harness.OperatorName))
	if left := s.kubectl("get", "deployment,role,rolebinding,serviceaccount,poddisruptionbudget", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "name"); left != "" {
		t.Errorf("helm uninstall has left %s", left)
	}
	s.kubectl("get", "crd", "etcdclusters.etcd.database.coreos.com")
	c.isUnrestarted(members)
	w.noticed(aBlink)
	s.tell("the release is gone, and the cluster is there")

	s.installsChart()
	c.resize(1)
	c.settles(1, oneMinute)
	w.lostNothing(1)
}

// installsChart installs etcd-operator with helm, and waits until it runs.
func (s *scene) installsChart() {
	s.t.Helper()
	_, err := env.Helm(s.ctx, s.ns, "install", harness.OperatorName, chartOf(harness.OperatorName), "--take-ownership", "--force-conflicts")
	s.must(err)
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	s.tell("helm has installed the operator in %s", s.ns)
}

// chartOf is the folder of an operator's chart.
func chartOf(operator string) string { return filepath.Join(env.Root, "charts", operator) }
