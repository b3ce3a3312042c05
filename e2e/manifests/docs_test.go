package manifests

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/docs"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// foreign are API groups that a bare API server does not serve, and that pages show objects of.
var foreign = []string{"cert-manager.io", "kustomize.config.k8s.io", "monitoring.coreos.com", "operators.coreos.com", "policy.cert-manager.io", "snapshot.storage.k8s.io"}

// The API server takes each object that a page shows.
func TestPagesShowRightObjects(t *testing.T) {
	pages, err := docs.Pages(repoRoot)
	if err != nil {
		t.Fatal(err)
	}
	c := apiservertest.Client(t)
	checked := 0
	for _, page := range pages {
		for _, block := range page.Blocks {
			if block.Language != "yaml" {
				continue
			}
			checked++
			if err := checkYAML(t, c, &block); err != nil {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
	}
	t.Logf("%d blocks on %d pages", checked, len(pages))
}

func TestCheckYAMLFinds(t *testing.T) {
	const head = "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdCluster\nmetadata: {name: example}\n"
	c := apiservertest.Client(t)
	for text, isRight := range map[string]bool{
		head + "spec: {size: 3}":                            true,
		head + "spec: {size: 3}\n---\n" + head + "spec: {}": true,
		head + "spec: {size: 300}":                          false,
		head + "spec: {sise: 3}":                            false,
		head + "spec: {size: 3}\nspec: {size: 5}":           false,
		"spec: {size: 3}":                                   false,
		"apiVersion: example.com/v1\nkind: X":               false,
		"apiVersion: cert-manager.io/v1\nkind: Certificate": true,
	} {
		if err := checkYAML(t, c, &docs.Block{Text: text}); (err == nil) != isRight {
			t.Errorf("%v of\n%s", err, text)
		}
	}
	for text, isRight := range map[string]bool{"size: 3": true, "- size: 3": true, "size: 3\nsize: 5": false, "size: {": false} {
		if err := checkYAML(t, c, &docs.Block{Text: text, Info: "{fragment=true}"}); (err == nil) != isRight {
			t.Errorf("%v of the fragment\n%s", err, text)
		}
	}
}

// checkYAML returns what is wrong with the objects in a block. A fragment need only be YAML.
func checkYAML(t *testing.T, c client.Client, block *docs.Block) error {
	t.Helper()
	if block.IsFragment() {
		var fragment any
		return yaml.UnmarshalStrict([]byte(block.Text), &fragment)
	}
	var found []error
	for document := range strings.SplitSeq("\n"+block.Text, "\n---") {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			return err
		}
		group := object.GroupVersionKind().Group
		switch {
		case len(object.Object) == 0 || slices.Contains(foreign, group):
		case object.GetKind() == "" || object.GetAPIVersion() == "":
			found = append(found, errors.New("this is no whole object: mark it as ```yaml {fragment=true}"))
		default:
			found = append(found, dryRun(t, c, &object))
		}
	}
	return errors.Join(found...)
}

// dryRun asks the API server whether it would create an object.
func dryRun(t *testing.T, c client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	isNamespaced, err := c.IsObjectNamespaced(object)
	if err != nil {
		return err
	}
	if isNamespaced {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
		if err := c.Create(apiservertest.Context(t), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	err = c.Create(apiservertest.Context(t), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) {
		return nil // such as the namespace of another object
	}
	return err
}
