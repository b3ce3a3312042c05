// Command etcd-restore-operator restores etcd clusters from snapshots: it reconciles
// EtcdRestore objects, verifies the snapshot in a Job, and makes a seed from it that
// etcd-operator grows to a full cluster. See package plan for what it does when.
//
// The Job and the seed run etcd-restore-agent, and the seed etcd-launcher, too; both are
// in the same image.
package main

import (
	"cmp"
	"context"
	"flag"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// apiQPS and apiBurst bound the requests to the API server: a restore needs some sixty
// from its beginning to its end.
const apiQPS, apiBurst = 100, 200

// etcdRepositoryEnv is for who cannot change flags, such as users of OLM.
const etcdRepositoryEnv = "ETCD_REPOSITORY"

func main() {
	var etcd string
	operator.Main(&operator.Program{
		Name:       "etcd-restore-operator",
		Kind:       "EtcdRestore",
		Definition: deploy.EtcdRestores,
		Related:    []operator.Dependency{{Operator: "etcd-operator", Definition: deploy.EtcdClusters}},
		QPS:        apiQPS,
		Burst:      apiBurst,

		CreatorPolicy: creator.RestorePolicy,
		CreatorsCan:   "whoever can create EtcdRestores can then get EtcdClusters as if they could create them, with any image and any Secret of the namespace",

		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&etcd, "etcd-repository", cmp.Or(os.Getenv(etcdRepositoryEnv), v1beta2.DefaultRepository),
				"image of etcd, without its tag, that a verification with spec.startEtcd starts; the tag is v and the version. The environment variable "+etcdRepositoryEnv+" replaces the default")
		},
		Caches: caches,
		SetUp: func(ctx context.Context, mgr ctrl.Manager, o *operator.Options) error {
			return setUp(ctx, mgr, o, build.Images{Operator: o.Image, Etcd: etcd})
		},
	})
}

func setUp(ctx context.Context, mgr ctrl.Manager, o *operator.Options, images build.Images) error {
	r := &controller.Reconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Events:      mgr.GetEventRecorder(o.Name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		Images:      images,
		ClusterWide: o.ClusterWide,
		Creators:    o.Creators,
		Now:         time.Now,
	}
	return r.SetupWithManager(ctx, mgr, o.Workers)
}

// caches keep in memory only what is needed: the Jobs of restores, their Pods and those
// of etcd, and etcd's volumes, also those that are retired.
func caches() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}:                  {Label: apps(v1beta2.AppEtcdRestore)},
			&corev1.Pod{}:                   {Label: apps(v1beta2.AppEtcdRestore, v1beta2.AppEtcd)},
			&corev1.PersistentVolumeClaim{}: {Label: apps(v1beta2.AppEtcd)},
		},
	}
}

// apps selects the objects of programs.
func apps(names ...string) labels.Selector {
	one, err := labels.NewRequirement(v1beta2.LabelApp, selection.In, names)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*one)
}
