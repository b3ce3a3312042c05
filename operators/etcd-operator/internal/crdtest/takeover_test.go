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

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
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
	config := apiservertest.Another(t)
	old := apiservertest.Definition(crd.EtcdClusters)
	preserve := true
	version := &old.Spec.Versions[0]
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: &preserve,
	}}
	version.Subresources = nil
	version.AdditionalPrinterColumns = nil
	apiservertest.Install(t, config, old)

	c := admissiontest.ClientFor(t, config)
	u := admissiontest.Object(t, "EtcdCluster", metav1.NamespaceDefault, "old", `{size: 3, version: 3.2.13, repository: ""}`)
	u.Object["status"] = admissiontest.Parse(t, []byte(predecessorStatus))
	key := client.ObjectKeyFromObject(u)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatalf("create under the predecessor's CRD: %v", err)
	}

	apiservertest.Install(t, config, apiservertest.Definition(crd.EtcdClusters))
	waitForSubresource(t, c, key)

	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":5}}`))
	if err := c.Patch(apiservertest.Context(t), u, edit); err != nil {
		t.Errorf("the user's edit of the spec is refused: %v", err)
	}

	var seen v1beta2.EtcdCluster
	if err := c.Get(apiservertest.Context(t), key, &seen); err != nil {
		t.Fatalf("our Go types can't read it: %v", err)
	}
	if seen.Status.Phase != v1beta2.PhaseRunning || len(seen.Status.Members.Ready) != 3 {
		t.Errorf("the predecessor's status was lost: %+v", seen.Status)
	}

	before := seen.DeepCopy()
	seen.Status.ObservedGeneration = seen.Generation
	if err := c.Status().Patch(apiservertest.Context(t), &seen, client.MergeFrom(before)); err != nil {
		t.Errorf("a status that keeps the old conditions is refused: %v", err)
	}
	before = seen.DeepCopy()
	seen.Status.Conditions = []metav1.Condition{{
		Type: v1beta2.ConditionAvailable, Status: metav1.ConditionFalse,
		Reason: "PredecessorPods", Message: "made by the predecessor", LastTransitionTime: metav1.Now(),
	}}
	if err := c.Status().Patch(apiservertest.Context(t), &seen, client.MergeFrom(before)); err != nil {
		t.Errorf("our conditions in place of the old ones are refused: %v", err)
	}
}

// waitForSubresource waits until the API server serves our version of the CRD.
func waitForSubresource(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	u := admissiontest.Object(t, "EtcdCluster", key.Namespace, key.Name, `{}`)
	scale := &unstructured.Unstructured{}
	scale.SetAPIVersion("autoscaling/v1")
	scale.SetKind("Scale")
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		last = c.SubResource("scale").Get(ctx, u, scale)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("the new CRD is not served: %v", last)
	}
}
