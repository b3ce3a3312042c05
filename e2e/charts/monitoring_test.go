package charts

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
