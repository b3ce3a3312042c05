package charts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
			more = with(t, more, "podMonitor.members", true)
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

// TestPodMonitorsOfOperators: that of each chart selects its operator's Pods and no other's, and
// collects of them what deploy/monitoring does.
func TestPodMonitorsOfOperators(t *testing.T) {
	want := as[monitoringv1.PodMonitor](t, kustomized(t, filepath.Join(root, "deploy/monitoring"))["PodMonitor/etcd-operators"]).Spec
	pods := map[string]corev1.PodTemplateSpec{}
	monitors := map[string]monitoringv1.PodMonitorSpec{}
	for _, name := range Operators {
		all := objects(t, name, home, with(t, nil, "podMonitor.create", true))
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
