package operator

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	managerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// manager makes the manager of an operator, with a Lease if there may be several replicas.
// Unless the operator is cluster-wide, its caches hold its own namespace alone. They are
// filled also while another replica leads, so that this one can take over at once.
func (o *Options) manager(config *rest.Config, scheme *runtime.Scheme, caches cache.Options, ready *readiness) (ctrl.Manager, error) {
	if !o.ClusterWide {
		caches.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		Cache:                         caches,
		NewCache:                      ready.newCache,
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // they are served from the start
		Controller:                    managerconfig.Controller{EnableWarmup: new(true)},
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.Name,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
	}
	if !o.LeaderElect {
		return ctrl.NewManager(config, options)
	}
	lease, err := o.newLease(config, ready)
	if err != nil {
		return nil, err
	}
	options.LeaderElectionResourceLockInterface = lease
	mgr, err := ctrl.NewManager(config, options)
	if err == nil {
		lease.events = mgr.GetEventRecorder(o.Name)
	}
	return mgr, err
}
