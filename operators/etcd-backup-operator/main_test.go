package main

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// It works without etcd-restore-operator, whose kind nobody may have installed.
func TestWorksWithoutEtcdRestores(t *testing.T) {
	config := apiservertest.Another(t)
	for _, definition := range [][]byte{deploy.EtcdClusters, deploy.EtcdBackups} {
		apiservertest.Install(t, config, apiservertest.Definition(definition))
	}
	apiservertest.StartOperatorWith(t, config, "default", caches(), func(ctx context.Context, mgr ctrl.Manager) error {
		return setUp(ctx, mgr, &operator.Options{Name: "etcd-backup-operator", Image: "example.com/etcd-backup-operator:v1", Workers: 1})
	})
	c := apiservertest.ClientFor(t, config)
	b := &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup"},
		Spec: v1beta2.BackupSpec{
			EtcdEndpoints: []string{"http://example:2379"}, StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "bucket/key", AWSSecret: "aws"},
		},
	}
	apiservertest.Create(t, c, b)
	etcdtest.Eventually(t, "the EtcdBackup to be reconciled", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil || b.Status.Phase != "" {
			return err
		}
		return errors.New("it has no status")
	})
}
