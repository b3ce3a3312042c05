package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestOperatorKilledDuringGrowth: the next one finishes what it finds half done.
func TestOperatorKilledDuringGrowth(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	w := c.writes()
	c.resize(5)
	for _, moment := range []struct {
		what  string
		check harness.Check
	}{
		{"waiting with Pods to join", func(s harness.State) string { return atLeast(len(s.Pods), 2, "Pods") }},
		{"growing, with a member more", func(s harness.State) string {
			return atLeast(len(s.Cluster.Status.MemberDetails), 2, "members")
		}},
		{"growing, with a voter more", func(s harness.State) string {
			return atLeast(len(s.Cluster.Status.Members.Ready), 2, "voters")
		}},
		{"growing, with most of its voters", func(s harness.State) string {
			return atLeast(len(s.Cluster.Status.Members.Ready), 4, "voters")
		}},
	} {
		c.becomes(moment.what, moment.check, oneMinute)
		s.must(env.KillOperator(s.ctx, s.ns))
		s.tell("the operator is killed")
	}
	c.settles(5, twoMinutes)
	w.noticed(aBlink)
	w.lostNothing(5)
}

// TestOperatorKilledDuringShrinking: likewise.
func TestOperatorKilledDuringShrinking(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(5), harness.Volumes)
	c.settles(5, twoMinutes)
	w := c.writes()
	c.resize(1)
	for _, left := range []int{4, 2} {
		c.becomes(fmt.Sprintf("down to %d members", left), func(s harness.State) string {
			if n := len(s.Cluster.Status.MemberDetails); n > left {
				return fmt.Sprintf("%d members", n)
			}
			return ""
		}, oneMinute)
		s.must(env.KillOperator(s.ctx, s.ns))
		s.tell("the operator is killed")
	}
	c.settles(1, twoMinutes)
	w.noticed(aBlink)
	w.lostNothing(1)
}

// TestTwoOperatorsAtOnce: without leader election they get into each other's way,
// and do no harm.
func TestTwoOperatorsAtOnce(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperatorWith(t, harness.Install{Replicas: 2, Args: []string{"--leader-elect=false"}})
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	id := c.State().Cluster.Status.ClusterID
	w := c.writes()
	c.resize(5)
	c.settles(5, twoMinutes)
	w.noticed(aBlink)
	c.losesPods(c.follower())
	c.settles(5, twoMinutes)
	w.noticed(aBlink)
	c.resize(2)
	c.settles(2, twoMinutes)
	w.noticed(aBlink)
	if got := c.State().Cluster.Status.ClusterID; got != id {
		t.Errorf("it is cluster %s, and was %s", got, id)
	}
	w.lostNothing(2)
}

// TestPause: nothing at all is done to a paused cluster, and all of it afterwards.
func TestPause(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
	w := c.writes()
	c.pause(true)
	c.becomes("paused", harness.Condition(v1beta2.ConditionPaused, true, "Paused"), oneMinute)
	gone := c.follower()
	c.losesPods(gone)
	c.resize(5)
	c.podsEnd(oneMinute)
	c.stays("as it was left", 5*time.Second, func(s harness.State) string {
		if len(s.Pods) != 2 || len(s.Claims) != 3 {
			return fmt.Sprintf("%d Pods and %d volumes, want 2 and 3", len(s.Pods), len(s.Claims))
		}
		return ""
	})
	w.noticed(aBlink)
	c.pause(false)
	c.becomes("reconciled again", harness.Condition(v1beta2.ConditionPaused, false, ""), oneMinute)
	c.settles(5, twoMinutes)
	w.lostNothing(5)
}

// TestPredecessorsDeployment: a Deployment that was written for the archived
// operator works with our image and our Role.
func TestPredecessorsDeployment(t *testing.T) {
	t.Parallel()
	// That Deployment has no security context, which "restricted" would demand.
	s := aNamespace(t, "baseline")
	s.install(harness.Install{})
	s.must(env.ApplyExample(s.ctx, s.ns, "predecessor-deployment.yaml"))
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	s.tell("the predecessor's Deployment runs")
	// The Pods that it makes need no leniency.
	s.kubectl("label", "--overwrite", "namespace/"+s.ns, "pod-security.kubernetes.io/enforce=restricted")
	if out := s.kubectl("get", "deployment", "etcd-operator", "-o", "jsonpath={.spec.template.spec.containers[0].command}"); !containsAll(out, []string{"--create-crd=false"}) {
		t.Fatalf("it is not the predecessor's Deployment that runs: %s", out)
	}
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	c.writes().lostNothing(3)
}

func atLeast(got, want int, of string) string {
	if got < want {
		return fmt.Sprintf("%d %s", got, of)
	}
	return ""
}
