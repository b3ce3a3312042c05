package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// some is the number of clusters that a team has.
	some = 20
	// calmTimeout is how long an operator may take to come to rest.
	calmTimeout = 3 * time.Minute
	// calm is how many requests in calmWindow are those of an operator at rest:
	// its Lease is renewed every 2 s, and the replica that waits reads it every 2 to
	// 4.4 s.
	calm       = 11
	calmWindow = 10 * time.Second
)

// measureMany measures an operator with no, some and many clusters: the time that
// they take, and what it costs when they are idle.
func measureMany(ctx context.Context, b *bench) error {
	if err := b.idle(ctx, 0, 40); err != nil {
		return err
	}
	began := time.Now()
	if err := b.grow(ctx, 0, some); err != nil {
		return err
	}
	took := time.Since(began)
	b.table.add(fmt.Sprintf("%d one-member clusters ready", some), seconds(took)+" s", "8 s", took <= 8*time.Second)
	if err := b.idle(ctx, some, 50); err != nil {
		return err
	}
	if b.plan.clusters <= some {
		return nil
	}
	// Not all at once: the machine, not the operator, would be measured.
	for have := some; have < b.plan.clusters; have += some {
		if err := b.grow(ctx, have, min(some, b.plan.clusters-have)); err != nil {
			return err
		}
		b.say("%d clusters are ready", min(have+some, b.plan.clusters))
	}
	return b.idle(ctx, b.plan.clusters, 80)
}

// grow makes more clusters of one member, all at once, and waits for them.
func (b *bench) grow(ctx context.Context, from, n int) error {
	var all []*harness.Cluster
	for i := range n {
		c, err := b.env.Create(ctx, b.view, b.ns, fmt.Sprintf("many-%03d", from+i), harness.Size(1), harness.Version(version))
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, c := range all {
		if _, err := b.until(ctx, c, time.Now(), "readiness", harness.Healthy(1)); err != nil {
			return err
		}
	}
	return nil
}

// idle measures an operator that has nothing to do.
func (b *bench) idle(ctx context.Context, clusters int, goalMiB float64) error {
	perMinute, err := b.requests(ctx)
	switch {
	case err != nil:
		return err
	case perMinute < 0:
		b.table.note(fmt.Sprintf("API requests per minute, idle, %d clusters", clusters), "not measured: no audit log")
	default:
		// The Lease is renewed 30 times, and read by the replica that waits about 19
		// times, by chance up to 22; a request more or less is where the minute begins.
		b.table.add(fmt.Sprintf("API requests per minute, idle, %d clusters", clusters), fmt.Sprintf("%.0f", perMinute), "49", perMinute <= 54)
	}
	mib, err := b.memory(ctx)
	if err != nil {
		return err
	}
	b.table.add(fmt.Sprintf("operator memory, %d clusters", clusters), fmt.Sprintf("%.0f MiB", mib), fmt.Sprintf("%.0f MiB", goalMiB), mib <= goalMiB)
	b.say("%d clusters: %.0f requests per minute, %.0f MiB", clusters, perMinute, mib)
	return nil
}

// requests counts those of the operator, once it has come to rest; -1 without an
// audit log.
func (b *bench) requests(ctx context.Context) (perMinute float64, err error) {
	if b.env.Local == nil {
		return -1, nil
	}
	path, err := b.env.Local.AuditLog(ctx)
	if err != nil {
		return 0, err
	}
	user := fmt.Sprintf("system:serviceaccount:%s:%s", b.ns, harness.OperatorName)
	resting, cancel := context.WithTimeout(ctx, calmTimeout)
	defer cancel()
	for {
		n, err := countRequests(resting, path, user, calmWindow)
		if err != nil {
			return 0, fmt.Errorf("the operator does not come to rest: %w", err)
		}
		if n <= calm {
			break
		}
	}
	n, err := countRequests(ctx, path, user, b.plan.window)
	return float64(n) / b.plan.window.Minutes(), err
}

// memory is the operator's resident memory in MiB, by its own metrics: that of the replica
// that has the most.
func (b *bench) memory(ctx context.Context) (float64, error) {
	pods, err := b.env.Kubectl.Run(ctx, "-n", b.ns, "get", "pods", "-l", "app.kubernetes.io/name="+harness.OperatorName, "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return 0, err
	}
	most := 0.0
	for _, pod := range strings.Fields(pods) {
		mib, err := b.memoryOf(ctx, pod)
		if err != nil {
			return 0, err
		}
		most = max(most, mib)
	}
	return most, nil
}

func (b *bench) memoryOf(ctx context.Context, pod string) (float64, error) {
	body, err := b.env.Clientset.CoreV1().Pods(b.ns).ProxyGet("http", pod, "8080", "metrics", nil).DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the operator's metrics: %w", err)
	}
	for line := range strings.Lines(string(body)) {
		var bytes float64
		if _, err := fmt.Sscanf(line, "process_resident_memory_bytes %g", &bytes); err == nil {
			return bytes / (1 << 20), nil
		}
	}
	return 0, errors.New("the operator's metrics have no process_resident_memory_bytes")
}
