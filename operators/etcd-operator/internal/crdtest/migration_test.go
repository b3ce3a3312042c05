package crdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// predecessorsInstallation is what its documentation told users to apply, but for its API
// versions, which Kubernetes has dropped since. %[1]s is the operator.
const predecessorsInstallation = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {name: %[1]s}}
  template:
    metadata: {labels: {name: %[1]s}}
    spec:
      containers:
        - name: %[1]s
          image: quay.io/coreos/etcd-operator:v0.9.4
          command: [%[1]s]
          env:
            - {name: MY_POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
            - {name: MY_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
`

const predecessorsRBAC = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: etcd-operator}
rules:
  - {apiGroups: [etcd.database.coreos.com], resources: [etcdclusters, etcdbackups, etcdrestores], verbs: ["*"]}
  - {apiGroups: [""], resources: [pods, services, endpoints, persistentvolumeclaims, events], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: etcd-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: etcd-operator}
subjects: [{kind: ServiceAccount, name: default}]
`

// guide are the shell commands of docs/tasks/migration.md, and the manifests in it.
func guide(t *testing.T) (commands, manifests []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repoRoot, "docs/tasks/migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if block[1] == "yaml" {
			manifests = append(manifests, block[2])
			continue
		}
		commands = append(commands, strings.Split(strings.TrimSpace(block[2]), "\n")...)
	}
	return commands, manifests
}

// inNamespace is a command of the guide for another namespace: an installation is an
// overlay then.
func inNamespace(t *testing.T, namespace, command string) []string {
	t.Helper()
	words := strings.Fields(command)
	if words[0] != "kubectl" {
		t.Fatalf("the guide has a command that is not kubectl's: %s", command)
	}
	for i := range words {
		if words[i] != "-k" {
			continue
		}
		root, err := filepath.Abs(repoRoot)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		shipped, err := filepath.Rel(dir, filepath.Join(root, words[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		overlay := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources: [%s]\n", namespace, shipped)
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
			t.Fatal(err)
		}
		words[i+1] = dir
	}
	return append([]string{"-n", namespace}, words[1:]...)
}

// applyText applies a manifest.
func applyText(t *testing.T, namespace, manifest string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := apiservertest.Kubectl(t, repoRoot, "-n", namespace, "apply", "-f", file); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, manifest)
	}
}

// The migration guide, command by command, over what the archived operators' users have.
// Its first step is needed: without it kubectl refuses the installation.
func TestMigrationGuide(t *testing.T) {
	operators := []string{"etcd-operator", "etcd-backup-operator", "etcd-restore-operator"}
	namespace := apiservertest.Namespace(t)
	for _, operator := range operators {
		applyText(t, namespace, fmt.Sprintf(predecessorsInstallation, operator))
	}
	applyText(t, namespace, predecessorsRBAC)
	c := apiservertest.Client(t)
	cluster := admissiontest.Object(t, "EtcdCluster", namespace, "old", `{size: 3, version: 3.2.13, repository: ""}`)
	apiservertest.Create(t, c, cluster)
	uid := cluster.GetUID()

	commands, manifests := guide(t)
	if len(commands) < 8 || len(manifests) != 2 {
		t.Fatalf("the guide has %d commands and %d manifests", len(commands), len(manifests))
	}
	for _, operator := range operators {
		out, err := apiservertest.Kubectl(t, repoRoot, inNamespace(t, namespace, "kubectl apply -k deploy/"+operator)...)
		if err == nil || !strings.Contains(string(out), "field is immutable") {
			t.Errorf("over the archived %s's Deployment: %v: %s", operator, err, out)
		}
	}
	for _, command := range commands {
		if out, err := apiservertest.Kubectl(t, repoRoot, inNamespace(t, namespace, command)...); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}

	for _, operator := range operators {
		deployment := appsv1.Deployment{}
		deployment.Namespace, deployment.Name = namespace, operator
		apiservertest.Read(t, c, &deployment)
		if got := deployment.Spec.Template.Spec.ServiceAccountName; got != operator {
			t.Errorf("%s runs as %q", operator, got)
		}
	}
	apiservertest.Read(t, c, cluster)
	if cluster.GetUID() != uid {
		t.Error("the EtcdCluster is another one")
	}
	for _, manifest := range manifests {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(namespace)
		if err := c.Create(apiservertest.Context(t), &u, client.FieldValidation("Strict")); err != nil {
			t.Errorf("a manifest of the guide: %v", err)
		}
	}
}
