package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The nodes have the etcd that the demo's cluster asks for.
func TestNodesHaveTheClustersEtcd(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c v1beta2.EtcdCluster
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	v := etcdversion.Parse(c.Spec.Version)
	if want := fmt.Sprintf("etcd-%d.%d", v.Major, v.Minor); !slices.Contains(needs, want) {
		t.Errorf("the demo's nodes have %v, and examples/cluster.yaml asks for etcd %s: want %s", needs, c.Spec.Version, want)
	}
}
