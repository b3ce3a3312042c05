package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
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
	granted, err := e.granted(ctx)
	if err != nil {
		return nil, err
	}
	log := rights.Log{Operators: Operators, Since: e.since, Retired: e.retired.all()}
	uses, err := log.Read(path)
	return &Audit{Granted: granted, Uses: uses}, err
}

// granted are the Roles of all operators, with every component.
func (e *Env) granted(ctx context.Context) (map[string]rights.Role, error) {
	var text strings.Builder
	text.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: everything\nresources:\n")
	for _, operator := range Operators {
		fmt.Fprintf(&text, "  - ../../../../deploy/%s\n", operator)
	}
	components, err := os.ReadDir(filepath.Join(e.Root, "deploy", "components"))
	if err != nil {
		return nil, err
	}
	text.WriteString("components:\n")
	for _, c := range components {
		fmt.Fprintf(&text, "  - ../../../../deploy/components/%s\n", c.Name())
	}
	dir := filepath.Join(e.Root, "out", "e2e", "overlays", "everything")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	rendered, err := e.Kubectl.Run(ctx, "kustomize", dir)
	if err != nil {
		return nil, err
	}
	return rights.Granted([]byte(rendered))
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
