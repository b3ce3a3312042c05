package manifests

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
)

// installations are all that deploy/README.md tells of: each operator alone, with each
// component, for one namespace and for all.
func installations(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{}
	for _, operator := range operators {
		all[operator] = overlay(t, []string{operator}, nil)
		all[operator+", cluster-wide"] = clusterWide(t, operator)
	}
	for _, component := range components(t) {
		all["etcd-operator with "+component] = overlay(t, []string{"etcd-operator"}, []string{component})
		if !slices.Contains(partOf(t, "etcd-operator"), component) {
			all["etcd-operator, cluster-wide, with "+component] = parse(t, rendered(t, home, []string{"etcd-operator/cluster-wide"}, []string{component}))
		}
	}
	all["everything"] = overlay(t, operators, components(t))
	return all
}

// TestOperatorsRunAsNobody: the operators' own Pods pass the restricted Pod Security
// Standard, as a user that is told by number, with a root file system that they can't
// write.
func TestOperatorsRunAsNobody(t *testing.T) {
	for name, objects := range installations(t) {
		deployments := of[appsv1.Deployment](t, "Deployment", objects)
		if len(deployments) == 0 {
			t.Errorf("%s: no Deployment", name)
		}
		for _, d := range deployments {
			pod := &d.Spec.Template
			manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
			if s := pod.Spec.SecurityContext; s == nil || s.RunAsUser == nil || *s.RunAsUser == 0 {
				t.Errorf("%s: %s does not say which user it runs as", name, d.Name)
			}
			for _, c := range pod.Spec.Containers {
				if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					t.Errorf("%s: container %s of %s may write its root file system", name, c.Name, d.Name)
				}
			}
		}
		for _, ns := range of[corev1.Namespace](t, "Namespace", objects) {
			if ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("%s: namespace %s does not enforce the restricted Pod Security Standard", name, ns.Name)
			}
		}
	}
}

// TestEverythingApplies: the API server takes every installation as it is rendered.
func TestEverythingApplies(t *testing.T) {
	c, ctx := apiservertest.Client(t), apiservertest.Context(t)
	for _, name := range []string{home, databases} {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, objects := range installations(t) {
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				continue // it is there, and has tests of its own
			}
			if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
		}
	}
	text, err := apiservertest.Kubectl(t, "", "apply", "-n", databases, "-f", filepath.Join(deploy, "components", "network-policies", "members.yaml"))
	if err != nil || !strings.Contains(string(text), "etcd-members") {
		t.Errorf("%v: %s", err, text)
	}
}
