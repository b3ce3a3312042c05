package manifests

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
)

// TestMonitoring: the Prometheus operator knows each field of its objects, and Grafana finds each
// dashboard.
func TestMonitoring(t *testing.T) {
	objects := parse(t, kustomize(t, filepath.Join(deploy, "monitoring")))
	rules, dashboards := of[monitoringv1.PrometheusRule](t, "PrometheusRule", objects), of[corev1.ConfigMap](t, "ConfigMap", objects)
	monitors := of[monitoringv1.PodMonitor](t, "PodMonitor", objects)
	if len(rules) != len(operators) || len(dashboards) != len(monitoring.Dashboards()) || len(rules)+len(dashboards)+len(monitors) != len(objects) {
		t.Errorf("%d PrometheusRules, %d dashboards and %d PodMonitors of %d objects", len(rules), len(dashboards), len(monitors), len(objects))
	}
	for _, d := range monitoring.Dashboards() {
		file := filepath.Base(monitoring.DashboardFile(d.UID))
		if !slices.ContainsFunc(dashboards, func(c corev1.ConfigMap) bool { return c.Data[file] != "" && c.Labels["grafana_dashboard"] == "1" }) {
			t.Errorf("no ConfigMap that Grafana looks for has %s", file)
		}
	}
}

// TestPodMonitors: they select all Pods that have metrics, and no others. The port that a PodMonitor
// names is that of the metrics, and the labels of which it makes others are there, in each Pod that
// it selects.
func TestPodMonitors(t *testing.T) {
	const metrics, web = 2381, 8080
	monitors := map[string]monitoringv1.PodMonitor{}
	for _, m := range of[monitoringv1.PodMonitor](t, "PodMonitor", parse(t, kustomize(t, filepath.Join(deploy, "monitoring")))) {
		monitors[m.Name] = m
	}
	pods := slices.Concat(
		built(t, "shared/member/testdata/*.golden.yaml"), built(t, "operators/etcd-restore-operator/internal/build/testdata/*.golden.yaml"),
		built(t, "operators/etcd-backup-operator/internal/job/testdata/*.golden.yaml"),
		slices.Collect(maps.Values(deployed(t, databases, false))), slices.Collect(maps.Values(deployed(t, home, true))),
	)
	for name, want := range map[string]struct {
		port int32
		// namespaces lists the namespaces whose Pods are selected.
		namespaces []string
		// jobs are the values of the label job, by which the rules and dashboards select.
		jobs []string
		// cluster says whether the label cluster has the EtcdCluster's name.
		cluster bool
		has     func(pod) bool
	}{
		"etcd-members": {metrics, []string{"default"}, []string{"etcd"}, true, func(p pod) bool {
			return p.labels["app"] == "etcd" && slices.Contains(p.ports, metrics)
		}},
		"etcd-operators": {web, []string{"default", home}, operators, false, func(p pod) bool { return slices.Contains(p.ports, web) }},
	} {
		m := monitors[name]
		if diff := cmp.Diff(monitoringv1.NamespaceSelector{MatchNames: want.namespaces}, m.Spec.NamespaceSelector); diff != "" {
			t.Errorf("%s: whoever can create Pods in a namespace sets their labels, so each must be named (-want +got):\n%s", name, diff)
		}
		if len(m.Spec.PodMetricsEndpoints) != 1 || m.Spec.PodMetricsEndpoints[0].Port == nil {
			t.Fatalf("%s: %+v", name, m.Spec)
		}
		endpoint := m.Spec.PodMetricsEndpoints[0]
		if endpoint.HonorLabels || endpoint.Scheme != nil && *endpoint.Scheme != monitoringv1.SchemeHTTP || endpoint.Path != "/metrics" {
			t.Errorf("%s: %+v", name, endpoint)
		}
		var jobs []string
		for _, p := range pods {
			selected := selects(t, &m.Spec.Selector, p.labels)
			if selected != want.has(p) {
				t.Errorf("%s: Pod with %v and ports %v is selected: %t", name, p.labels, p.ports, selected)
			}
			if !selected {
				continue
			}
			if got := p.named[*endpoint.Port]; got != want.port {
				t.Errorf("%s: port %s of a Pod with %v is %d, want %d", name, *endpoint.Port, p.labels, got, want.port)
			}
			jobs = append(jobs, p.labels[m.Spec.JobLabel])
			if cluster := relabeled(t, &endpoint, p)["cluster"]; want.cluster && (cluster == "" || cluster != p.labels[v1beta2.LabelCluster]) {
				t.Errorf("%s: a Pod with %v gets the label cluster %q", name, p.labels, cluster)
			}
		}
		slices.Sort(jobs)
		if diff := cmp.Diff(slices.Sorted(slices.Values(want.jobs)), slices.Compact(jobs)); diff != "" {
			t.Errorf("%s: jobs (-want +got):\n%s", name, diff)
		}
	}
}

