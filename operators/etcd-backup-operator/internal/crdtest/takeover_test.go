package crdtest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Our definition takes the place of the predecessor's, which had neither schema nor
// subresources, while backups exist. The user can go on editing them, even those that
// would be refused today in another field, and our operator can report on them.
func TestTakeoverFromThePredecessor(t *testing.T) {
	config := apiservertest.Another(t)
	old := apiservertest.Definition(crd.EtcdBackups)
	preserve := true
	version := &old.Spec.Versions[0]
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: &preserve,
	}}
	version.Subresources = nil
	version.AdditionalPrinterColumns = nil
	apiservertest.Install(t, config, old)

	c := admissiontest.ClientFor(t, config)
	good := admissiontest.Manifest(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-periodic.yaml"))
	bad := admissiontest.Object(t, "EtcdBackup", metav1.NamespaceDefault, "bad", `{etcdEndpoints: ["x-client:2379"], storageType: ABS, abs: {path: a/b, absSecret: x}, backupPolicy: {maxBackups: 1}}`)
	good.SetNamespace(metav1.NamespaceDefault)
	good.Object["status"] = map[string]any{"succeeded": true, "etcdVersion": "3.2.13", "etcdRevision": int64(5), "lastSuccessDate": "2019-01-01T00:00:00Z"}
	for _, u := range []client.Object{good, bad} {
		if err := c.Create(apiservertest.Context(t), u); err != nil {
			t.Fatalf("create under the predecessor's definition: %v", err)
		}
	}

	apiservertest.Install(t, config, apiservertest.Definition(crd.EtcdBackups))
	for _, u := range []client.Object{good, bad} {
		waitForStatus(t, c, client.ObjectKeyFromObject(u))
		edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"backupPolicy":{"maxBackups":5}}}`))
		if err := c.Patch(apiservertest.Context(t), u, edit); err != nil {
			t.Errorf("the user's edit of %s is refused: %v", u.GetName(), err)
		}
	}
	seen := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: good.GetName()}}
	apiservertest.Read(t, c, &seen)
	if !seen.Status.Succeeded || seen.Status.EtcdRevision != 5 || seen.Status.LastSuccessDate == nil {
		t.Errorf("the predecessor's status was lost: %+v", seen.Status)
	}
}

// waitForStatus waits until the API server serves our version of the definition, and
// takes the operator's report of the object.
func waitForStatus(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var b v1beta2.EtcdBackup
		if last = c.Get(ctx, key, &b); last == nil {
			b.Status.ObservedGeneration = b.Generation
			last = c.Status().Update(ctx, &b)
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("the new definition is not served: %v", last)
	}
}
