package admissiontest

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// TakenOver makes objects under a definition like the predecessor's, which had neither
// schema nor subresources, on a server of its own, and then puts ours in its place. It
// wants our operator to be able to report on each of them.
func TakenOver(t testing.TB, definition []byte, objects ...*unstructured.Unstructured) client.Client {
	t.Helper()
	config := apiservertest.Another(t)
	old := apiservertest.Definition(definition)
	preserve := true
	version := &old.Spec.Versions[0]
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: &preserve,
	}}
	version.Subresources = nil
	version.AdditionalPrinterColumns = nil
	apiservertest.Install(t, config, old)

	c := ClientFor(t, config)
	for _, u := range objects {
		if err := c.Create(apiservertest.Context(t), u); err != nil {
			t.Fatalf("create %s under the predecessor's definition: %v", u.GetName(), err)
		}
	}
	apiservertest.Install(t, config, apiservertest.Definition(definition))
	for _, u := range objects {
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			last = reportOn(ctx, c, u)
			return last == nil, nil
		})
		if err != nil {
			t.Fatalf("the operator can't report on %s under our definition: %v", u.GetName(), last)
		}
	}
	return c
}

// reportOn reads an object and writes its status, which fails until the API server
// serves our version of the definition.
func reportOn(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(u.Object, u.GetGeneration(), "status", "observedGeneration"); err != nil {
		return err
	}
	return c.Status().Update(ctx, u)
}

// EditAccepted wants a merge patch of an object to be accepted.
func EditAccepted(t testing.TB, c client.Client, u *unstructured.Unstructured, patch string) {
	t.Helper()
	if err := c.Patch(apiservertest.Context(t), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Errorf("the edit %s of %s is refused: %v", patch, u.GetName(), err)
	}
}
