package olm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// bundles is the folder that the tests of this process write the bundles into.
var bundles string

func TestMain(m *testing.M) { os.Exit(withBundles(m)) }

func withBundles(m *testing.M) int {
	if err := writeBundles(); err != nil {
		fmt.Fprintln(os.Stderr, "write the bundles:", err)
		return 1
	}
	defer os.RemoveAll(bundles)
	return m.Run()
}

func writeBundles() error {
	made, err := Generate(root)
	if err != nil {
		return err
	}
	if bundles, err = os.MkdirTemp("", "bundles"); err != nil {
		return err
	}
	for name, text := range made {
		path := filepath.Join(bundles, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// bundle returns the folder of an operator's bundle.
func bundle(operator string) string { return filepath.Join(bundles, Dir, operator) }

// readCSV reads the ClusterServiceVersion of a bundle.
func readCSV(t *testing.T, operator string) *csv {
	t.Helper()
	var c csv
	readYAML(t, filepath.Join(bundle(operator), "manifests", operator+".clusterserviceversion.yaml"), &c)
	return &c
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// manifests are the objects in the manifests of a bundle, beside the ClusterServiceVersion.
func manifests(t *testing.T, operator string) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(bundle(operator), "manifests", "*"))
	if err == nil && len(files) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		t.Fatalf("manifests of %s: %v", operator, err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		var u unstructured.Unstructured
		readYAML(t, file, &u.Object)
		if u.GetKind() != "ClusterServiceVersion" {
			all[key(&u)] = &u
		}
	}
	return all
}

func key(u *unstructured.Unstructured) string { return u.GetKind() + "/" + u.GetName() }

func TestDisplayNames(t *testing.T) {
	for name, want := range map[string]string{
		"size":                      "Size",
		"TLS":                       "TLS",
		"persistentVolumeClaimSpec": "Persistent Volume Claim Spec",
		"DNSTimeoutInSecond":        "DNS Timeout In Second",
		"clusterID":                 "Cluster ID",
		"etcdVersion":               "etcd Version",
		"caSecret":                  "CA Secret",
		"s3":                        "S3",
	} {
		if got := displayName(name); got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}
