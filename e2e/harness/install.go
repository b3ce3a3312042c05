package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/previous"
)

// The names of the operators: of their folders in deploy/, their Deployments and their
// ServiceAccounts.
const (
	OperatorName        = "etcd-operator"
	BackupOperatorName  = "etcd-backup-operator"
	RestoreOperatorName = "etcd-restore-operator"
)

// Operators are all of them.
var Operators = []string{OperatorName, BackupOperatorName, RestoreOperatorName}

// labelName is the label by which an operator's Pods are found.
const labelName = "app.kubernetes.io/name"

// Install says how an operator is installed. Its zero value is the etcd-operator that
// deploy/ ships.
type Install struct {
	// Operator is the name of the operator; empty stands for OperatorName.
	Operator string
	// Nodes lets it read Nodes (deploy/components/nodes).
	Nodes bool
	// CertManager lets it ask cert-manager for certificates
	// (deploy/components/cert-manager).
	CertManager bool
	// OnNode keeps it on one node, so that a test can take the others away.
	OnNode string
	// OffNode keeps it off one node.
	OffNode string
	// Replicas is the number of Pods; 0 stands for the shipped one.
	Replicas int
	// Args are added to the command line.
	Args []string
	// Release is an earlier release to install instead; nil stands for what deploy/ ships.
	Release *previous.Release
	// KeepDefinitions leaves the definitions and admission policies as they are, which all
	// namespaces share.
	KeepDefinitions bool
}

