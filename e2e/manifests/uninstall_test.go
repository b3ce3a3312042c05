package manifests

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestAnOperatorIsDeletedAlone: what has the label by which docs/tasks/uninstall.md deletes an operator is its
// Deployment and its rights, and nothing that takes objects or other operators with it.
func TestAnOperatorIsDeletedAlone(t *testing.T) {
	kept := []string{"Namespace", "CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
	for _, operator := range operators {
		for _, folder := range []string{".", "cluster-wide"} {
			deletes := map[string]bool{}
			for _, u := range parse(t, kustomize(t, filepath.Join(deploy, operator, folder))) {
				isDeleted := u.GetLabels()["app.kubernetes.io/name"] == operator
				deletes[u.GetKind()] = deletes[u.GetKind()] || isDeleted
				if isDeleted && slices.Contains(kept, u.GetKind()) {
					t.Errorf("%s/%s: it deletes %s %s", operator, folder, u.GetKind(), u.GetName())
				}
			}
			for _, kind := range []string{"Deployment", "ServiceAccount", "RoleBinding"} {
				if !deletes[kind] {
					t.Errorf("%s/%s: it leaves each %s", operator, folder, kind)
				}
			}
		}
	}
}
