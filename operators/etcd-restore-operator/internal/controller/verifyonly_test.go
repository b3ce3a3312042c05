package controller_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// A restore that only verifies needs no cluster, holds no finalizer, and ends as verified
// or as failed; the one that it could restore is not touched.
func TestVerifyOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	before, pods := c.DeepCopy(), b.pods(c)
	nowhere := b.restore("v", func(e *v1beta2.EtcdRestore) { e.Spec.EtcdCluster, e.Spec.VerifyOnly = nil, true })
	beside := b.restore("x", func(e *v1beta2.EtcdRestore) { e.Spec.VerifyOnly = true })
	for _, e := range []*v1beta2.EtcdRestore{nowhere, beside} {
		b.until(e, "the snapshot to be verified", func(s *v1beta2.RestoreStatus) bool {
			if len(e.Finalizers) > 0 {
				t.Errorf("the finalizers are %v", e.Finalizers)
			}
			return s.Phase == v1beta2.RestoreVerified
		})
		s := &e.Status
		if !s.Succeeded || s.Snapshot == nil || s.CompletionTime == nil || s.Cluster != "" || !meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionComplete) || !meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionVerified) {
			t.Errorf("the status is %+v", s)
		}
		b.wantEvents(e, "Verifying", "SnapshotVerified")
	}
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != before.ResourceVersion || !slices.Equal(b.pods(c), pods) {
		t.Errorf("the cluster was touched: %+v, Pods %v", c, b.pods(c))
	}
}

func TestVerifyOnlyOfACorruptSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.result = fails("CorruptSnapshot")
	e := b.restore("x", func(e *v1beta2.EtcdRestore) { e.Spec.EtcdCluster, e.Spec.VerifyOnly = nil, true })
	b.untilPhase(e, v1beta2.RestoreFailed)
	if e.Status.Succeeded || e.Status.Reason == "" || len(e.Finalizers) > 0 {
		t.Errorf("the status is %+v, the finalizers are %v", e.Status, e.Finalizers)
	}
}