// overlay is a kustomization such as deploy/README.md tells users to write.
var overlay = template.Must(template.New("overlay").Parse(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: {{.Namespace}}
resources:
  - {{.Resource}}
{{- with .Release}}
images:
  - {name: ghcr.io/etcd-operators/{{$.Operator}}, newTag: {{.Version}}}
{{- end}}
{{- if or .Nodes .CertManager}}
components:
{{- end}}
{{- if .Nodes}}
  - {{.Deploy}}/components/nodes
{{- end}}
{{- if .CertManager}}
  - {{.Deploy}}/components/cert-manager
{{- end}}
{{- if .Replicas}}
replicas:
  - {name: {{.Operator}}, count: {{.Replicas}}}
{{- end}}
patches:
{{- range .Args}}
  - target: {kind: Deployment, name: {{$.Operator}}}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: "{{.}}"}
{{- end}}
{{- if .OnNode}}
  - target: {kind: Deployment, name: {{.Operator}}}
    patch: |
      - {op: add, path: /spec/template/spec/nodeSelector, value: {kubernetes.io/hostname: {{.OnNode}}}}
{{- end}}
{{- if .OffNode}}
  - target: {kind: Deployment, name: {{.Operator}}}
    patch: |
      - op: add
        path: /spec/template/spec/affinity
        value:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions:
                    - {key: kubernetes.io/hostname, operator: NotIn, values: [{{.OffNode}}]}
{{- end}}
{{- if .KeepDefinitions}}
  - target: {kind: CustomResourceDefinition|ValidatingAdmissionPolicy.*}
    patch: |
      $patch: delete
      apiVersion: any
      kind: any
      metadata: {name: any}
{{- end}}
{{- if .Nodes}}
  # The binding belongs to no namespace: one of its own for each installation.
  - target: {kind: ClusterRoleBinding, name: etcd-operator-nodes}
    options: {allowNameChange: true}
    patch: |
      - {op: replace, path: /metadata/name, value: etcd-operator-nodes-{{.Namespace}}}
{{- end}}
`))

// Install installs an operator in a namespace with kubectl apply -k, through an overlay
// of the shipped manifests.
func (e *Env) Install(ctx context.Context, namespace string, how Install) error {
	how.Operator = cmp.Or(how.Operator, OperatorName)
	dir := filepath.Join(e.Root, "out", "e2e", "overlays", namespace, how.Operator)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	deploy, err := filepath.Rel(dir, filepath.Join(e.Root, "deploy"))
	if err != nil {
		return err
	}
	resource := filepath.Join(deploy, how.Operator)
	if r := how.Release; r != nil {
		resource = "release.yaml" // kustomize takes no file from elsewhere
		manifest, err := os.ReadFile(r.Manifest(how.Operator))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, resource), manifest, 0o644); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := overlay.Execute(&text, struct {
		Install
		Namespace, Deploy, Resource string
	}{how, namespace, deploy, resource}); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text.Bytes(), 0o644); err != nil {
		return err
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	_, err = e.Kubectl.Run(ctx, "apply", "-k", dir)
	return err
}

// Helm runs the pinned helm in a namespace, as a person would. The kinds are there once for all
// tests, and kubectl has put them there: a release takes them over.
func (e *Env) Helm(ctx context.Context, namespace string, args ...string) (string, error) {
	program := filepath.Join(e.Root, "bin", "helm")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("helm is missing: run \"make bin/helm\": %w", err)
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	return run(ctx, "", e.Kubectl.env(), append([]string{program, "--namespace", namespace}, args...)...)
}

// InstallCRD installs the kinds of all operators alone.
func (e *Env) InstallCRD(ctx context.Context) error {
	for _, operator := range Operators {
		if _, err := e.Kubectl.Run(ctx, "apply", "-k", filepath.Join(e.Root, "deploy", operator, "crd")); err != nil {
			return err
		}
	}
	return errors.Join(e.AwaitCRD(ctx), e.AwaitBackupCRD(ctx), e.AwaitRestoreCRD(ctx))
}

// crdTimeout bounds how long the API server takes to serve a kind that is new to it.
const crdTimeout = 30 * time.Second

// AwaitCRD waits until the API server serves the kind EtcdCluster, which takes it a
// moment after it was installed. (kubectl wait fails at once while the definition
// has no conditions at all.)
func (e *Env) AwaitCRD(ctx context.Context) error { return e.awaitKind(ctx, "etcdclusters") }

// AwaitBackupCRD waits until the API server serves the kind EtcdBackup.
func (e *Env) AwaitBackupCRD(ctx context.Context) error { return e.awaitKind(ctx, "etcdbackups") }

// AwaitRestoreCRD waits until the API server serves the kind EtcdRestore.
func (e *Env) AwaitRestoreCRD(ctx context.Context) error { return e.awaitKind(ctx, "etcdrestores") }

func (e *Env) awaitKind(ctx context.Context, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	return Poll(ctx, resource+" to be served", func(ctx context.Context) (string, error) {
		_, err := e.Kubectl.Run(ctx, "get", resource+"."+v1beta2.GroupName, "--all-namespaces")
		return "", err
	})
}

// UninstallRelease uninstalls a Helm release, after which its operator has no rights.
func (e *Env) UninstallRelease(ctx context.Context, namespace, release string) error {
	e.retired.begin(namespace)
	_, err := e.Helm(ctx, namespace, "uninstall", release, "--ignore-not-found")
	return err
}

// Uninstall undoes what Install made outside of the namespace.
func (e *Env) Uninstall(ctx context.Context, namespace string) error {
	e.retired.begin(namespace)
	_, err := e.Kubectl.Run(ctx, "delete", "clusterrolebinding", "--ignore-not-found", "etcd-operator-nodes-"+namespace)
	return err
}

// CreateNamespace makes a namespace with a Pod Security level enforced.
func (e *Env) CreateNamespace(ctx context.Context, name, podSecurity string) error {
	return e.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": podSecurity, "etcd-operators/e2e": "true"},
	}})
}

// DeleteNamespace starts to delete a namespace.
func (e *Env) DeleteNamespace(ctx context.Context, name string) error {
	e.retired.begin(name)
	return client.IgnoreNotFound(e.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// AwaitOperator waits until all replicas of etcd-operator's Deployment run.
func (e *Env) AwaitOperator(ctx context.Context, v *View, namespace string) error {
	return e.AwaitDeployment(ctx, v, namespace, OperatorName)
}

// AwaitDeployment waits until all replicas of a Deployment run.
func (e *Env) AwaitDeployment(ctx context.Context, v *View, namespace, name string) error {
	return v.Await(ctx, name, func() string {
		var d appsv1.Deployment
		if !v.Get(namespace, name, &d) {
			return "there is no Deployment " + name
		}
		want := *d.Spec.Replicas
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != want || s.ReadyReplicas != want || s.Replicas != want {
			return fmt.Sprintf("%d of %d replicas are ready", s.ReadyReplicas, want)
		}
		return ""
	})
}

// KillOperator deletes etcd-operator's Pods without grace; the Deployment makes new
// ones.
func (e *Env) KillOperator(ctx context.Context, namespace string) error {
	return e.KillDeployment(ctx, namespace, OperatorName)
}

// KillDeployment deletes an operator's Pods without grace.
func (e *Env) KillDeployment(ctx context.Context, namespace, operator string) error {
	return e.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.MatchingLabels{labelName: operator}, client.GracePeriodSeconds(0))
}

// ScaleOperator runs so many replicas of etcd-operator, and waits for them.
func (e *Env) ScaleOperator(ctx context.Context, v *View, namespace string, replicas int) error {
	return e.ScaleDeployment(ctx, v, namespace, OperatorName, replicas)
}

// ScaleDeployment runs so many replicas of an operator, and waits for them.
func (e *Env) ScaleDeployment(ctx context.Context, v *View, namespace, operator string, replicas int) error {
	if _, err := e.Kubectl.Run(ctx, "-n", namespace, "scale", "deployment", operator, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	return v.Await(ctx, fmt.Sprintf("%d replicas of %s", replicas, operator), func() string {
		n := 0
		var pods corev1.PodList
		if err := v.cache.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{labelName: operator}); err != nil {
			return err.Error()
		}
		for i := range pods.Items {
			if replicas == 0 || podReady(&pods.Items[i]) {
				n++
			}
		}
		if n != replicas {
			return fmt.Sprintf("there are %d", n)
		}
		return ""
	})
}

// Leader is the Pod of an operator that holds its Lease; nil when there is none.
func (e *Env) Leader(ctx context.Context, namespace, operator string) (*corev1.Pod, error) {
	var lease coordinationv1.Lease
	if err := e.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operator}, &lease); err != nil {
		return nil, fmt.Errorf("read the Lease of %s: %w", operator, err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil, nil
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	var pod corev1.Pod
	err := e.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
	if apierrors.IsNotFound(err) {
		return nil, nil // it was killed, and its Lease has not ended yet
	}
	if err != nil {
		return nil, fmt.Errorf("read the Pod that holds the Lease: %w", err)
	}
	return &pod, nil
}

// Sweep deletes the namespaces that earlier runs have left behind, and waits until
// they are gone.
func (e *Env) Sweep(ctx context.Context) error {
	_, err := e.Kubectl.Run(ctx, "delete", "namespace", "-l", "etcd-operators/e2e=true", "--ignore-not-found", "--timeout=2m")
	return err
}

// ClusterWideNamespace is where the shipped installation for all namespaces puts
// the operator.
const ClusterWideNamespace = "etcd-operators"

// InstallClusterWide installs every operator for all namespaces, as they are shipped.
func (e *Env) InstallClusterWide(ctx context.Context) error {
	e.retired.end(ClusterWideNamespace)
	e.installing.Lock()
	defer e.installing.Unlock()
	for _, operator := range Operators {
		if _, err := e.Kubectl.Run(ctx, "apply", "-k", filepath.Join(e.Root, "deploy", operator, "cluster-wide")); err != nil {
			return err
		}
	}
	return nil
}

// UninstallClusterWide undoes that, and leaves the custom resource definitions.
func (e *Env) UninstallClusterWide(ctx context.Context) error {
	e.retired.begin(ClusterWideNamespace)
	_, err := e.Kubectl.Run(ctx, "delete", "--ignore-not-found", "--wait=false",
		"namespace/"+ClusterWideNamespace, "clusterrole/etcd-operator", "clusterrolebinding/etcd-operator",
		"clusterrole/etcd-operator-nodes", "clusterrolebinding/etcd-operator-nodes",
		"clusterrole/"+BackupOperatorName, "clusterrolebinding/"+BackupOperatorName,
		"clusterrole/"+RestoreOperatorName, "clusterrolebinding/"+RestoreOperatorName)
	return err
}

// ApplyExample applies one of examples/ that names a namespace, in another one.
func (e *Env) ApplyExample(ctx context.Context, namespace, file string) error {
	dir := filepath.Join(e.Root, "out", "e2e", "overlays", namespace+"-"+file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(e.Root, "examples", file))
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources: [%s]\n", namespace, file)
	for name, content := range map[string]string{file: string(text), "kustomization.yaml": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	_, err = e.Kubectl.Run(ctx, "apply", "-k", dir)
	return err
}
