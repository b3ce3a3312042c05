package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// TestExamplesApply: an API server with our kinds and our rules of admission takes every object of
// every file in examples/, knows each field, and stores our specs as they are written. It serves other
// projects' kinds by their own definitions. No file is left out.
func TestExamplesApply(t *testing.T) {
	installOthersKinds(t)
	c := client.WithFieldValidation(admissiontest.Client(t), metav1.FieldValidationStrict)
	admissionIsEnforced(t)
	for _, file := range exampleFiles(t) {
		t.Run(file, func(t *testing.T) {
			namespace := apiservertest.Namespace(t)
			for _, object := range exampleObjects(t, file) {
				isStoredAsWritten(t, c, namespace, object)
			}
		})
	}
}

// TestExamplesFitTogether: what an example refers to is there, under that name.
func TestExamplesFitTogether(t *testing.T) {
	var clusters []string
	for _, file := range exampleFiles(t) {
		for _, cluster := range of[v1beta2.EtcdCluster](t, "EtcdCluster", exampleObjects(t, file)) {
			clusters = append(clusters, cluster.Name)
			spreadsItsOwnMembers(t, file, &cluster)
		}
	}
	for _, file := range exampleFiles(t) {
		objects := exampleObjects(t, file)
		accounts := of[corev1.ServiceAccount](t, "ServiceAccount", objects)
		for _, backup := range of[v1beta2.EtcdBackup](t, "EtcdBackup", objects) {
			if ref := backup.Spec.ClusterRef; ref == nil || !slices.Contains(clusters, ref.Name) {
				t.Errorf("examples/%s: EtcdBackup %s is of %v, and no example has that EtcdCluster", file, backup.Name, ref)
			}
			if pod := backup.Spec.Pod; pod != nil && pod.ServiceAccountName != "" {
				named := func(a corev1.ServiceAccount) bool { return a.Name == pod.ServiceAccountName }
				if !slices.ContainsFunc(accounts, named) {
					t.Errorf("examples/%s: there is no ServiceAccount %s", file, pod.ServiceAccountName)
				}
			}
		}
	}
}

// TestIdentityExamples: backups by a cloud's identity name an account with that cloud's annotation
// and no Secret. Who creates EtcdBackups needs a right to that account, as the examples say.
func TestIdentityExamples(t *testing.T) {
	admissionIsEnforced(t)
	annotations := map[string]string{
		"identity-aws.yaml":    "eks.amazonaws.com/role-arn",
		"identity-azure.yaml":  "azure.workload.identity/client-id",
		"identity-google.yaml": "iam.gke.io/gcp-service-account",
	}
	if files := admissiontest.Glob(t, filepath.Join(repoRoot, "examples/identity-*.yaml")); len(files) != len(annotations) {
		t.Errorf("%d examples of identities, and %d clouds here", len(files), len(annotations))
	}
	for file, annotation := range annotations {
		t.Run(file, func(t *testing.T) {
			objects := exampleObjects(t, file)
			accounts := of[corev1.ServiceAccount](t, "ServiceAccount", objects)
			backups := of[v1beta2.EtcdBackup](t, "EtcdBackup", objects)
			if len(accounts) != 1 || len(backups) != 1 || accounts[0].Annotations[annotation] == "" {
				t.Fatalf("it has %d EtcdBackups and the ServiceAccounts %v, want one of each, with the annotation %s", len(backups), accounts, annotation)
			}
			if spec := fmt.Sprint(objects[len(objects)-1].Object); strings.Contains(spec, "Secret") {
				t.Errorf("it names a Secret: %s", spec)
			}

			namespace := apiservertest.Namespace(t)
			create := admissiontest.Right(v1beta2.GroupName, "etcdbackups", []string{"create"})
			use := admissiontest.Right("", "serviceaccounts", []string{"use"}, accounts[0].Name)
			backup := objects[len(objects)-1]
			backup.SetNamespace(namespace)
			stranger := admissiontest.User(t, namespace, "stranger", create)
			admissiontest.Denied(t, stranger.Create(apiservertest.Context(t), backup.DeepCopy()), "spec.pod.serviceAccountName", accounts[0].Name)
			user := admissiontest.User(t, namespace, "user", create, use)
			if err := user.Create(apiservertest.Context(t), backup.DeepCopy()); err != nil {
				t.Errorf("a user with the verb use on the account is refused: %v", err)
			}
		})
	}
}

