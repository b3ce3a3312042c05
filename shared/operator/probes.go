package operator

import (
	"context"
	"net/http"
	"sync/atomic"
)

// probes answers Kubernetes. A replica is ready when its caches are, whether it
// leads or waits to: it is there to take over.
type probes struct{ ready atomic.Bool }

// Start implements manager.Runnable; the manager calls it when the caches are filled.
func (p *probes) Start(context.Context) error {
	p.ready.Store(true)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (p *probes) NeedLeaderElection() bool { return false }

// handlers are the paths of the probes.
func (p *probes) handlers() map[string]http.Handler {
	answer := func(ok func() bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !ok() {
				http.Error(w, "the caches are not filled yet", http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ok\n")) // a prober that has gone needs no answer
		})
	}
	return map[string]http.Handler{
		"/healthz": answer(func() bool { return true }),
		"/readyz":  answer(p.ready.Load),
	}
}
