package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestAlerts: a real Prometheus collects what the operator and the members tell. No alert fires
// while the cluster is well, the right ones do when its majority is lost, and they are over when it
// has come back.
func TestAlerts(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	p := s.prometheus(harness.OperatorName)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	p.has(3, `up{job="etcd",cluster="etcd"} == 1`)
	p.has(2, `up{job="etcd-operator"} == 1`)
	p.has(1, fmt.Sprintf(`etcd_operator_cluster_condition{namespace=%q,name="etcd",condition="Available",status="True"}`, s.ns))
	p.firesNothing()

	before, survivor := c.State().Cluster.Status, c.follower()
	c.losesAllBut(survivor)
	p.fires("EtcdQuorumLost", map[string]string{"namespace": s.ns, "name": "etcd", "severity": "critical"})
	p.fires("EtcdNoLeader", map[string]string{"namespace": s.ns, "cluster": "etcd", "pod": survivor, "severity": "critical"})

	s.kubectl("annotate", "etcd", "etcd", v1beta2.AnnotationRecover+"="+before.ClusterID)
	c.hasBegunAnew(before, survivor)
	p.resolves("EtcdQuorumLost", "EtcdNoLeader")
}

// prometheus is one for the scene.
type prometheus struct {
	*harness.Prometheus
	s *scene
}

// prometheus starts one, with the alerts of these operators.
func (s *scene) prometheus(operators ...string) *prometheus {
	s.t.Helper()
	p, err := env.StartPrometheus(s.ctx, s.t.TempDir(), s.ns, operators...)
	s.must(err)
	s.t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			s.t.Log(err)
		}
	})
	return &prometheus{p, s}
}

// has: a query soon has so many series.
func (p *prometheus) has(want int, query string) {
	p.s.t.Helper()
	p.becomes(query, func(ctx context.Context) (string, error) {
		n, err := p.Count(ctx, query)
		if n != want {
			return fmt.Sprintf("it has %d series, want %d", n, want), err
		}
		return "", err
	})
}

// fires: an alert soon does, with these labels among others.
func (p *prometheus) fires(name string, labels map[string]string) {
	p.s.t.Helper()
	p.becomes("alert "+name+" to fire", func(ctx context.Context) (string, error) {
		firing, err := p.Firing(ctx)
		for _, a := range firing {
			if a.Labels["alertname"] == name && includes(a.Labels, labels) {
				return "", err
			}
		}
		return fmt.Sprintf("what fires: %v", firing), err
	})
}

func includes(all, some map[string]string) bool {
	for k, v := range some {
		if all[k] != v {
			return false
		}
	}
	return true
}

// resolves: these alerts soon fire no longer.
func (p *prometheus) resolves(names ...string) {
	p.s.t.Helper()
	p.becomes(fmt.Sprintf("alerts %v to be resolved", names), func(ctx context.Context) (string, error) {
		firing, err := p.Firing(ctx)
		for _, a := range firing {
			for _, name := range names {
				if a.Labels["alertname"] == name {
					return name + " fires", err
				}
			}
		}
		return "", err
	})
}

// firesNothing: no alert fires for a while, in which each rule is evaluated.
func (p *prometheus) firesNothing() {
	p.s.t.Helper()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); {
		firing, err := p.Firing(p.s.ctx)
		p.s.must(err)
		if len(firing) > 0 {
			p.s.t.Fatalf("all is well, and these alerts fire: %v", firing)
		}
		select {
		case <-time.After(time.Second):
		case <-p.s.ctx.Done():
		}
	}
	p.s.tell("no alert fires")
}

func (p *prometheus) becomes(what string, ask func(context.Context) (string, error)) {
	p.s.t.Helper()
	p.s.within(twoMinutes, func(ctx context.Context) error { return harness.Poll(ctx, what, ask) })
	p.s.tell("%s", what)
}
