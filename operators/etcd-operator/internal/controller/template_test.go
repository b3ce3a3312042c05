package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file change the shape of members' Pods under load.

// mostUnanswered is how many writes may fail in all, at a hundred a second: those of half
// a second.
const mostUnanswered = 50

// mostEnded is how many writes may fail in all that are told so by a member that is removed, which
// ends a second later at the latest, by itself.
const mostEnded = 300

// endedWithMember tells whether a write failed because the member that it had come to ended.
func endedWithMember(err error) bool {
	if said := (rpctypes.EtcdError{}); errors.As(err, &said) {
		return errors.Is(said, rpctypes.ErrStopped)
	}
	return status.Code(err) == codes.Unavailable || status.Convert(err).Message() == "raft: stopped"
}

// untilShaped waits until all Pods of a cluster are as its spec says, and nothing is left
// to do.
func (b *bench) untilShaped(c *v1beta2.EtcdCluster, n int) {
	b.t.Helper()
	b.until(c, "all Pods to be as the spec says", func(s *v1beta2.ClusterStatus) bool {
		return !slices.ContainsFunc(b.pods(c), func(p corev1.Pod) bool { return p.Annotations[v1beta2.AnnotationTemplate] != member.TemplateHash(c) })
	})
	b.untilHealthy(c, n)
}

// setting is the value of a variable of a Pod's etcd; empty if it has none.
func setting(p *corev1.Pod, name string) string {
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// With volumes the members stay, and each gets another Pod; labels are changed in place.
func TestTemplateWithVolumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, withVolumes)
	b.untilHealthy(c, 3)
	names, id, before := memberNames(&c.Status), c.Status.ClusterID, b.pods(c)
	end := b.writes(b.serves(c))

	began := time.Now()
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Etcd = &v1beta2.EtcdPolicy{SnapshotCount: new(int64(5000))} })
	b.untilShaped(c, 3)
	acked, failed := end()
	t.Logf("in %s; %d writes were acknowledged, and %d failed: %v", time.Since(began).Round(time.Millisecond), acked, len(failed), failed)
	// Leadership is transferred once: raft drops what comes to it meanwhile, and what others
	// send on to it without a word.
	if len(failed) > mostUnanswered || acked == 0 {
		t.Errorf("%d writes failed, and %d were acknowledged", len(failed), acked)
	}
	if got := memberNames(&c.Status); !slices.Equal(got, names) || c.Status.ClusterID != id {
		t.Errorf("cluster %s has the members %v, want %s and %v", c.Status.ClusterID, got, id, names)
	}
	after := b.pods(c)
	for i := range after {
		if p := &after[i]; p.UID == before[i].UID || setting(p, member.EnvSnapshotCount) != "5000" {
			t.Errorf("Pod %s is %s, as before, or has the setting %q", p.Name, p.UID, setting(p, member.EnvSnapshotCount))
		}
	}
	b.wantEvents("UpdatingMembers", "MemberUpdated")

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Pod.Labels = map[string]string{"team": "storage"} })
	etcdtest.Eventually(t, "the Pods to have the label", func() error {
		for i, p := range b.pods(c) {
			if p.UID != after[i].UID {
				t.Fatalf("Pod %s was recreated for a label", p.Name)
			}
			if p.Labels["team"] != "storage" {
				return fmt.Errorf("Pod %s has the labels %v", p.Name, p.Labels)
			}
		}
		return nil
	})
	b.untilHealthy(c, 3)
}

// Without volumes each member is replaced, and another one is there before it goes.
func TestTemplateWithoutVolumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	names, id := memberNames(&c.Status), c.Status.ClusterID
	addr := b.serves(c)
	end := b.writes(addr)

	began := time.Now()
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationRestart: "now"}
	})
	least := 3
	b.until(c, "all members to be replaced", func(s *v1beta2.ClusterStatus) bool {
		least = min(least, len(s.Members.Ready))
		return len(s.MemberDetails) == 3 && !slices.ContainsFunc(memberNames(s), func(name string) bool { return slices.Contains(names, name) })
	})
	b.untilShaped(c, 3)
	acked, failed := end()
	t.Logf("in %s; %d writes were acknowledged, and %d failed: %v", time.Since(began).Round(time.Millisecond), acked, len(failed), failed)
	// Whoever is connected to a member as it is removed is told so, and goes to another. How long that
	// takes is a matter of the machine.
	unanswered := slices.DeleteFunc(slices.Clone(failed), endedWithMember)
	if ended := len(failed) - len(unanswered); ended > mostEnded || len(unanswered) > mostUnanswered {
		t.Errorf("%d writes failed as a member ended, and %d were not answered: %v", ended, len(unanswered), unanswered)
	}
	if acked == 0 || c.Status.ClusterID != id || least < 3 {
		t.Errorf("%d writes were acknowledged by cluster %s, want many by %s; %d members served at least, want 3", acked, c.Status.ClusterID, id, least)
	}
	if got := b.minAvailable(); got != 2 {
		t.Errorf("the budget is %d, want 2", got)
	}
	b.wantEvents("MemberUpdated", "MemberPromoted")
}

// A Pod that finds its image but not its place among the living stops the change there,
// and the next edit heals it.
func TestATemplateThatGoesWrong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, withVolumes)
	b.untilHealthy(c, 3)
	names := memberNames(&c.Status)
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_HEARTBEAT_INTERVAL", Value: "often"}}
	})
	b.until(c, "the first member to be down", func(s *v1beta2.ClusterStatus) bool {
		return len(s.Members.Ready) == 2 && reason(s, v1beta2.ConditionProgressing) == "UpdatingMembers"
	})
	b.reconciled()
	apiservertest.Read(t, b.client, c)
	if len(c.Status.Members.Ready) != 2 || reason(&c.Status, v1beta2.ConditionAvailable) != "Serving" {
		t.Errorf("%v serve: %s", c.Status.Members.Ready, said(&c.Status))
	}
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Pod.EtcdEnv = nil })
	b.untilShaped(c, 3)
	if got := memberNames(&c.Status); !slices.Equal(got, names) {
		t.Errorf("the members are %v, want %v", got, names)
	}
}
