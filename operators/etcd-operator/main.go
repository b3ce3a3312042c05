// Command etcd-operator makes and keeps etcd clusters: it reconciles EtcdCluster
// objects, and runs their members as Pods. See package plan for what it does when.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	storagev1 "k8s.io/api/storage/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/certificates"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/credentials"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

const (
	// apiQPS and apiBurst bound the requests to the API server: a growing cluster
	// needs some tens, an idle one none.
	apiQPS, apiBurst = 200, 400
)

func main() {
	var own program
	operator.Main(&operator.Program{
		Name:       "etcd-operator",
		Kind:       "EtcdCluster",
		Definition: deploy.EtcdClusters,
		QPS:        apiQPS,
		Burst:      apiBurst,
		Optional:   []string{"secrets"}, // for clusters without authentication and TLS
		Flags:      own.flags,
		Learn:      own.learn,
		Caches:     func() cache.Options { return controller.Caches(own.mayReadNodes, own.mayReadClasses) },
		SetUp:      own.setUp,
	})
}

// program is what this operator has beside what all have.
type program struct {
	defaultVersion string
	mayReadNodes   bool
	mayReadClasses bool
}

// flags registers those of this operator. Those of the archived operator keep their
// names, so that its Deployment needs only another image.
func (p *program) flags(fs *flag.FlagSet) {
	fs.StringVar(&p.defaultVersion, "default-version", etcdversion.Default, "etcd version of a new cluster whose spec.version is empty")
	fs.Int("chaos-level", -1, "ignored; accepted for manifests of the archived operator")
	fs.Duration("gc-interval", 0, "ignored; accepted for manifests of the archived operator")
}

// learn asks which of the optional rights the operator has: to list and watch nodes, and
// storage classes.
func (p *program) learn(ctx context.Context, c client.Client) (err error) {
	if p.mayReadNodes, err = mayRead(ctx, c, "", "nodes"); err != nil {
		return err
	}
	p.mayReadClasses, err = mayRead(ctx, c, storagev1.GroupName, "storageclasses")
	return err
}

// mayRead asks whether the operator may keep a cache of something that is in no namespace.
func mayRead(ctx context.Context, c client.Client, group, resource string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask whether %s may be read: %w", resource, err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

func (p *program) setUp(ctx context.Context, mgr ctrl.Manager, o *operator.Options) error {
	ctrl.Log.Info("checked optional permissions", "nodes", p.mayReadNodes, "storageclasses", p.mayReadClasses)
	etcd := etcdclient.Client{}
	observer := &observe.Observer{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Etcd: etcd, DefaultVersion: strings.TrimPrefix(p.defaultVersion, "v")}
	if p.mayReadNodes {
		observer.Nodes = mgr.GetClient()
	}
	if p.mayReadClasses {
		observer.Classes = mgr.GetClient()
	}
	comparisons := consistency.New(etcd)
	r := &controller.Reconciler{
		Client:      mgr.GetClient(),
		Observer:    observer,
		Actor:       &act.Actor{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Etcd: etcd, Comparisons: comparisons, LauncherImage: o.Image},
		Comparisons: comparisons,
		Events:      mgr.GetEventRecorder(o.Name),
		Metrics:     metrics.New(ctrlmetrics.Registry),
		Credentials: &credentials.Keeper{Live: mgr.GetAPIReader()},

		Certificates: &certificates.Keeper{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},

		ClusterWide: o.ClusterWide,
	}
	return r.SetupWithManager(ctx, mgr, o.Workers)
}
