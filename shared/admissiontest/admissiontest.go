// Package admissiontest holds what the tests of our custom resource definitions
// share: objects just as a user writes them, a client that is as strict as kubectl,
// and the look at what the API server answers. The server is that of package
// apiservertest.
package admissiontest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Client returns a client that refuses fields which the schema doesn't have, as
// kubectl does.
func Client(t testing.TB) client.Client {
	t.Helper()
	return ClientFor(t, apiservertest.Config())
}

// ClientFor is [Client] for a server of one's own.
func ClientFor(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	return client.WithFieldValidation(apiservertest.ClientFor(t, config), metav1.FieldValidationStrict)
}

// Object returns an object of our group with the spec in yamlSpec, just as a user
// would have written it: nothing passes through our Go types on the way. Without a
// name it gets a generated one.
func Object(t testing.TB, kind, namespace, name, yamlSpec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": Parse(t, []byte(yamlSpec))}}
	u.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	if name == "" {
		u.SetGenerateName("some-")
	}
	return u
}

// Manifest reads the first object of our API group in a file. What else the file holds is
// for others to accept.
func Manifest(t testing.TB, path string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		u := &unstructured.Unstructured{Object: Parse(t, document)}
		if u.GroupVersionKind().Group == v1beta2.GroupName {
			return u
		}
	}
	t.Fatalf("%s has no object of %s", path, v1beta2.GroupName)
	return nil
}

// Parse reads one YAML mapping with the types that the API machinery uses: whole
// numbers become int64.
func Parse(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	inJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(inJSON, &object); err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	return object
}

// Glob returns the files that match pattern, of which there must be some.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}
