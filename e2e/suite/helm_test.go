package suite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// umbrella is the chart of all operators, and its release.
const umbrella = "etcd-operators"

// TestHelm: an EtcdCluster lives untouched through the upgrade of the chart that installed the
// operators, and through its removal. The chart of etcd-operator alone takes it over.
func TestHelm(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	s.livesThroughHelm(s.umbrella())
}

// TestUpdateOfCharts: it also does when the chart was that of the previous release, with its
// images. It runs beside no other test: the chart takes the definitions back, which are
// everybody's.
func TestUpdateOfCharts(t *testing.T) {
	s, before := afterARelease(t)
	var values []string
	for _, operator := range harness.Operators {
		values = append(values, "--set", operator+".image.tag="+before.Version)
	}
	s.livesThroughHelm(before.Chart(), values...)
}

// livesThroughHelm: a cluster does, from the installation of all operators by a chart, through the
// upgrade to this one, to its removal and the next installation.
func (s *scene) livesThroughHelm(chart string, values ...string) {
	s.t.Helper()
	s.helmInstalls(umbrella, chart, values...)
	s.operatorsRun()
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	members := c.restarts()
	w := c.writes()

	_, err := env.Helm(s.ctx, s.ns, "upgrade", umbrella, s.umbrella(), "--set", "etcd-operator.replicas=1,etcd-operator.podLabels.team=storage,etcd-operator.resources.limits.memory=512Mi")
	s.must(err)
	s.operatorsRun()
	if team := s.kubectl("get", "pods", "-l", "team=storage", "-o", "name"); strings.Count(team, "pod/") != 1 {
		s.t.Errorf("after the upgrade etcd-operator's Pods are %q", team)
	}
	for _, operator := range harness.Operators {
		if image := s.kubectl("get", "deployment", operator, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); !strings.HasSuffix(image, ":dev") {
			s.t.Errorf("after the upgrade %s is %s", operator, image)
		}
	}
	if of := s.kubectl("get", "crd", definition, "-o", `jsonpath={.metadata.labels.helm\.sh/chart}`); of != "etcd-operator-0.0.0-dev" {
		s.t.Errorf("after the upgrade the definition is that of %q", of)
	}
	s.helmTests(umbrella)
	c.settles(3, oneMinute)
	c.isUnrestarted(members)

	s.must(env.UninstallRelease(s.ctx, s.ns, umbrella))
	if left := s.kubectl("get", "deployment,role,rolebinding,serviceaccount,poddisruptionbudget", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "name"); left != "" {
		s.t.Errorf("helm uninstall has left %s", left)
	}
	s.kubectl("get", "crd", definition)
	c.isUnrestarted(members)
	w.noticed(aBlink)
	s.tell("the release is gone, and the cluster is there")

	s.helmInstalls(harness.OperatorName, chartOf(harness.OperatorName))
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	c.resize(1)
	c.settles(1, oneMinute)
	w.lostNothing(1)
}

// definition is the one of EtcdClusters.
const definition = "etcdclusters.etcd.database.coreos.com"

// helmInstalls installs a chart, which takes over what kubectl or another release has installed.
func (s *scene) helmInstalls(release, chart string, values ...string) {
	s.t.Helper()
	_, err := env.Helm(s.ctx, s.ns, append([]string{"install", release, chart, "--take-ownership", "--force-conflicts"}, values...)...)
	s.must(err)
	s.tell("helm has installed %s in %s", filepath.Base(chart), s.ns)
}

// helmTests: each operator of the release has its permissions and its kinds.
func (s *scene) helmTests(release string) {
	s.t.Helper()
	if out, err := env.Helm(s.ctx, s.ns, "test", release); err != nil {
		s.t.Fatalf("helm test: %v\n%s", err, out)
	}
	s.tell("helm test has passed")
}

// operatorsRun waits until all replicas of each operator run.
func (s *scene) operatorsRun() {
	s.t.Helper()
	for _, operator := range harness.Operators {
		s.within(oneMinute, func(ctx context.Context) error { return env.AwaitDeployment(ctx, s.view, s.ns, operator) })
		s.tell("%s runs in %s", operator, s.ns)
	}
}

// chartOf is the folder of a chart.
func chartOf(name string) string { return filepath.Join(env.Root, "charts", name) }

// umbrella packs the chart of all operators, with theirs in it, and returns the file.
func (s *scene) umbrella() string {
	s.t.Helper()
	folder := filepath.Join(env.Root, "out", "e2e", "charts")
	_, err := env.Helm(s.ctx, s.ns, "package", chartOf(umbrella), "--dependency-update", "--destination", folder)
	s.must(err)
	return filepath.Join(folder, umbrella+"-0.0.0-dev.tgz")
}
