// Command etcd-backup-operator backs etcd clusters up: it reconciles EtcdBackup
// objects, and runs a Job for each backup. See package plan for what it does when.
//
// The Job runs etcd-backup-agent, which is in the same image.
package main

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// apiQPS and apiBurst bound the requests to the API server: a backup needs some ten from
// its beginning to its end.
const apiQPS, apiBurst = 100, 200

func main() {
	operator.Main(&operator.Program{
		Name:       "etcd-backup-operator",
		Kind:       "EtcdBackup",
		Definition: deploy.EtcdBackups,
		QPS:        apiQPS,
		Burst:      apiBurst,

		CreatorPolicy: creator.BackupPolicy,
		CreatorsCan:   "whoever can create EtcdBackups can then use the PersistentVolumeClaims and ServiceAccounts of the namespace as if they could create Pods",

		Caches: caches,
		SetUp:  setUp,
	})
}

func setUp(ctx context.Context, mgr ctrl.Manager, o *operator.Options) error {
	r := &controller.Reconciler{
		Client:      mgr.GetClient(),
		Events:      mgr.GetEventRecorder(o.Name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		Image:       o.Image,
		ClusterWide: o.ClusterWide,
		Creators:    o.Creators,
		Now:         time.Now,
	}
	return r.SetupWithManager(ctx, mgr, o.Workers)
}

// caches keep in memory only what is needed: the Jobs and Pods of backups, and of all other objects
// all, but for who wrote what. EtcdRestores, some of which verify backups, are not named here: a
// cache looks each kind up that is, when it is made, and this one need not be installed.
func caches() cache.Options {
	ours := labels.SelectorFromSet(labels.Set{v1beta2.LabelApp: v1beta2.AppEtcdBackup})
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: ours},
			&corev1.Pod{}:  {Label: ours},
		},
	}
}
