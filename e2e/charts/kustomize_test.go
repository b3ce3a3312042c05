package charts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// helmLabels are on each object of a release, and on none of kustomize.
var helmLabels = []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}

// ownLabels are on each object of a release, and on most of kustomize.
var ownLabels = []string{"app.kubernetes.io/name", "app.kubernetes.io/part-of"}

// TestHelmAndKustomizeInstallTheSame renders both and compares them object by object.
func TestHelmAndKustomizeInstallTheSame(t *testing.T) {
	// The component puts the policy of members into the operators' namespace, too.
	atHome := map[string]any{"create": true, "namespaces": []any{home}}
	for name, c := range map[string]struct {
		values     map[string]any
		folder     string
		components []string
		only       string
	}{
		"namespaced":       {},
		"cluster-wide":     {values: map[string]any{"clusterWide": true}, folder: "cluster-wide"},
		"network-policies": {values: map[string]any{"networkPolicies": map[string]any{"create": true}}, components: []string{"network-policies"}},
		"nodes":            {values: map[string]any{"rbac": map[string]any{"nodes": true}}, components: []string{"nodes"}, only: original},
		"cert-manager":     {values: map[string]any{"rbac": map[string]any{"certManager": true}}, components: []string{"cert-manager"}, only: original},
		"cluster-wide with cert-manager": {
			values: map[string]any{"clusterWide": true, "rbac": map[string]any{"certManager": true}},
			folder: "cluster-wide", components: []string{"cert-manager"}, only: original,
		},
		"cluster-wide with network-policies": {
			values: map[string]any{"clusterWide": true, "networkPolicies": atHome},
			folder: "cluster-wide", components: []string{"network-policies"},
		},
		"all components": {
			values:     map[string]any{"networkPolicies": map[string]any{"create": true}, "rbac": map[string]any{"nodes": true, "certManager": true}},
			components: []string{"network-policies", "nodes", "cert-manager"}, only: original,
		},
		"cluster-wide with all components": { // nodes is part of it
			values: map[string]any{"clusterWide": true, "networkPolicies": atHome, "rbac": map[string]any{"certManager": true}},
			folder: "cluster-wide", components: []string{"network-policies", "cert-manager"}, only: original,
		},
	} {
		for _, operator := range Operators {
			if c.only != "" && c.only != operator {
				continue
			}
			t.Run(operator+"/"+name, func(t *testing.T) {
				namespace := databases
				if c.folder != "" {
					namespace = home
				}
				want := kustomized(t, overlay(t, namespace, filepath.Join(operator, c.folder), c.components))
				asInChart(t, want, operator, c.folder != "")
				got := objects(t, operator, namespace, c.values)
				for key, u := range got {
					if u.GetAnnotations()["helm.sh/hook"] != "" {
						delete(got, key)
						continue
					}
					checkKept(t, u)
					plain(t, u, want[key])
				}
				if diff := difference(flatten(t, want), flatten(t, got)); len(diff) > 0 {
					t.Errorf("-kustomize +helm:\n%s", strings.Join(diff, "\n"))
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-kustomize +helm, in another order:\n%s", diff)
				}
			})
		}
	}
}

// overlay writes a kustomization as deploy/README.md tells users to.
func overlay(t *testing.T, namespace, folder string, components []string) string {
	t.Helper()
	dir := t.TempDir()
	at := func(path string) string {
		deploy, err := filepath.Abs(filepath.Join(root, "deploy", path))
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(dir, deploy)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources:\n  - %s\n", namespace, at(folder))
	for i, c := range components {
		if i == 0 {
			text += "components:\n"
		}
		text += fmt.Sprintf("  - %s\n", at("components/"+c))
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asInChart changes what charts do differently, on purpose: a release brings only objects of
// its own, whose names no other release has.
func asInChart(t *testing.T, all map[string]*unstructured.Unstructured, operator string, clusterWide bool) {
	t.Helper()
	for was, u := range maps.Clone(all) {
		delete(all, was)
		switch {
		case u.GetKind() == "Namespace": // helm install --create-namespace
			continue
		case strings.HasPrefix(u.GetKind(), "ValidatingAdmission"):
			u.SetNamespace("") // kustomize takes the kind for a namespaced one
		case u.GetName() == "etcd-operator-nodes" && !clusterWide:
			u.SetName("etcd-operator-nodes-" + databases)
			if u.GetKind() == "ClusterRoleBinding" {
				set(t, u, u.GetName(), "roleRef", "name")
			}
		case u.GetKind() == "NetworkPolicy" && u.GetName() == "etcd-operators":
			u.SetName(operator)
			set(t, u, map[string]any{"app.kubernetes.io/name": operator}, "spec", "podSelector", "matchLabels")
		case u.GetKind() == "NetworkPolicy" && u.GetName() != map[string]string{
			original: "etcd-members", "etcd-backup-operator": "etcd-backups", "etcd-restore-operator": "etcd-restores",
		}[operator]:
			continue
		}
		all[key(u)] = u
	}
}

func set(t *testing.T, u *unstructured.Unstructured, value any, fields ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(u.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

// plain takes off what only Helm puts on an object.
func plain(t *testing.T, u, counterpart *unstructured.Unstructured) {
	t.Helper()
	labels := u.GetLabels()
	for _, l := range helmLabels {
		if labels[l] == "" {
			t.Errorf("%s has no label %s", key(u), l)
		}
		delete(labels, l)
	}
	for _, l := range ownLabels {
		if labels[l] == "" {
			t.Errorf("%s has no label %s", key(u), l)
		}
		if counterpart == nil || counterpart.GetLabels()[l] == "" {
			delete(labels, l)
		}
	}
	annotations := u.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	for field, left := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
		if len(left) == 0 {
			continue
		}
		if err := unstructured.SetNestedStringMap(u.Object, left, "metadata", field); err != nil {
			t.Fatal(err)
		}
	}
}

// checkKept: a definition outlives its release, and so do the rules of admission that belong to it.
func checkKept(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	want := u.GetKind() == "CustomResourceDefinition" || strings.HasPrefix(u.GetKind(), "ValidatingAdmission") || strings.HasSuffix(u.GetName(), "-admission")
	if got := u.GetAnnotations()["helm.sh/resource-policy"] == "keep"; got != want {
		t.Errorf("%s is kept: %v, want %v", key(u), got, want)
	}
}
