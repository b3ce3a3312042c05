package admissiontest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Condition is one of an object's status, for the columns that show its reason.
func Condition(kind, status, reason string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2020-01-02T03:04:05Z"}
}

// Column is one cell of what kubectl get shows of an object.
type Column struct {
	Name string
	// Wide says that only kubectl get -o wide shows it.
	Wide bool
	Cell any
}

// Columns are the cells of the one object of a resource in a namespace, as kubectl
// get shows it. That of the age is nil.
func Columns(t testing.TB, namespace, resource string) []Column {
	t.Helper()
	raw, err := discoverer(t).RESTClient().Get().
		AbsPath("/apis", v1beta2.GroupName, v1beta2.GroupVersion.Version, "namespaces", namespace, resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(apiservertest.Context(t)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("there are %d %s, want one", len(table.Rows), resource)
	}
	var all []Column
	for i, definition := range table.ColumnDefinitions {
		cell := table.Rows[0].Cells[i]
		if definition.Name == "Age" {
			cell = nil
		}
		all = append(all, Column{Name: definition.Name, Wide: definition.Priority > 0, Cell: cell})
	}
	return all
}

// Called wants one of our resources to be among those that kubectl get all shows, and to
// have exactly these short names.
func Called(t testing.TB, resource string, shortNames ...string) {
	t.Helper()
	resources, err := discoverer(t).ServerResourcesForGroupVersion(v1beta2.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
	if i < 0 {
		t.Fatalf("discovery has no %s", resource)
	}
	if diff := cmp.Diff(shortNames, resources.APIResources[i].ShortNames); diff != "" {
		t.Errorf("short names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"all"}, resources.APIResources[i].Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

func discoverer(t testing.TB) *discovery.DiscoveryClient {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(apiservertest.Config())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
