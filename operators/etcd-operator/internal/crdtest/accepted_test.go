package crdtest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Manifests that people already have, and those that we show them, are accepted
// as they stand, and every field of their spec is kept.
func TestManifestsAreAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	for _, pattern := range []string{
		filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdcluster-*.yaml"),
		filepath.Join(repoRoot, "examples/cluster*.yaml"),
	} {
		for _, path := range admissiontest.Glob(t, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				manifest := admissiontest.Manifest(t, path)
				manifest.SetNamespace(apiservertest.Namespace(t))
				stored := manifest.DeepCopy()
				if err := c.Create(apiservertest.Context(t), stored); err != nil {
					t.Fatalf("refused: %v", err)
				}
				if diff := cmp.Diff(manifest.Object["spec"], stored.Object["spec"]); diff != "" {
					t.Errorf("the spec was changed (-written +stored):\n%s", diff)
				}
			})
		}
	}
}

// Every field of the predecessor's manifests has a place in our Go types,
// spelled as it was, and comes out again as it went in.
func TestGoTypesKeepThePredecessorsSpelling(t *testing.T) {
	for _, path := range admissiontest.Glob(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdcluster-*.yaml")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			manifest := admissiontest.Manifest(t, path)
			var typed v1beta2.EtcdCluster
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, &typed, true); err != nil {
				t.Fatal(err)
			}
			back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := unstructured.NestedMap(manifest.Object, "spec")
			for field, value := range want {
				if value == "" || value == false {
					delete(want, field) // means the same as if it were omitted
				}
			}
			if diff := cmp.Diff(want, back["spec"]); diff != "" {
				t.Errorf("the spec through our Go types (-written +read):\n%s", diff)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	cases := map[string]struct {
		reason string
		name   string
		spec   string
	}{
		"empty":             {reason: "every field has a default", spec: `{}`},
		"one member":        {reason: "the smallest cluster", spec: `{size: 1}`},
		"seven members":     {reason: "the largest cluster", spec: `{size: 7}`},
		"longest name":      {reason: "52 characters leave room for a member's suffix", name: longName(v1beta2.MaxNameLength), spec: `{}`},
		"one-letter name":   {reason: "a DNS label of one character is one", name: "e", spec: `{}`},
		"nulls":             {reason: "null counts as omitted where there is a default", spec: `{size: null}`},
		"empty collections": {reason: "Go clients send them", spec: `{pod: {labels: {}, annotations: {}, etcdEnv: [], resources: {}}}`},
		"empty strings":     {reason: "old clients send empty strings for what is omitted", spec: `{size: 3, version: "", repository: "", pod: {ClusterDomain: ""}, TLS: {static: {operatorSecret: "", member: {serverSecret: "", peerSecret: ""}}}}`},
		"version with v":    {reason: "both spellings were in use", spec: `{version: v3.6.16}`},
		"pre-release":       {reason: "people test release candidates", spec: `{version: 3.7.0-rc.1}`},
		"built for a CPU":   {reason: "images for one architecture have such tags", spec: `{version: 3.6.16-arm64}`},
		"registry and port": {reason: "the colon of a port is not that of a tag", spec: `{repository: "localhost:5000/etcd"}`},
		"peer TLS only":     {reason: "members may speak TLS among themselves alone", spec: `{TLS: {static: {member: {peerSecret: peer}}}}`},
		"full TLS":          {reason: "as in the predecessor's documentation", spec: `{TLS: {static: {member: {peerSecret: peer, serverSecret: server}, operatorSecret: client}}}`},
		"ten seconds":       {reason: "the least memberTimeout", spec: `{recovery: {memberTimeout: 10s}}`},
		"1h30m":             {reason: "durations may have several units", spec: `{recovery: {memberTimeout: 1h30m0s}}`},
		"etcd's settings":   {reason: "what the operator doesn't own is the user's", spec: `{pod: {etcdEnv: [{name: ETCD_QUOTA_BACKEND_BYTES, value: "8589934592"}, {name: GOMEMLIMIT, value: 1GiB}]}}`},
		"other labels":      {reason: "labels that only resemble ours are the user's", spec: `{pod: {labels: {apps: x, app.kubernetes.io/part-of: shop, app.kubernetes.io/managed-by: helm, example.com/etcd_cluster: mine}}}`},
		"LoadBalancer":      {reason: "clients may be outside of Kubernetes", spec: `{service: {type: LoadBalancer, annotations: {a: b}}}`},
		"old domain":        {reason: "a root dot at the end is legal DNS", spec: `{pod: {ClusterDomain: .cluster.local.}}`},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			u := admissiontest.Object(t, "EtcdCluster", namespace, tc.name, tc.spec)
			if err := c.Create(apiservertest.Context(t), u); err != nil {
				t.Errorf("%s, but it was refused: %v", tc.reason, err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdCluster", apiservertest.Namespace(t), "defaults", `{}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	// Only what never depends on the operator's version is written into the
	// user's object.
	want := map[string]any{"size": int64(v1beta2.DefaultSize)}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// A typed client that leaves everything out sends nothing that is refused.
func TestGoZeroValueIsAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	zero := &v1beta2.EtcdCluster{}
	zero.SetNamespace(apiservertest.Namespace(t))
	zero.SetName("zero")
	if err := c.Create(apiservertest.Context(t), zero); err != nil {
		t.Fatal(err)
	}
	if zero.Spec.Size != v1beta2.DefaultSize {
		t.Errorf("size = %d, want the default %d", zero.Spec.Size, v1beta2.DefaultSize)
	}
	if err := c.Status().Update(apiservertest.Context(t), zero); err != nil {
		t.Errorf("its empty status is refused: %v", err)
	}
}

// What the predecessor's Go types write as status, on whichever path.
func TestOldClientStatusIsAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Manifest(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdcluster-old-client.yaml"))
	status := u.Object["status"]
	u.SetNamespace(apiservertest.Namespace(t))
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatalf("create: %v", err)
	}
	if _, found, _ := unstructured.NestedMap(u.Object, "status"); found {
		t.Error("a status sent on create was stored: only the operator may write it")
	}
	u.Object["status"] = status
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("update of the status: %v", err)
	}
}

func longName(length int) string {
	name := make([]byte, length)
	for i := range name {
		name[i] = 'e'
	}
	return string(name)
}
