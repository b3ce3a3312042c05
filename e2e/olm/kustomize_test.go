package olm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// databases is a namespace of a user's.
const databases = "databases"

// byHand are the objects that OLM takes from no bundle, with those that mean nothing without
// them: users apply the file that has them. The kinds that OLM takes are in operator-registry,
// pkg/lib/bundle/supported_resources.go.
const byHand = "crd/admission.yaml"

// TestBundlesInstallWhatKustomizeDoes compares, object by object, what OLM makes of a bundle in
// the mode OwnNamespace with the installation for one namespace.
func TestBundlesInstallWhatKustomizeDoes(t *testing.T) {
	for _, o := range operators {
		t.Run(o.name, func(t *testing.T) {
			want := kustomized(t, o.name)
			left := byHandOf(t, o.name)
			brought := manifests(t, o.name)
			c := readCSV(t, o.name)
			for k, u := range want {
				if u.GetNamespace() != "" {
					unstructured.RemoveNestedField(u.Object, "metadata", "namespace")
				}
				switch u.GetKind() {
				case "Deployment":
					compare(t, k, u.Object, ofDeployment(t, c))
				case "Role", "RoleBinding": // compared below, as OLM names them itself
				case "ServiceAccount":
					if !slices.ContainsFunc(c.Spec.Install.Spec.Permissions, func(p permission) bool { return p.ServiceAccountName == u.GetName() }) {
						t.Errorf("OLM does not make %s, since no permission names it", k)
					}
				default:
					if left[k] != nil {
						delete(left, k)
						continue
					}
					if brought[k] == nil {
						t.Errorf("neither the bundle nor %s has %s", byHand, k)
						continue
					}
					compare(t, k, u.Object, brought[k].Object)
					delete(brought, k)
				}
			}
			for k := range brought {
				t.Errorf("the bundle has %s, and kustomize installs no such object", k)
			}
			for k := range left {
				t.Errorf("%s has %s, and kustomize installs no such object", byHand, k)
			}
			if diff := cmp.Diff(granted(t, want), grantedBy(c)); diff != "" {
				t.Errorf("rules of each ServiceAccount (-kustomize +bundle):\n%s", diff)
			}
		})
	}
}

func compare(t *testing.T, name string, want, got map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-kustomize +bundle):\n%s", name, diff)
	}
}

// ofDeployment is the one Deployment that OLM makes.
func ofDeployment(t *testing.T, c *csv) map[string]any {
	t.Helper()
	if n := len(c.Spec.Install.Spec.Deployments); n != 1 {
		t.Fatalf("the bundle has %d Deployments", n)
	}
	d := c.Spec.Install.Spec.Deployments[0]
	labels := map[string]any{}
	for name, value := range d.Label {
		labels[name] = value
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": d.Name, "labels": labels}, "spec": d.Spec,
	}
}

// granted are the rules of each ServiceAccount, by the Roles that are bound to it.
func granted(t *testing.T, objects map[string]*unstructured.Unstructured) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, u := range objects {
		if u.GetKind() != "RoleBinding" {
			continue
		}
		var binding rbacv1.RoleBinding
		into(t, u, &binding)
		var role rbacv1.Role
		into(t, objects[binding.RoleRef.Kind+"/"+binding.RoleRef.Name], &role)
		for _, subject := range binding.Subjects {
			if subject.Namespace != databases {
				t.Errorf("%s binds an account of namespace %s", key(u), subject.Namespace)
			}
			all[subject.Name] = append(all[subject.Name], words(role.Rules)...)
		}
	}
	for _, rules := range all {
		slices.Sort(rules)
	}
	return all
}

// grantedBy are the same of a bundle. OLM makes a Role of each permission, and binds it.
func grantedBy(c *csv) map[string][]string {
	all := map[string][]string{}
	for _, p := range c.Spec.Install.Spec.Permissions {
		all[p.ServiceAccountName] = append(all[p.ServiceAccountName], words(p.Rules)...)
	}
	for _, rules := range all {
		slices.Sort(rules)
	}
	return all
}

// words writes each rule in a line.
func words(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		all = append(all, rule.String())
	}
	return all
}

func into(t *testing.T, u *unstructured.Unstructured, object any) {
	t.Helper()
	if u == nil {
		t.Fatal("a binding names a Role that is not installed")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, object, true); err != nil {
		t.Fatal(err)
	}
}

// byHandOf are the objects that users apply beside a bundle.
func byHandOf(t *testing.T, operator string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := readObjects(filepath.Join(root, "deploy", operator, byHand))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for i := range objects {
		all[key(&objects[i])] = &objects[i]
	}
	return all
}

// kustomized are the objects that kubectl makes of a folder of deploy/, in the namespace
// databases.
func kustomized(t *testing.T, folder string) map[string]*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	deploy, err := filepath.Abs(filepath.Join(root, "deploy", folder))
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, deploy)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources:\n  - %s\n", databases, relative)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl, err := exec.LookPath(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"))
	if err != nil {
		t.Fatalf("this test needs kubectl in KUBEBUILDER_ASSETS, which \"make test\" sets: %v", err)
	}
	var stderr strings.Builder
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", dir)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kustomize %s: %v: %s", folder, err, stderr.String())
	}
	file := filepath.Join(dir, "all.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := readObjects(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for i := range objects {
		all[key(&objects[i])] = &objects[i]
	}
	return all
}
