// Package apiservertest runs a real kube-apiserver, with our CRDs, for the tests of
// one package. Nothing else of Kubernetes runs: no scheduler, no kubelet, no
// controller, no garbage collector.
//
// The binaries are found through the variable KUBEBUILDER_ASSETS, a folder with
// kube-apiserver and etcd. A test that needs them fails when it is not set: a test
// that silently does not run protects nothing.
package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
)

// assetsEnv names the folder with kube-apiserver and etcd, as envtest has it.
const assetsEnv = "KUBEBUILDER_ASSETS"

// requestTimeout bounds every wait for the API server, which answers in
// milliseconds.
const requestTimeout = 30 * time.Second

// config reaches the server.
var config *rest.Config

// Main runs the tests of a package beside a server, and returns the exit code.
func Main(m *testing.M) int {
	server, err := start(Definition(deploy.EtcdClusters), Definition(deploy.EtcdBackups), Definition(deploy.EtcdRestores))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}()
	config = server.Config
	config.QPS, config.Burst = -1, -1 // nobody else is slowed down
	return m.Run()
}

// start starts etcd and a kube-apiserver with these definitions.
func start(definitions ...*apiextensionsv1.CustomResourceDefinition) (*envtest.Environment, error) {
	assets := os.Getenv(assetsEnv)
	for _, binary := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(assets, binary)); assets == "" || err != nil {
			return nil, fmt.Errorf("these tests need a real API server, and there is no %s in %s=%q: set it to a folder with kube-apiserver and etcd (\"make test\" does, and builds them)", binary, assetsEnv, assets)
		}
	}
	server := &envtest.Environment{BinaryAssetsDirectory: assets, CRDs: definitions}
	if _, err := server.Start(); err != nil {
		// It may run, and have refused our CRDs.
		return nil, errors.Join(fmt.Errorf("start the API server from %s: %w", assets, err), server.Stop())
	}
	return server, nil
}

// Another starts a second server for one test, without our CRDs, and ends it with the
// test.
func Another(t testing.TB) *rest.Config {
	t.Helper()
	server, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	return server.Config
}

// Definition reads one of the definitions that package crd embeds.
func Definition(raw []byte) *apiextensionsv1.CustomResourceDefinition {
	var definition apiextensionsv1.CustomResourceDefinition
	utilruntime.Must(yaml.UnmarshalStrict(raw, &definition))
	return &definition
}

// Install installs a definition, or replaces the one of its name, and waits until it
// is served.
func Install(t testing.TB, config *rest.Config, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		t.Fatalf("install %s: %v", definition.Name, err)
	}
}

// Config reaches the server.
func Config() *rest.Config { return rest.CopyConfig(config) }

// Scheme knows the types of Kubernetes, and ours.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1beta2.AddToScheme(scheme))
	return scheme
}

// Client reads and writes without a cache.
func Client(t testing.TB) client.Client {
	t.Helper()
	return ClientFor(t, config)
}

// ClientFor is [Client] for a server of one's own.
func ClientFor(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

// Namespace makes a namespace for one test. It is not cleaned up: the server goes
// away with the tests.
func Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Create(t, Client(t), namespace)
	return namespace.Name
}

// Context is that of one test's requests.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	t.Cleanup(cancel)
	return ctx
}

// Create makes objects, or fails the test.
func Create(t testing.TB, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(Context(t), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Delete deletes an object, or fails the test.
func Delete(t testing.TB, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Delete(Context(t), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatalf("delete %T %s: %v", o, o.GetName(), err)
	}
}

// SetStatus writes an object's status, or fails the test.
func SetStatus(t testing.TB, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Status().Update(Context(t), o); err != nil {
		t.Fatalf("write the status of %T %s: %v", o, o.GetName(), err)
	}
}

// Read reads an object afresh, or fails the test.
func Read(t testing.TB, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Get(Context(t), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatalf("read %T %s: %v", o, o.GetName(), err)
	}
}

// Bind puts a Pod on a node, as the scheduler does.
func Bind(t testing.TB, c client.Client, pod *corev1.Pod, node string) {
	t.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := c.SubResource("binding").Create(Context(t), pod, binding); err != nil {
		t.Fatalf("bind Pod %s: %v", pod.Name, err)
	}
	Read(t, c, pod)
}