// TestNobodyForgesMetrics: the label namespace of a series is the Pod's own namespace. The exception is the
// namespace of cluster-wide operators, where only administrators create Pods.
func TestNobodyForgesMetrics(t *testing.T) {
	monitors := map[string]*monitoringv1.PodMetricsEndpoint{}
	for _, m := range of[monitoringv1.PodMonitor](t, "PodMonitor", parse(t, kustomize(t, filepath.Join(deploy, "monitoring")))) {
		monitors[m.Name] = &m.Spec.PodMetricsEndpoints[0]
	}
	for name, row := range map[string]struct {
		reason, monitor, in, about, want string
	}{
		"cluster-wide":  {"the metric is about an object in another namespace", "etcd-operators", home, "shop", "shop"},
		"its own":       {"a metric about no object has the namespace of the Pod", "etcd-operators", home, "", home},
		"one namespace": {"the operator runs where its objects are", "etcd-operators", "default", "default", "default"},
		"forged":        {"the metrics of a Pod in default name another namespace", "etcd-operators", "default", "victim", "default"},
		"forged member": {"the metrics of a Pod name another namespace", "etcd-members", "default", "victim", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			series := map[string]string{"namespace": row.in}
			if row.about != "" { // Prometheus renames the metric's own label, without honorLabels
				series["exported_namespace"] = row.about
			}
			if got := collected(t, monitors[row.monitor], series)["namespace"]; got != row.want {
				t.Errorf("namespace = %q, want %q: %s", got, row.want, row.reason)
			}
		})
	}
}

// collected returns the labels of a series after an endpoint's metricRelabelings.
func collected(t *testing.T, endpoint *monitoringv1.PodMetricsEndpoint, series map[string]string) map[string]string {
	t.Helper()
	for _, r := range endpoint.MetricRelabelConfigs {
		pattern := regexp.MustCompile("^(?:" + r.Regex + ")$")
		switch r.Action {
		case "labeldrop":
			maps.DeleteFunc(series, func(name, _ string) bool { return pattern.MatchString(name) })
		case "":
			var values []string
			for _, source := range r.SourceLabels {
				values = append(values, series[string(source)])
			}
			if match := pattern.FindStringSubmatch(strings.Join(values, ";")); match != nil {
				series[r.TargetLabel] = match[1]
			}
		default:
			t.Fatalf("this test does not know the action %s", r.Action)
		}
	}
	return series
}

// relabeled are the labels that an endpoint's relabelings make of a Pod's, each a copy of one.
func relabeled(t *testing.T, endpoint *monitoringv1.PodMetricsEndpoint, p pod) map[string]string {
	t.Helper()
	meta := map[monitoringv1.LabelName]string{}
	for name, value := range p.labels {
		meta[monitoringv1.LabelName("__meta_kubernetes_pod_label_"+strings.NewReplacer(".", "_", "/", "_", "-", "_").Replace(name))] = value
	}
	made := map[string]string{}
	for _, r := range endpoint.RelabelConfigs {
		if len(r.SourceLabels) != 1 || r.Regex != "" || r.Replacement != nil || r.Action != "" {
			t.Fatalf("this test knows only copies of one label: %+v", r)
		}
		made[r.TargetLabel] = meta[r.SourceLabels[0]]
	}
	return made
}
