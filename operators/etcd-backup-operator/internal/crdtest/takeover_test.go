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
// subresources, while backups exist. The user can go on editing them, even those that
// would be refused today in another field, and our operator can report on them.
func TestTakeoverFromThePredecessor(t *testing.T) {
	good := admissiontest.Manifest(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-periodic.yaml"))
	good.SetNamespace(metav1.NamespaceDefault)
	good.Object["status"] = map[string]any{"succeeded": true, "etcdVersion": "3.2.13", "etcdRevision": int64(5), "lastSuccessDate": "2019-01-01T00:00:00Z"}
	bad := admissiontest.Object(t, "EtcdBackup", metav1.NamespaceDefault, "bad", `{etcdEndpoints: ["x-client:2379"], storageType: Tape, backupPolicy: {maxBackups: 1}}`)
	c := admissiontest.TakenOver(t, deploy.EtcdBackups, good, bad)
	for _, u := range []*unstructured.Unstructured{good, bad} {
		admissiontest.EditAccepted(t, c, u, `{"spec":{"backupPolicy":{"maxBackups":5}}}`)
	}
	seen := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: good.GetName()}}
	apiservertest.Read(t, c, &seen)
	if !seen.Status.Succeeded || seen.Status.EtcdRevision != 5 || seen.Status.LastSuccessDate == nil {
		t.Errorf("the predecessor's status was lost: %+v", seen.Status)
	}
}
