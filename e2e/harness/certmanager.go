package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/gomodule"
)

const (
	certManager = "cert-manager"
	// certManagerImage is cert-manager's controller. localkube has one that knows no other
	// issuers than those.
	certManagerImage = "quay.io/jetstack/cert-manager-controller:v1.21.2"
	// certManagerModule is where its definitions are.
	certManagerModule = "github.com/cert-manager/cert-manager"
)

// certManagerKinds are those of its kinds that are needed.
var certManagerKinds = []string{"issuers", "certificates", "certificaterequests"}

// certManagerControllers are those that issue by a CA that is kept in a Secret.
var certManagerControllers = []string{
	"issuers", "certificaterequests-approver", "certificaterequests-issuer-ca", "certificaterequests-issuer-selfsigned",
	"certificates-trigger", "certificates-issuing", "certificates-key-manager",
	"certificates-request-manager", "certificates-readiness", "certificates-revision-manager",
}

// StartCertManager runs cert-manager for one namespace, after [Env.InstallCertManagerKinds],
// unless the cluster of KUBECONFIG has its own.
func (e *Env) StartCertManager(ctx context.Context, v *View, namespace string) error {
	if own, err := e.hasCertManager(ctx); err != nil || own {
		return err
	}
	if out, err := e.Kubectl.Apply(ctx, namespace, certManagerManifests(namespace)); err != nil {
		return fmt.Errorf("install cert-manager: %w: %s", err, out)
	}
	return e.AwaitDeployment(ctx, v, namespace, certManager)
}

// hasCertManager tells whether the cluster runs one that is not ours.
func (e *Env) hasCertManager(ctx context.Context) (bool, error) {
	if e.Local != nil {
		return false, nil
	}
	out, err := e.Kubectl.Run(ctx, "get", "deployments", "--all-namespaces", "-l", "app.kubernetes.io/name="+certManager, "-o", "name")
	return strings.TrimSpace(out) != "", err
}

// InstallCertManagerKinds installs cert-manager's definitions, out of its Go module,
// unless the cluster of KUBECONFIG has its own. They are too large for the annotation
// that kubectl apply writes.
func (e *Env) InstallCertManagerKinds(ctx context.Context) error {
	if own, err := e.hasCertManager(ctx); err != nil || own {
		return err
	}
	folder, err := gomodule.Required(ctx, filepath.Join(e.Root, "e2e/localkube/build/cert-manager"), certManagerModule)
	if err != nil {
		return err
	}
	for _, kind := range certManagerKinds {
		file := filepath.Join(folder, "deploy", "crds", "cert-manager.io_"+kind+".yaml")
		if _, err := e.Kubectl.Run(ctx, "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	for _, kind := range certManagerKinds {
		if err := Poll(ctx, kind+" to be served", func(ctx context.Context) (string, error) {
			_, err := e.Kubectl.Run(ctx, "get", kind+".cert-manager.io", "--all-namespaces")
			return "", err
		}); err != nil {
			return err
		}
	}
	return nil
}

func certManagerManifests(namespace string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "IMAGE", certManagerImage, "CONTROLLERS", strings.Join(certManagerControllers, ",")).Replace(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: cert-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cert-manager}
rules:
  - {apiGroups: [cert-manager.io], resources: ["*"], verbs: ["*"]}
  - {apiGroups: [""], resources: [secrets, events], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cert-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cert-manager}
subjects: [{kind: ServiceAccount, name: cert-manager}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cert-manager}
spec:
  selector: {matchLabels: {app: cert-manager}}
  template:
    metadata: {labels: {app: cert-manager}}
    spec:
      serviceAccountName: cert-manager
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: controller
          image: IMAGE
          imagePullPolicy: IfNotPresent
          args: [--namespace=NAMESPACE, --leader-elect=false, "--controllers=CONTROLLERS"]
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`)
}
