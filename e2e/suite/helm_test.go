package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/previous"
)

// umbrella is the chart of all operators, and its release.
const umbrella = "etcd-operators"

// TestHelm: an EtcdCluster lives untouched through the upgrade of the chart that installed the
// operators, and through its removal. The chart of etcd-operator alone takes it over.
func TestHelm(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	h := s.isInstalledByHelm(s.umbrella(), false)
	h.upgrades()
	h.isRemoved()
}

// TestUpdateOfCharts: it also does when the chart was that of the previous release, with its
// images, and on the way back to that chart without its definitions. The operators are those of all
// namespaces; TestUpdateOfOperators has those of one. It runs beside no other test: the chart takes
// the definitions back, which are everybody's.
func TestUpdateOfCharts(t *testing.T) {
	s, before := afterARelease(t)
	var tags []string
	for _, operator := range harness.Operators {
		tags = append(tags, "--set", operator+".image.tag="+before.Version)
	}
	h := s.isInstalledByHelm(before.Chart(), true, tags...)
	h.upgrades()
	h.goesBack(before, tags)
	h.isRemoved()
	s.must(env.UninstallRelease(s.ctx, s.ns, harness.OperatorName)) // with what belongs to no namespace
}

// helmed is a cluster whose operators Helm has installed, all by one chart.
type helmed struct {
	s       *scene
	c       *cluster
	w       *etcdClient
	members map[types.UID]int32
	// isWide is true if the operators are those of all namespaces.
	isWide bool
}

// isInstalledByHelm installs all operators by a chart, and has one of them form a cluster.
func (s *scene) isInstalledByHelm(chart string, isWide bool, values ...string) *helmed {
	s.t.Helper()
	h := &helmed{s: s, isWide: isWide}
	s.helmInstalls(umbrella, chart, append(h.scope(), values...)...)
	s.operatorsRun()
	options := []harness.Option{harness.Size(3)}
	if isWide {
		options = append(options, harness.ClusterWide)
	}
	h.c = s.cluster("etcd", options...)
	h.c.settles(3, oneMinute)
	h.members, h.w = h.c.restarts(), h.c.writes()
	return h
}

// scope are the values of the chart of all operators, also of that of the release, for their scope.
func (h *helmed) scope() (values []string) {
	for _, operator := range harness.Operators {
		values = append(values, "--set", fmt.Sprintf("%s.clusterWide=%t", operator, h.isWide))
	}
	return values
}

// upgrades moves to today's chart, with other values.
func (h *helmed) upgrades() {
	s := h.s
	s.t.Helper()
	// The tests before this one applied today's admission policies from the manifests.
	_, err := env.Helm(s.ctx, s.ns, append([]string{"upgrade", umbrella, s.umbrella(), "--take-ownership", "--force-conflicts", "--set", "etcd-operator.replicas=1,etcd-operator.podLabels.team=storage,etcd-operator.resources.limits.memory=512Mi"}, h.scope()...)...)
	s.must(err)
	s.operatorsRun()
	if team := s.kubectl("get", "pods", "-l", "team=storage", "-o", "name"); strings.Count(team, "pod/") != 1 {
		s.t.Errorf("after the upgrade etcd-operator's Pods are %q", team)
	}
	s.operatorsHaveTag("dev")
	h.definitionIsTodays()
	s.helmTests(umbrella)
	h.c.settles(3, oneMinute)
	h.c.isUnrestarted(h.members)
}

// goesBack moves to the chart of the previous release, and keeps today's definitions.
func (h *helmed) goesBack(before *previous.Release, values []string) {
	s := h.s
	s.t.Helper()
	for _, operator := range harness.Operators {
		values = append(values, "--set", operator+".crds.create=false")
	}
	generation := s.kubectl("get", "crd", definition, "-o", "jsonpath={.metadata.generation}")
	_, err := env.Helm(s.ctx, s.ns, slices.Concat([]string{"upgrade", umbrella, before.Chart()}, values, h.scope())...)
	s.must(err)
	for _, operator := range harness.Operators {
		s.kubectl("rollout", "status", "deployment/"+operator, "--timeout=3m")
	}
	s.operatorsHaveTag(before.Version)
	h.definitionIsTodays()
	if now := s.kubectl("get", "crd", definition, "-o", "jsonpath={.metadata.generation}"); now != generation {
		s.t.Errorf("on the way back the definition has gone from generation %s to %s", generation, now)
	}
	s.helmTests(umbrella)
	h.c.settles(3, oneMinute)
	h.c.isUnrestarted(h.members)
	s.tell("the operators are those of %s", before.Version)
}

// isRemoved removes the release, and hands the cluster to the chart of etcd-operator alone.
func (h *helmed) isRemoved() {
	s := h.s
	s.t.Helper()
	s.must(env.UninstallRelease(s.ctx, s.ns, umbrella))
	if left := s.kubectl("get", "deployment,role,rolebinding,serviceaccount,poddisruptionbudget", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "name"); left != "" {
		s.t.Errorf("helm uninstall has left %s", left)
	}
	s.kubectl("get", "crd", definition)
	h.c.isUnrestarted(h.members)
	h.w.noticed(aBlink)
	s.tell("the release is gone, and the cluster is there")

	s.helmInstalls(harness.OperatorName, chartOf(harness.OperatorName), "--set", fmt.Sprintf("clusterWide=%t", h.isWide))
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	h.c.resize(1)
	h.c.settles(1, oneMinute)
	h.w.lostNothing(1)
}

// definitionIsTodays: the definition is the one of today's chart.
func (h *helmed) definitionIsTodays() {
	h.s.t.Helper()
	if of := h.s.kubectl("get", "crd", definition, "-o", `jsonpath={.metadata.labels.helm\.sh/chart}`); of != "etcd-operator-0.0.0-dev" {
		h.s.t.Errorf("the definition is that of %q", of)
	}
}

// operatorsHaveTag: the image of each operator has it.
func (s *scene) operatorsHaveTag(tag string) {
	s.t.Helper()
	for _, operator := range harness.Operators {
		if image := s.kubectl("get", "deployment", operator, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); !strings.HasSuffix(image, ":"+tag) {
			s.t.Errorf("%s is %s, want tag %s", operator, image, tag)
		}
	}
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
