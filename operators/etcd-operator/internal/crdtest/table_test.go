package crdtest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// What kubectl get shows, and the names it can be asked by.
func TestTableAndNames(t *testing.T) {
	c := newClient(t, config)
	namespace := newNamespace(t, c)
	u := cluster(t, namespace, "shown", `{size: 3}`)
	if err := c.Create(requestContext(t), u); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = map[string]any{
		"phase": "Running", "ready": "2/3", "currentVersion": "3.6.16",
		"leader": "shown-aaaaaaaaaa", "clusterID": "00c0ffee00c0ffee",
	}
	if err := c.Status().Update(requestContext(t), u); err != nil {
		t.Fatal(err)
	}

	discoverer, err := discovery.NewDiscoveryClientForConfig(rest.CopyConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := discoverer.RESTClient().Get().
		AbsPath("/apis", v1beta2.GroupName, v1beta2.GroupVersion.Version, "namespaces", namespace, "etcdclusters").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(requestContext(t)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	type column struct {
		Name string
		Wide bool
		Cell any
	}
	var got []column
	for i, definition := range table.ColumnDefinitions {
		cell := table.Rows[0].Cells[i]
		if definition.Name == "Age" {
			cell = nil
		}
		got = append(got, column{Name: definition.Name, Wide: definition.Priority > 0, Cell: cell})
	}
	want := []column{
		{Name: "Name", Cell: "shown"},
		{Name: "Size", Cell: float64(3)},
		{Name: "Ready", Cell: "2/3"},
		{Name: "Version", Cell: "3.6.16"},
		{Name: "Phase", Cell: "Running"},
		{Name: "Age"},
		{Name: "Leader", Wide: true, Cell: "shown-aaaaaaaaaa"},
		{Name: "Cluster ID", Wide: true, Cell: "00c0ffee00c0ffee"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}

	resources, err := discoverer.ServerResourcesForGroupVersion(v1beta2.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources.APIResources {
		if resource.Name != "etcdclusters" {
			continue
		}
		if diff := cmp.Diff([]string{"etcd", "etcdclus"}, resource.ShortNames); diff != "" {
			t.Errorf("short names (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"all", "etcd"}, resource.Categories); diff != "" {
			t.Errorf("categories (-want +got):\n%s", diff)
		}
		return
	}
	t.Error("discovery has no etcdclusters")
}
