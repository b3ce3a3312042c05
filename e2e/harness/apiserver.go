package harness

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
)

const (
	// apiServerName is the name of its Deployment and its Service.
	apiServerName = "kube-apiserver"
	// apiServerImage is made of the program that localkube runs, under the name that users know.
	apiServerImage = "registry.k8s.io/kube-apiserver:v1.37.2"
)

//go:embed apiserver.yaml
var apiServerText string

var apiServerManifests = template.Must(template.New("apiserver").Parse(apiServerText))

// APIServer is two kube-apiservers that keep their objects in an etcd cluster.
type APIServer struct {
	// Client reaches them by their Service.
	Client kubernetes.Interface

	env       *Env
	view      *View
	namespace string
}

// StartAPIServer starts them, and waits until both are ready. flags are those by which they reach
// etcd, and certificate is the Secret that they mount.
func (e *Env) StartAPIServer(ctx context.Context, v *View, namespace string, flags []string, certificate string) (*APIServer, error) {
	if err := e.loadAPIServer(ctx); err != nil {
		return nil, err
	}
	key, err := signingKey()
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	var text bytes.Buffer
	if err := apiServerManifests.Execute(&text, map[string]any{
		"Token": token, "Key": base64.StdEncoding.EncodeToString(key), "Image": apiServerImage, "Flags": flags, "Certificate": certificate,
	}); err != nil {
		return nil, err
	}
	if out, err := e.Kubectl.Apply(ctx, namespace, text.String()); err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w: %s", err, out)
	}
	a := &APIServer{env: e, view: v, namespace: namespace}
	if err := e.AwaitDeployment(ctx, v, namespace, apiServerName); err != nil {
		return nil, err
	}
	var service corev1.Service
	if err := e.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: apiServerName}, &service); err != nil {
		return nil, err
	}
	// Node 1 is this machine, and reaches Services. Each kube-apiserver has signed a certificate
	// of its own.
	a.Client, err = kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + service.Spec.ClusterIP + ":6443", BearerToken: token, QPS: apiQPS, Burst: apiQPS,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	return a, err
}

// loadAPIServer gives the nodes the image of the program that localkube itself runs.
func (e *Env) loadAPIServer(ctx context.Context) error {
	if e.Local == nil {
		return ErrNoNodeAccess
	}
	programs, err := e.Local.programs(ctx, "KUBEBUILDER_ASSETS")
	if err != nil {
		return err
	}
	tar := filepath.Join(e.Root, "out", "images", apiServerName+".tar")
	spec := image.Spec{Files: map[string]string{"/usr/local/bin/" + apiServerName: filepath.Join(programs, apiServerName)}, User: "65532:65532"}
	if err := image.Write(ctx, tar, apiServerImage, spec); err != nil {
		return err
	}
	return e.Local.load(ctx, []string{tar})
}

// signingKey is a key for the tokens of ServiceAccounts, in PEM.
func signingKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// Restart rolls new Pods out, which read all their files anew, and waits until they serve.
func (a *APIServer) Restart(ctx context.Context) error {
	if _, err := a.env.Kubectl.Run(ctx, "-n", a.namespace, "rollout", "restart", "deployment/"+apiServerName); err != nil {
		return err
	}
	_, err := a.env.Kubectl.Run(ctx, "-n", a.namespace, "rollout", "status", "deployment/"+apiServerName)
	return err
}

// Restarts is how often containers of its Pods have been restarted.
func (a *APIServer) Restarts() (restarts int32) {
	var pods corev1.PodList
	if err := a.view.cache.List(context.Background(), &pods, client.InNamespace(a.namespace), client.MatchingLabels{"app": apiServerName}); err != nil {
		panic(fmt.Sprintf("list from a synced cache: %v", err)) // not reached
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
	}
	return restarts
}

// EtcdFlags are the flags in what kubectl etcd connect -o kubernetes writes.
func EtcdFlags(text string) []string {
	var flags []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "--") {
			flags = append(flags, strings.TrimSpace(line))
		}
	}
	return flags
}
