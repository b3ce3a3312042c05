package consumer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// examplesFolder is examples/, seen from this package.
const examplesFolder = "../../../examples"

// exampleNamespace is the one for which the examples are written.
const exampleNamespace = "default"

// Each example of a consumer shows the very configuration that Config writes for its cluster.
func TestExamplesShowTheConfiguration(t *testing.T) {
	rows := map[string]struct {
		kind     string
		settings Settings
		// key is that of the ConfigMap which holds the text; empty if the text is a document.
		key string
	}{
		"consumer-kubeadm.yaml": {"kubeadm", Settings{Endpoint: "https://etcd.example.com:2379"}, "kubeadm.yaml"},
		"consumer-kamaji.yaml":  {"kamaji", Settings{}, ""},
		"consumer-patroni.yaml": {"patroni", Settings{}, "patroni.yml"},
		"consumer-apisix.yaml":  {"apisix", Settings{}, "config.yaml"},
	}
	files, err := filepath.Glob(filepath.Join(examplesFolder, "consumer-*.yaml"))
	if err != nil || len(files) != len(rows) {
		t.Errorf("%d examples of consumers, and %d rows here: %v", len(files), len(rows), err)
	}
	for file, row := range rows {
		t.Run(file, func(t *testing.T) {
			documents := exampleDocuments(t, file)
			want, err := Config(exampleCluster(t, documents), row.kind, row.settings)
			if err != nil {
				t.Fatal(err)
			}
			got := documents
			if row.key != "" {
				got = values(t, documents, row.key)
			}
			if !slices.Contains(got, want) {
				t.Errorf("examples/%s does not show what Config writes (-want +shown):\n%s", file, cmp.Diff(want, got[len(got)-1]))
			}
		})
	}
}

// exampleDocuments are the YAML documents of an example, each with its comments.
func exampleDocuments(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesFolder, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "---\n")
}

// exampleCluster is the EtcdCluster among the documents.
func exampleCluster(t *testing.T, documents []string) *v1beta2.EtcdCluster {
	t.Helper()
	for _, document := range documents {
		cluster := &v1beta2.EtcdCluster{}
		if err := yaml.Unmarshal([]byte(document), cluster); err == nil && cluster.Kind == "EtcdCluster" {
			cluster.Namespace = exampleNamespace
			return cluster
		}
	}
	t.Fatal("there is no EtcdCluster")
	return nil
}

// values are those of a key in the ConfigMaps among the documents.
func values(t *testing.T, documents []string, key string) []string {
	t.Helper()
	var all []string
	for _, document := range documents {
		configMap := &corev1.ConfigMap{}
		if err := yaml.Unmarshal([]byte(document), configMap); err == nil && configMap.Kind == "ConfigMap" {
			all = append(all, configMap.Data[key])
		}
	}
	if len(all) == 0 {
		t.Fatalf("there is no ConfigMap, which should hold %s", key)
	}
	return all
}
