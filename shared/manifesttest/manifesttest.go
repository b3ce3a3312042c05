// Package manifesttest compares what a builder of Kubernetes objects makes with
// manifests in testdata, and with what Kubernetes admits.
//
// After a wanted change: go test PACKAGE -update.
package manifesttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// folder is where the manifests are.
const folder = "testdata"

// Files are the names of the manifests testdata/*.<kind>.yaml. There must be one.
func Files(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*."+kind+".yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s/*.%s.yaml: %v", folder, kind, err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}

// Read reads a manifest.
func Read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Golden compares what was built from the manifest <name>.<kind>.yaml with
// <name>.golden.yaml. Several objects are separated as kubectl wants it.
func Golden(t *testing.T, file, kind string, objects ...any) {
	t.Helper()
	var got bytes.Buffer
	for _, o := range objects {
		b, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(objects) > 1 {
			got.WriteString("---\n")
		}
		got.Write(b)
	}
	goldentest.Compare(t, filepath.Join(folder, strings.TrimSuffix(file, kind+".yaml")+"golden.yaml"), got.String())
}

// Restricted fails the test for a Pod that a namespace with
// pod-security.kubernetes.io/enforce: restricted would not admit.
func Restricted(t *testing.T, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(restricted, meta, spec) {
		if !r.Allowed {
			t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
}
