package harness

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/rights"
)

// ErrNoAuditLog is returned on a cluster that is not ours: where its API server writes an
// audit log, if it does, only its administrators know.
var ErrNoAuditLog = errors.New("the cluster of KUBECONFIG has no audit log for us: what the operators did with their rights is compared on localkube only")

// Audit is what the operators were allowed, and what they did with that.
type Audit struct {
	Granted map[string]rights.Role
	Uses    rights.Uses
}

// Audit reads what the operators did since the cluster was given to us. It is
// ErrNoAuditLog if nobody wrote that down.
func (e *Env) Audit(ctx context.Context) (*Audit, error) {
	if e.Local == nil {
		return nil, ErrNoAuditLog
	}
	path, err := e.Local.AuditLog(ctx)
	if err != nil {
		return nil, err
	}
	granted, err := rights.Granted(filepath.Join(e.Root, "deploy"))
	if err != nil {
		return nil, err
	}
	log := rights.Log{Operators: Operators, Since: e.since, Retired: e.retired.all()}
	uses, err := log.Read(path)
	return &Audit{Granted: granted, Uses: uses}, err
}

// Save writes down who used which right how often.
func (a *Audit) Save(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(a.table(f), f.Close())
}

func (a *Audit) table(w io.Writer) error { return rights.Table(w, a.Uses, ClusterWideNamespace) }

// retirements remembers when the operators of a namespace began to lose their rights.
type retirements struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// begin remembers the first time only.
func (r *retirements) begin(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[string]time.Time{}
	}
	if _, ok := r.since[namespace]; !ok {
		r.since[namespace] = time.Now()
	}
}

// end is for a namespace in which operators are installed anew.
func (r *retirements) end(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, namespace)
}

func (r *retirements) all() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.since)
}
