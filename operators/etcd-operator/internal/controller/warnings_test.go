package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// A database that comes near its quota is told of once, while etcd still takes writes, and
// no more when there is room again.
func TestSpaceIsToldOfBeforeItIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: member.EnvQuota, Value: "16777216"}}}
	})
	b.untilHealthy(c, 1)
	cli := b.dial(b.serves(c))
	look := func(value string) {
		b.edit(c, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{"example.com/look": value} })
	}
	revision := b.fillTo(cli, 27<<19)
	for _, value := range []string{"once", "and again"} {
		look(value)
		b.until(c, "the warning", func(s *v1beta2.ClusterStatus) bool {
			return reason(s, v1beta2.ConditionSpaceLow) == "QuotaNearlyUsed" && reason(s, v1beta2.ConditionAvailable) == "Serving"
		})
	}
	if said := message(&c.Status, v1beta2.ConditionSpaceLow); !strings.Contains(said, "spec.etcd.autoCompactionRetention") {
		t.Errorf("it is said: %s; want what to do", said)
	}
	b.wantEvents("QuotaNearlyUsed")

	if _, err := cli.Compact(apiservertest.Context(t), revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	b.until(c, "the warning to end", func(s *v1beta2.ClusterStatus) bool {
		// bbolt counts what was freed as free from its next transactions on.
		if _, err := cli.Put(apiservertest.Context(t), "small", ""); err != nil {
			t.Fatal(err)
		}
		look(c.ResourceVersion)
		return reason(s, v1beta2.ConditionSpaceLow) != "QuotaNearlyUsed"
	})
	var list eventsv1.EventList
	if err := b.client.List(apiservertest.Context(t), &list, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == "QuotaNearlyUsed" && (e.Type != corev1.EventTypeWarning || e.Series != nil) {
			t.Errorf("the event is %s, series %v; want one warning", e.Type, e.Series)
		}
	}
}

// fillTo writes the same keys until so many bytes of the database are in use, and returns the
// revision then. Values are small, so that the file has little free space. etcd counts a
// write when its backend commits, up to 100 ms later: each is waited for, or a fast machine
// writes past the quota meanwhile.
func (b *bench) fillTo(cli *clientv3.Client, size int64) (revision int64) {
	b.t.Helper()
	var puts []clientv3.Op
	for i := range 64 {
		puts = append(puts, clientv3.OpPut(fmt.Sprintf("key-%d", i), aMebibyte[:16<<10]))
	}
	used := func() int64 {
		status, err := cli.Status(apiservertest.Context(b.t), cli.Endpoints()[0])
		if err != nil {
			b.t.Fatal(err)
		}
		return status.DbSizeInUse
	}
	for used() < size {
		before := used()
		resp, err := cli.Txn(apiservertest.Context(b.t)).Then(puts...).Commit()
		if err != nil {
			b.t.Fatal(err)
		}
		revision = resp.Header.Revision
		for used() < before+1<<19 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return revision
}
