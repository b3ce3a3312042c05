package manifests

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnOperatorIsDeletedAlone: all of an installation has the label by which docs/tasks/uninstall.md deletes
// the operator, but for what would take objects or other operators with it: the definition with its rules of
// admission, and the namespace.
func TestAnOperatorIsDeletedAlone(t *testing.T) {
	name := func(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }
	for _, operator := range operators {
		kept := map[string]bool{"Namespace " + home: true}
		for _, u := range parse(t, kustomize(t, filepath.Join(deploy, operator, "crd"))) {
			kept[name(u)] = true
		}
		for _, folder := range []string{".", "cluster-wide"} {
			for _, u := range parse(t, kustomize(t, filepath.Join(deploy, operator, folder))) {
				isDeleted := u.GetLabels()["app.kubernetes.io/name"] == operator
				if isDeleted == kept[name(u)] {
					t.Errorf("%s/%s: %s is deleted: %v", operator, folder, name(u), isDeleted)
				}
			}
		}
	}
}
