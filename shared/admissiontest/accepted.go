package admissiontest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Case is an object that is written to the API server.
type Case struct {
	// Reason is why it is accepted.
	Reason string
	// Name is that of the object; empty for a generated one.
	Name string
	// Spec is its spec, in YAML.
	Spec string
}

// Accepted wants each case, an object of one kind, to be accepted.
func Accepted(t *testing.T, kind string, cases map[string]Case) {
	t.Helper()
	c, namespace := Client(t), apiservertest.Namespace(t)
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			if err := c.Create(apiservertest.Context(t), Object(t, kind, namespace, tc.Name, tc.Spec)); err != nil {
				t.Errorf("%s, but it was refused: %v", tc.Reason, err)
			}
		})
	}
}

// AcceptedAsTheyStand wants the manifests in the files that match the patterns to be
// accepted, with nothing in their specs changed.
func AcceptedAsTheyStand(t *testing.T, patterns ...string) {
	t.Helper()
	c := Client(t)
	for _, pattern := range patterns {
		for _, path := range Glob(t, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				manifest := Manifest(t, path)
				manifest.SetNamespace(apiservertest.Namespace(t))
				stored := manifest.DeepCopy()
				if err := c.Create(apiservertest.Context(t), stored); err != nil {
					t.Fatalf("refused: %v", err)
				}
				if diff := cmp.Diff(manifest.Object["spec"], stored.Object["spec"]); diff != "" {
					t.Errorf("the spec was changed (-written +stored):\n%s", diff)
				}
			})
		}
	}
}

// Stored wants an object of this spec to be accepted, and its stored spec to be want.
func Stored(t *testing.T, kind, spec, want string) {
	t.Helper()
	u := Object(t, kind, apiservertest.Namespace(t), "", spec)
	if err := Client(t).Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(Parse(t, []byte(want))), u.Object["spec"]); diff != "" {
		t.Errorf("the spec (-want +stored):\n%s", diff)
	}
}

// KeptByGoTypes wants every field of the manifests' specs to have a place, of its
// spelling, in our Go type, and to come out of it as it went in. empty makes an object
// of that type.
func KeptByGoTypes(t *testing.T, pattern string, empty func() client.Object) {
	t.Helper()
	for _, path := range Glob(t, pattern) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			manifest, typed := Manifest(t, path), empty()
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, typed, true); err != nil {
				t.Fatal(err)
			}
			back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := unstructured.NestedMap(manifest.Object, "spec")
			omitZeroes(want)
			if diff := cmp.Diff(any(want), back["spec"]); diff != "" {
				t.Errorf("the spec through our Go types (-written +read):\n%s", diff)
			}
		})
	}
}

// omitZeroes takes out what means the same as if it were omitted.
func omitZeroes(fields map[string]any) {
	for name, value := range fields {
		if value == "" || value == false {
			delete(fields, name)
		}
		if inner, ok := value.(map[string]any); ok {
			omitZeroes(inner)
		}
	}
}

// OldClientsStatus wants the status in the manifest at path, as the predecessor's Go
// types write it, to be accepted on whichever way it comes, and to be stored only if it
// comes as an update of the status. Our Go type reads it into typed.
func OldClientsStatus(t *testing.T, path string, typed client.Object) {
	t.Helper()
	c, u := Client(t), Manifest(t, path)
	status := u.Object["status"]
	u.SetNamespace(apiservertest.Namespace(t))
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatalf("create: %v", err)
	}
	if _, found, _ := unstructured.NestedMap(u.Object, "status"); found {
		t.Error("a status sent on create was stored: only the operator may write it")
	}
	u.Object["status"] = status
	if err := c.Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("update of the object: %v", err)
	}
	u.Object["status"] = status
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("update of the status: %v", err)
	}
	typed.SetNamespace(u.GetNamespace())
	typed.SetName(u.GetName())
	apiservertest.Read(t, c, typed)
}
