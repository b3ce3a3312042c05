package crdtest

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// predecessorStatus is one that the predecessor wrote: its conditions have
// reasons with blanks, a field that metav1.Condition lacks, and lack one that it
// requires.
const predecessorStatus = `
phase: Running
size: 3
serviceName: old-client
clientPort: 2379
members: {ready: [old-aaaaaaaaaa, old-bbbbbbbbbb, old-cccccccccc]}
currentVersion: 3.2.13
targetVersion: ""
conditions:
  - {type: Available, status: "True", lastUpdateTime: "2019-01-01T00:00:00Z", lastTransitionTime: "2019-01-01T00:00:00Z", reason: Cluster available}
  - {type: Scaling, status: "True", lastUpdateTime: "2019-01-01T00:00:00Z", lastTransitionTime: "2019-01-01T00:00:00Z", reason: Scaling up, message: "Current cluster size: 2, desired cluster size: 3"}
`

// Our CRD takes the place of the predecessor's, which had neither schema nor
// subresources, while clusters exist. The user can go on editing them, and our
// operator can report on them.
func TestTakeoverFromThePredecessor(t *testing.T) {
	server, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	old := ourCRD()
	preserve := true
	version := &old.Spec.Versions[0]
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: &preserve,
	}}
	version.Subresources = nil
	version.AdditionalPrinterColumns = nil
	install := func(definition *apiextensionsv1.CustomResourceDefinition) {
		t.Helper()
		if _, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}}); err != nil {
			t.Fatal(err)
		}
	}
	install(old)

	c := newClient(t, server.Config)
	u := cluster(t, newNamespace(t, c), "old", `{size: 3, version: 3.2.13, repository: ""}`)
	u.Object["status"] = parse(t, []byte(predecessorStatus))
	key := client.ObjectKeyFromObject(u)
	if err := c.Create(requestContext(t), u); err != nil {
		t.Fatalf("create under the predecessor's CRD: %v", err)
	}

	install(ourCRD())
	waitForSubresource(t, c, key)

	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":5}}`))
	if err := c.Patch(requestContext(t), u, edit); err != nil {
		t.Errorf("the user's edit of the spec is refused: %v", err)
	}

	var seen v1beta2.EtcdCluster
	if err := c.Get(requestContext(t), key, &seen); err != nil {
		t.Fatalf("our Go types can't read it: %v", err)
	}
	if seen.Status.Phase != v1beta2.PhaseRunning || len(seen.Status.Members.Ready) != 3 {
		t.Errorf("the predecessor's status was lost: %+v", seen.Status)
	}

	before := seen.DeepCopy()
	seen.Status.ObservedGeneration = seen.Generation
	if err := c.Status().Patch(requestContext(t), &seen, client.MergeFrom(before)); err != nil {
		t.Errorf("a status that keeps the old conditions is refused: %v", err)
	}
	before = seen.DeepCopy()
	seen.Status.Conditions = []metav1.Condition{{
		Type: v1beta2.ConditionAvailable, Status: metav1.ConditionFalse,
		Reason: "PredecessorPods", Message: "made by the predecessor", LastTransitionTime: metav1.Now(),
	}}
	if err := c.Status().Patch(requestContext(t), &seen, client.MergeFrom(before)); err != nil {
		t.Errorf("our conditions in place of the old ones are refused: %v", err)
	}
}

// waitForSubresource waits until the API server serves our version of the CRD.
func waitForSubresource(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	u := cluster(t, key.Namespace, key.Name, `{}`)
	scale := &unstructured.Unstructured{}
	scale.SetAPIVersion("autoscaling/v1")
	scale.SetKind("Scale")
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, requestTimeout, true, func(ctx context.Context) (bool, error) {
		last = c.SubResource("scale").Get(ctx, u, scale)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("the new CRD is not served: %v", last)
	}
}
