package charts

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	root = "../.."
	// databases is a namespace of a user's, and home that of the shipped cluster-wide installations.
	databases = "databases"
	home      = "etcd-operators"
)

// load reads a chart anew, as rendering changes it.
func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(filepath.Join(root, "charts", name))
	if err != nil {
		t.Fatal(err)
	}
	if name == Umbrella { // as "helm dependency build" does, which might have left older ones
		c.SetDependencies()
		for _, operator := range Operators {
			c.AddDependency(load(t, operator))
		}
	}
	return c
}

// render is what "helm template" prints.
func render(c *chart.Chart, namespace string, values map[string]any) (map[string]string, error) {
	if err := dependencies.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	with, err := chartutil.ToRenderValues(c, values, common.ReleaseOptions{Name: "release", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, with)
}

// objects are those of a release, by kind, namespace and name.
func objects(t *testing.T, name, namespace string, values map[string]any) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := render(load(t, name), namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(file, ".yaml") {
			parse(t, []byte(files[file]), all)
		}
	}
	return all
}

// kustomized are the objects that kubectl makes of a folder.
func kustomized(t *testing.T, folder string) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := apiservertest.Kubectl(t, "", "kustomize", folder)
	if err != nil {
		t.Fatalf("kustomize %s: %v: %s", folder, err, text)
	}
	all := map[string]*unstructured.Unstructured{}
	parse(t, text, all)
	return all
}

func key(u *unstructured.Unstructured) string {
	return strings.TrimPrefix(u.GetNamespace()+"/", "/") + u.GetKind() + "/" + u.GetName()
}

func parse(t *testing.T, text []byte, into map[string]*unstructured.Unstructured) {
	t.Helper()
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := documents.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case len(u.Object) == 0:
		case into[key(u)] != nil:
			t.Fatalf("%s is there twice", key(u))
		default:
			into[key(u)] = u
		}
	}
}
