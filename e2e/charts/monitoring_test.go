package charts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// generateTimeout bounds controller-gen, which takes seconds.
const generateTimeout = 5 * time.Minute

// installMonitoringKinds gives the API server the Prometheus operator's definitions of PodMonitor and
// PrometheusRule, made of the Go types that it publishes.
func installMonitoringKinds(t *testing.T) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, "bin/controller-gen"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: build it with make bin/controller-gen", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), generateTimeout)
	defer cancel()
	dir := t.TempDir()
	out, err := exec.CommandContext(ctx, program, "crd:maxDescLen=0", "output:crd:dir="+dir,
		"paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1").CombinedOutput()
	if err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, out)
	}
	for _, kind := range []string{"podmonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(dir, "monitoring.coreos.com_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		apiservertest.Install(t, apiservertest.Config(), apiservertest.Definition(text))
	}
}

// TestMonitoring: the charts have together what deploy/monitoring has, but for the PodMonitor of the
// operators, since each chart has one of its own.
func TestMonitoring(t *testing.T) {
	want := kustomized(t, filepath.Join(root, "deploy/monitoring"))
	got := map[string]*unstructured.Unstructured{}
	values := with(t, with(t, nil, "clusterWide", true), "prometheusRule.create", true)
	for _, name := range Operators {
		more := values
		if name == original {
			more = with(t, with(t, more, "podMonitor.members", true), "podMonitor.namespaces", []any{"default"})
		}
		if name != "etcd-restore-operator" {
			more = with(t, more, "grafanaDashboards.create", true)
		}
		for _, u := range objects(t, name, home, more) {
			u.SetNamespace("")
			got[key(u)] = u
		}
	}
	for name, u := range want {
		if name == "PodMonitor/etcd-operators" {
			continue
		}
		if got[name] == nil {
			t.Errorf("no chart has %s", name)
			continue
		}
		for _, field := range []string{"spec", "data"} {
			if diff := cmp.Diff(u.Object[field], got[name].Object[field]); diff != "" {
				t.Errorf("%s (-kustomize +helm):\n%s", name, diff)
			}
		}
	}
}

