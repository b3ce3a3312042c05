package crdtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// assetsEnv names the folder with kube-apiserver and etcd, as envtest has it.
const assetsEnv = "KUBEBUILDER_ASSETS"

// requestTimeout bounds every wait for the API server, which answers in
// milliseconds.
const requestTimeout = 30 * time.Second

// repoRoot is the root of the repository, seen from this package.
const repoRoot = "../../../.."

// config reaches the API server that all tests share, with our CRD installed.
var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	server, err := startServer()
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
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{ourCRD()}}); err != nil {
		fmt.Fprintln(os.Stderr, "install the CRD:", err)
		return 1
	}
	return m.Run()
}

// startServer starts etcd and a kube-apiserver, without any CRD.
func startServer() (*envtest.Environment, error) {
	assets := os.Getenv(assetsEnv)
	for _, binary := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(assets, binary)); assets == "" || err != nil {
			return nil, fmt.Errorf("these tests need a real API server, and there is no %s in %s=%q: set it to a folder with kube-apiserver and etcd (\"make test\" does, and builds them)", binary, assetsEnv, assets)
		}
	}
	server := &envtest.Environment{BinaryAssetsDirectory: assets}
	if _, err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the API server from %s: %w", assets, err)
	}
	return server, nil
}

func ourCRD() *apiextensionsv1.CustomResourceDefinition {
	var definition apiextensionsv1.CustomResourceDefinition
	utilruntime.Must(yaml.UnmarshalStrict(crd.EtcdClusters, &definition))
	return &definition
}

// newClient returns a client that refuses fields which the schema doesn't have,
// as kubectl does.
func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(v1beta2.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// newNamespace makes a namespace for one test. It is not cleaned up: the server
// goes away with the tests.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crdtest-"}}
	if err := c.Create(requestContext(t), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}

func requestContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	t.Cleanup(cancel)
	return ctx
}

// cluster returns an EtcdCluster with the spec in yamlSpec, just as a user would
// have written it: nothing passes through our Go types on the way.
func cluster(t *testing.T, namespace, name, yamlSpec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": parse(t, []byte(yamlSpec))}}
	u.SetGroupVersionKind(v1beta2.GroupVersion.WithKind("EtcdCluster"))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// readManifest reads a file with one object.
func readManifest(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: parse(t, raw)}
}

// parse reads one YAML mapping with the types that the API machinery uses:
// whole numbers become int64.
func parse(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	inJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(inJSON, &object); err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	return object
}

// glob returns the files that match pattern, of which there must be some.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}
