package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	deploy = "../../deploy"
	// home is the namespace of the shipped installations for all namespaces.
	home = "etcd-operators"
	// databases is a namespace of a user's.
	databases = "databases"
)

var operators = []string{"etcd-operator", "etcd-backup-operator", "etcd-restore-operator"}

// components are the folders in deploy/components.
func components(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(deploy, "components"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("there is no component: %v", err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// overlay renders folders of deploy/ with some components, as deploy/README.md tells users
// to write it, for their namespace.
func overlay(t *testing.T, folders, with []string) []*unstructured.Unstructured {
	t.Helper()
	return parse(t, rendered(t, databases, folders, with))
}

// rendered is the text of an overlay.
func rendered(t *testing.T, namespace string, folders, with []string) []byte {
	t.Helper()
	dir := t.TempDir()
	at := func(parts ...string) string {
		absolute, err := filepath.Abs(filepath.Join(append([]string{deploy}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(dir, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources:\n", namespace)
	for _, f := range folders {
		fmt.Fprintf(&text, "  - %s\n", at(f))
	}
	if len(with) > 0 {
		text.WriteString("components:\n")
	}
	for _, c := range with {
		fmt.Fprintf(&text, "  - %s\n", at("components", c))
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

// clusterWide renders an operator's installation for all namespaces.
func clusterWide(t *testing.T, operator string) []*unstructured.Unstructured {
	t.Helper()
	return parse(t, kustomize(t, filepath.Join(deploy, operator, "cluster-wide")))
}

func kustomize(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := apiservertest.Kubectl(t, "", "kustomize", dir)
	if err != nil {
		t.Fatalf("kustomize %s: %v: %s", dir, err, text)
	}
	return text
}

// partOf are the components that an operator's installation for all namespaces has.
func partOf(t *testing.T, operator string) []string {
	t.Helper()
	kustomization := read(t, filepath.Join(deploy, operator, "cluster-wide", "kustomization.yaml"))
	folders, _, err := unstructured.NestedStringSlice(kustomization[0].Object, "components")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		names = append(names, filepath.Base(f))
	}
	return names
}

// read reads the objects of a file.
func read(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func parse(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := documents.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case len(u.Object) > 0:
			all = append(all, u)
		}
	}
}

// of returns the objects of a kind.
func of[T any](t *testing.T, kind string, objects []*unstructured.Unstructured) []T {
	t.Helper()
	var found []T
	for _, u := range objects {
		if u.GetKind() != kind {
			continue
		}
		var o T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &o, true); err != nil {
			t.Fatalf("%s %s: %v", kind, u.GetName(), err)
		}
		found = append(found, o)
	}
	return found
}
