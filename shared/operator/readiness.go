package operator

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readiness answers Kubernetes: a replica is alive from its start, and ready once nothing
// is in its way: it has its permissions, its caches are filled, and it leads or watches
// another replica lead.
type readiness struct {
	mu sync.Mutex
	// waits says what is in the way, by what noticed it.
	waits map[string]string
}

// Those who notice.
const (
	waitStart   = "start"
	waitLease   = "lease"
	waitRights  = "rights"
	waitRelated = "related"
	waitCache   = "cache of " // and the kind
)

func newReadiness() *readiness {
	return &readiness{waits: map[string]string{waitStart: "the operator is starting"}}
}

// set says what is in the way.
func (r *readiness) set(by, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[by] = reason
}

// clear says that nothing is any more, as far as by knows.
func (r *readiness) clear(by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, by)
}

// reasons are all that is in the way.
func (r *readiness) reasons() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, by := range slices.Sorted(maps.Keys(r.waits)) {
		all = append(all, r.waits[by])
	}
	return all
}

// handlers are the paths of the probes.
func (r *readiness) handlers() map[string]http.Handler {
	answer := func(inTheWay func() []string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if reasons := inTheWay(); len(reasons) > 0 {
				http.Error(w, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ok\n")) // a prober that has gone needs no answer
		})
	}
	return map[string]http.Handler{
		"/healthz": answer(func() []string { return nil }),
		"/readyz":  answer(r.reasons),
	}
}

// observedCache reports which of its informers are not filled yet.
type observedCache struct {
	cache.Cache
	ready *readiness
}

// newCache is a cache.NewCacheFunc.
func (r *readiness) newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	c, err := cache.New(config, options)
	return &observedCache{Cache: c, ready: r}, err
}

// GetInformer implements cache.Informers. It returns when the informer is filled.
func (c *observedCache) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	kind := reflect.TypeOf(o).Elem().Name()
	c.ready.set(waitCache+kind, fmt.Sprintf("waiting for the cache of kind %s to be filled", kind))
	informer, err := c.Cache.GetInformer(ctx, o, options...)
	if err == nil {
		c.ready.clear(waitCache + kind)
	}
	return informer, err
}
