package crdtest

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Our definition takes the place of the predecessor's, which had neither schema nor
// subresources, while restores exist, which it kept when they were done. Our operator
// can report on them, and put its finalizer on them, even on those that would be
// refused today.
func TestTakeoverFromThePredecessor(t *testing.T) {
	good := admissiontest.Manifest(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdrestore-s3.yaml"))
	good.SetNamespace(metav1.NamespaceDefault)
	good.Object["status"] = map[string]any{"succeeded": true}
	other := admissiontest.Object(t, "EtcdRestore", metav1.NamespaceDefault, "not-the-cluster", `{etcdCluster: {name: x}, backupStorageType: S3, s3: {path: b-1/k, awsSecret: aws}}`)
	other.Object["status"] = map[string]any{"succeeded": false, "reason": "failed to get reference EtcdCluster"}
	unsupported := admissiontest.Object(t, "EtcdRestore", metav1.NamespaceDefault, "unsupported", `{etcdCluster: {name: unsupported}, backupStorageType: Tape}`)

	all := []*unstructured.Unstructured{good, other, unsupported}
	c := admissiontest.TakenOver(t, deploy.EtcdRestores, all...)
	for _, u := range all {
		admissiontest.EditAccepted(t, c, u, `{"metadata":{"finalizers":["`+v1beta2.FinalizerRestore+`"]}}`)
	}
	seen := v1beta2.EtcdRestore{}
	seen.Namespace, seen.Name = metav1.NamespaceDefault, good.GetName()
	apiservertest.Read(t, c, &seen)
	if !seen.Status.Succeeded {
		t.Errorf("the predecessor's status was lost: %+v", seen.Status)
	}
}
