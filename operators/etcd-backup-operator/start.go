package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operators/etcd-operators/api/crd"
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

const (
	// startDeadline bounds what is asked of the API server before the start.
	startDeadline = 30 * time.Second
	// apiQPS and apiBurst bound the requests to the API server: a backup needs some
	// ten from its beginning to its end.
	apiQPS, apiBurst = 100, 200
)

// start runs the operator until ctx ends.
func (o *options) start(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.QPS, config.Burst = apiQPS, apiBurst
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	// A client without a cache, for what is asked once before the start.
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if err := o.prepare(ctx, direct); err != nil {
		return err
	}
	mgr, err := o.Manager(config, scheme, caches())
	if err != nil {
		return err
	}
	r := &controller.Reconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Events:      mgr.GetEventRecorder(name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		Image:       o.Image,
		ClusterWide: o.ClusterWide,
		Now:         time.Now,
	}
	if err := r.SetupWithManager(ctx, mgr, o.Workers); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ctrl.Log.Info("starting", "version", operator.BuildVersion(), "namespace", o.Namespace, "clusterWide", o.ClusterWide, "image", o.Image)
	return mgr.Start(ctx)
}

func (o *options) prepare(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return o.Prepare(ctx, c, crd.EtcdBackups)
}

// caches keep in memory only what is needed: the Jobs and Pods of backups, and of an
// EtcdCluster all, but for who wrote what.
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
