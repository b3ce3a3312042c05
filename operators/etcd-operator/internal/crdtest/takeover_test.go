package crdtest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
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
	u := admissiontest.Object(t, "EtcdCluster", metav1.NamespaceDefault, "old", `{size: 3, version: 3.2.13, repository: ""}`)
	u.Object["status"] = admissiontest.Parse(t, []byte(predecessorStatus))
	c := admissiontest.TakenOver(t, deploy.EtcdClusters, u)
	admissiontest.EditAccepted(t, c, u, `{"spec":{"size":5}}`)

	var seen v1beta2.EtcdCluster
	if err := c.Get(apiservertest.Context(t), client.ObjectKeyFromObject(u), &seen); err != nil {
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
