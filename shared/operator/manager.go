package operator

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Manager makes the manager of an operator: with metrics and probes at ListenAddr, and
// with a Lease, if there may be several replicas. Unless the operator is cluster-wide,
// its caches hold its own namespace alone.
func (o *Options) Manager(config *rest.Config, scheme *runtime.Scheme, caches cache.Options) (ctrl.Manager, error) {
	if !o.ClusterWide {
		caches.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	probes := &probes{}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         caches,
		Metrics:                       metricsserver.Options{BindAddress: o.ListenAddr, ExtraHandlers: probes.handlers()},
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.Name,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if err := mgr.Add(probes); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	return mgr, nil
}