// TestExamplesAreListed: the README of examples/ has a row for each file.
func TestExamplesAreListed(t *testing.T) {
	readme := page(t, "examples/README.md")
	for _, file := range exampleFiles(t) {
		if !strings.Contains(readme, fmt.Sprintf("\n| [%s](%s) |", file, file)) {
			t.Errorf("examples/README.md has no row for %s", file)
		}
	}
}

// admissionIsEnforced installs the rules of admission, and waits until they take effect.
func admissionIsEnforced(t *testing.T) {
	t.Helper()
	namespace := apiservertest.Namespace(t)
	for _, rule := range []struct{ operator, kind, resource, refused string }{
		{"etcd-backup-operator", "EtcdBackup", "etcdbackups", `{clusterRef: {name: example}, storageType: PVC, pvc: {claimName: taken, path: a}}`},
		{"etcd-restore-operator", "EtcdRestore", "etcdrestores", `{etcdCluster: {name: example}, target: InPlace, backupStorageType: PVC, pvc: {claimName: taken, path: a}}`},
	} {
		as := admissiontest.User(t, namespace, "of-"+rule.resource, admissiontest.Right(v1beta2.GroupName, rule.resource, []string{"create"}))
		admissiontest.Enforced(t, repoRoot, rule.operator, as, admissiontest.Object(t, rule.kind, namespace, "refused", rule.refused))
	}
}

// exampleFiles are the names of all files in examples/, but for the README.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(repoRoot, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, entry := range entries {
		if entry.Name() != "README.md" {
			files = append(files, entry.Name())
		}
	}
	if len(files) < 20 {
		t.Fatalf("%d examples: too few to be all", len(files))
	}
	return files
}

// exampleObjects are the objects of an example. A key that is there twice is refused.
func exampleObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(page(t, "examples/"+file), "\n---\n") {
		objects = append(objects, &unstructured.Unstructured{Object: admissiontest.Parse(t, []byte(document))})
	}
	return objects
}

// isStoredAsWritten creates an object, in a namespace unless it names one.
func isStoredAsWritten(t *testing.T, c client.Client, namespace string, object *unstructured.Unstructured) {
	t.Helper()
	isNamespaced, err := c.IsObjectNamespaced(object)
	if err != nil {
		t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		return
	}
	if named := object.GetNamespace(); named != "" {
		err := c.Create(apiservertest.Context(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: named}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	} else if isNamespaced {
		object.SetNamespace(namespace)
	}
	stored := object.DeepCopy()
	if err := c.Create(apiservertest.Context(t), stored); err != nil {
		t.Errorf("%s %s is refused: %v", object.GetKind(), object.GetName(), err)
		return
	}
	if object.GroupVersionKind().Group != v1beta2.GroupName {
		return // others' kinds have defaults that are written into the spec
	}
	if diff := cmp.Diff(object.Object["spec"], stored.Object["spec"]); diff != "" {
		t.Errorf("the spec of %s %s was changed (-written +stored):\n%s", object.GetKind(), object.GetName(), diff)
	}
}

// spreadsItsOwnMembers: a constraint with a misspelled selector counts no Pod, and spreads nothing.
func spreadsItsOwnMembers(t *testing.T, file string, cluster *v1beta2.EtcdCluster) {
	t.Helper()
	if cluster.Spec.Pod == nil {
		return
	}
	members := labels.Set{v1beta2.LabelCluster: cluster.Name}
	for _, constraint := range cluster.Spec.Pod.TopologySpreadConstraints {
		selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
		if err != nil || !selector.Matches(members) {
			t.Errorf("examples/%s: the constraint on %s selects %v (%v), which are not the members %v", file, constraint.TopologyKey, selector, err, members)
		}
	}
}