// TestMembersOfOneNamespace: an operator of one namespace has metrics collected only of its members.
func TestMembersOfOneNamespace(t *testing.T) {
	monitor := objects(t, original, databases, with(t, nil, "podMonitor.members", true))[databases+"/PodMonitor/etcd-members"]
	got, _, err := unstructured.NestedStringSlice(monitor.Object, "spec", "namespaceSelector", "matchNames")
	if diff := cmp.Diff([]string{databases}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestNamespacesOfMembers: a cluster-wide installation must name the namespaces of the members.
func TestNamespacesOfMembers(t *testing.T) {
	values := with(t, with(t, nil, "clusterWide", true), "podMonitor.members", true)
	if _, err := render(load(t, original), home, values); err == nil || !strings.Contains(err.Error(), "set it to the namespaces of the EtcdClusters, such as [databases]") {
		t.Errorf("error = %v, want one that names podMonitor.namespaces", err)
	}
}

// TestNoMetricsOfOthers: the metrics of an operator that serves one namespace have no other namespace.
func TestNoMetricsOfOthers(t *testing.T) {
	monitor := as[monitoringv1.PodMonitor](t, objects(t, original, databases, with(t, nil, "podMonitor.create", true))[databases+"/PodMonitor/"+original]).Spec
	want := []monitoringv1.RelabelConfig{{Regex: "exported_namespace", Action: "labeldrop"}}
	if diff := cmp.Diff(want, monitor.PodMetricsEndpoints[0].MetricRelabelConfigs); diff != "" {
		t.Errorf("metricRelabelings (-want +got):\n%s", diff)
	}
}

// TestPodMonitorsOfOperators: that of each chart selects its operator's Pods and no other's, and
// collects of them what deploy/monitoring does.
func TestPodMonitorsOfOperators(t *testing.T) {
	want := as[monitoringv1.PodMonitor](t, kustomized(t, filepath.Join(root, "deploy/monitoring"))["PodMonitor/etcd-operators"]).Spec
	pods := map[string]corev1.PodTemplateSpec{}
	monitors := map[string]monitoringv1.PodMonitorSpec{}
	for _, name := range Operators {
		all := objects(t, name, home, with(t, with(t, nil, "clusterWide", true), "podMonitor.create", true))
		pods[name] = as[appsv1.Deployment](t, all[home+"/Deployment/"+name]).Spec.Template
		monitors[name] = as[monitoringv1.PodMonitor](t, all[home+"/PodMonitor/"+name]).Spec
	}
	for name, monitor := range monitors {
		selector, err := metav1.LabelSelectorAsSelector(&monitor.Selector)
		if err != nil {
			t.Fatal(err)
		}
		for operator, pod := range pods {
			if selected := selector.Matches(labels.Set(pod.Labels)); selected != (operator == name) {
				t.Errorf("%s: the Pods of %s are selected: %t", name, operator, selected)
			}
		}
		if job := pods[name].Labels[monitor.JobLabel]; job != name || monitor.JobLabel != want.JobLabel {
			t.Errorf("%s: by the label %s, the job is %q", name, monitor.JobLabel, job)
		}
		if diff := cmp.Diff(want.PodMetricsEndpoints, monitor.PodMetricsEndpoints); diff != "" {
			t.Errorf("%s (-kustomize +helm):\n%s", name, diff)
		}
		for _, endpoint := range monitor.PodMetricsEndpoints {
			if !slices.ContainsFunc(pods[name].Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == *endpoint.Port }) {
				t.Errorf("%s: its Pods have no port %s", name, *endpoint.Port)
			}
		}
	}
}

// as is an object as its Go type has it, which must know each of its fields.
func as[T any](t *testing.T, u *unstructured.Unstructured) T {
	t.Helper()
	var o T
	if u == nil {
		t.Fatalf("there is no %T", o)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &o, true); err != nil {
		t.Fatalf("%s: %v", key(u), err)
	}
	return o
}

// rulesOf are the alerts of a PrometheusRule, by group.
func rulesOf(t *testing.T, u *unstructured.Unstructured) map[string][]string {
	t.Helper()
	alerts := map[string][]string{}
	for _, group := range as[monitoringv1.PrometheusRule](t, u).Spec.Groups {
		alerts[group.Name] = []string{}
		for _, rule := range group.Rules {
			alerts[group.Name] = append(alerts[group.Name], rule.Alert)
		}
	}
	return alerts
}

// TestAlertsLeftOut: a chart leaves out the alerts that the user switches off, and the one that would
// fire for ever with the values that it has. A group without alerts is left out.
func TestAlertsLeftOut(t *testing.T) {
	shipped := kustomized(t, filepath.Join(root, "deploy/monitoring"))
	for name, c := range map[string]struct {
		chart  string
		values map[string]any
		out    []string
		reason string
	}{
		"two replicas": {
			chart: original, values: map[string]any{"replicas": 2},
			reason: "each alert can end",
		},
		"one replica": {
			chart: original, values: map[string]any{"replicas": 1}, out: []string{"EtcdOperatorOneReplica"},
			reason: "one replica is what the user asks for",
		},
		"no replica": {
			chart: original, values: map[string]any{"replicas": 0}, out: []string{"EtcdOperatorOneReplica"},
			reason: "EtcdOperatorDown tells of it",
		},
		"one replica of another operator": {
			chart: "etcd-backup-operator", values: map[string]any{"replicas": 1},
			reason: "it has no such alert",
		},
		"collected by another PodMonitor": {
			chart: original, values: map[string]any{"podMonitor": map[string]any{"create": false}},
			reason: "Prometheus might collect the metrics without the chart's PodMonitor",
		},
		"some are disabled": {
			chart: original, values: with(t, nil, "prometheusRule.disabled", []any{"EtcdPaused", "EtcdMembersDown"}), out: []string{"EtcdPaused", "EtcdMembersDown"},
			reason: "of each group",
		},
		"one is disabled, with one replica": {
			chart: original, values: with(t, map[string]any{"replicas": 1}, "prometheusRule.disabled", []any{"EtcdPaused"}), out: []string{"EtcdPaused", "EtcdOperatorOneReplica"},
			reason: "both have their effect",
		},
		"what does not fit is disabled": {
			chart: original, values: with(t, map[string]any{"replicas": 1}, "prometheusRule.disabled", []any{"EtcdOperatorOneReplica"}), out: []string{"EtcdOperatorOneReplica"},
			reason: "it is an alert of the chart",
		},
		"a whole group is disabled": {
			chart: "etcd-restore-operator", values: with(t, nil, "prometheusRule.disabled", []any{"EtcdRestoreOperatorDown", "EtcdRestoreOperatorNotLeading", "EtcdRestoreOperatorNotReconciling"}),
			out:    []string{"EtcdRestoreOperatorDown", "EtcdRestoreOperatorNotLeading", "EtcdRestoreOperatorNotReconciling"},
			reason: "a group without alerts has no use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string][]string{}
			for group, alerts := range rulesOf(t, shipped["PrometheusRule/"+c.chart]) {
				if left := slices.DeleteFunc(alerts, func(alert string) bool { return slices.Contains(c.out, alert) }); len(left) > 0 {
					want[group] = left
				}
			}
			rule := objects(t, c.chart, databases, with(t, c.values, "prometheusRule.create", true))[databases+"/PrometheusRule/"+c.chart]
			if diff := cmp.Diff(want, rulesOf(t, rule)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestUnknownAlertIsRefused: a chart refuses to switch off an alert that it does not have.
func TestUnknownAlertIsRefused(t *testing.T) {
	for _, alert := range []string{"EtcdPause", "EtcdRestoreFailed", ""} {
		_, err := render(load(t, original), databases, with(t, nil, "prometheusRule.disabled", []any{"EtcdPaused", alert}))
		if want := `prometheusRule.disabled: the chart etcd-operator has no alert "` + alert + `"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", alert, err, want)
		}
	}
}
