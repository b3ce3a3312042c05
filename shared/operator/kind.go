package operator

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// kindInterval is how often to ask whether a kind is served, on a Kubernetes where it is
// not.
const kindInterval = 5 * time.Second

// Kind is one of another operator, which may be installed later or never. Until it is
// served nothing of it can be read through a cache.
type Kind struct{ served atomic.Bool }

// Served reports whether the kind can be read.
func (k *Kind) Served() bool { return k.served.Load() }

// Found notes that it is served.
func (k *Kind) Found() { k.served.Store(true) }

// Watch lets c watch the kind of o as soon as it is served, and maps its objects to what
// is to be reconciled.
func (k *Kind) Watch(mgr ctrl.Manager, c controller.Controller, o client.Object, of handler.MapFunc) error {
	kind, err := mgr.GetClient().GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	served := func() bool {
		_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return err == nil
	}
	begin := func() error {
		k.Found()
		return c.Watch(source.Kind(mgr.GetCache(), o, handler.EnqueueRequestsFromMapFunc(of)))
	}
	if served() {
		return begin()
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		found := func(context.Context) (bool, error) { return served(), nil }
		if err := wait.PollUntilContextCancel(ctx, kindInterval, false, found); err != nil {
			return nil //nolint:nilerr // the operator ends
		}
		return begin()
	}))
}
