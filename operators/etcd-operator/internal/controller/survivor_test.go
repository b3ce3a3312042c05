package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// at is a client of one member.
func (b *bench) at(p *corev1.Pod) *clientv3.Client {
	b.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + podtest.At(p.Status.PodIP, member.ClientPort)}, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

// A majority whose data is gone: a person is told what can be done, asks for a recovery,
// and the cluster begins anew with what the survivor has, and grows to its size. Two
// operators are at it.
func TestBeginsAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	lost := c.Status.ClusterID
	b.storeSnapshot("nightly", lost)

	const keys = 100
	pods := b.pods(c)
	survivor := pods[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	writer := b.at(&survivor)
	var revision int64
	for i := range keys {
		got, err := writer.Put(ctx, fmt.Sprintf("key-%d", i), "value")
		if err != nil {
			t.Fatal(err)
		}
		revision = got.Header.Revision
	}
	for _, p := range pods[1:] {
		if err := b.client.Delete(ctx, &p, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	b.until(c, "the loss to be said", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionAvailable) == "QuorumLost" && reason(s, v1beta2.ConditionDegraded) == "QuorumLost" && s.QuorumLostSince != nil
	})
	if c.Status.Phase != v1beta2.PhaseFailed {
		t.Errorf("the phase is %s", c.Status.Phase)
	}
	b.startOperator(prometheus.NewRegistry()) // a second one does no harm

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{v1beta2.AnnotationRecover: lost} })
	b.until(c, "the survivor to be chosen", func(s *v1beta2.ClusterStatus) bool { return s.Recovery != nil })
	if r := c.Status.Recovery; r.Survivor != survivor.Name || r.ClusterID != lost || r.Revision != revision {
		t.Errorf("the recovery is %+v, want that of %s with revision %d", r, survivor.Name, revision)
	}
	b.until(c, "the seed to be adopted", func(s *v1beta2.ClusterStatus) bool { return s.ClusterID != lost })
	b.untilHealthy(c, 3)
	b.until(c, "the recovery to be complete", func(s *v1beta2.ClusterStatus) bool {
		return s.Recovery != nil && s.Recovery.Phase == v1beta2.RecoveryComplete && s.QuorumLostSince == nil
	})

	now := b.podsLeft(c, 3)
	for _, p := range now {
		if p.UID == survivor.UID {
			t.Errorf("the survivor's Pod is still there")
		}
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute) // all of that takes its time
	defer cancel()
	got, err := b.at(&now[0]).Get(ctx, "key-", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	if got.Count != keys || got.Header.Revision < c.Status.Recovery.BeginsAt {
		t.Errorf("it holds %d keys at revision %d, want %d at %d or later", got.Count, got.Header.Revision, keys, c.Status.Recovery.BeginsAt)
	}
	b.wantEvents("QuorumLost", "SurvivorChosen", "SurvivorAdopted", "RecoveryComplete")
	// Backups were looked up before the loss was told.
	for _, e := range b.eventsOf("QuorumLost") {
		if !strings.Contains(e.Note, "restore EtcdBackup nightly, which stored revision 55") {
			t.Errorf("an event says: %s", e.Note)
		}
	}
}

// storeSnapshot makes an EtcdBackup that has stored a snapshot of a cluster.
func (b *bench) storeSnapshot(name, clusterID string) {
	b.t.Helper()
	backup := &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec:       v1beta2.BackupSpec{EtcdEndpoints: []string{"http://x-client:2379"}, StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "bucket/key"}},
	}
	apiservertest.Create(b.t, b.client, backup)
	now := metav1.Now()
	backup.Status.Snapshot = &v1beta2.BackupSnapshot{Location: "s3://bucket/key", ClusterID: clusterID, Revision: 55, CompletionTime: &now}
	apiservertest.SetStatus(b.t, b.client, backup)
}
