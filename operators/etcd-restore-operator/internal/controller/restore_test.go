package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// wantRestored compares a cluster and its restore with what a complete restore leaves.
func (b *bench) wantRestored(e *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster) {
	b.t.Helper()
	uid := c.UID
	apiservertest.Read(b.t, b.client, c)
	s := &e.Status
	if c.UID != uid || c.Status.AdoptedSeed == nil || c.Status.AdoptedSeed.Restore != string(e.UID) || c.Status.AdoptedSeed.Pod != s.SeedMember {
		b.t.Errorf("the EtcdCluster %s adopted %+v, want the seed %s in the one of uid %s", c.UID, c.Status.AdoptedSeed, s.SeedMember, uid)
	}
	if c.Annotations[v1beta2.AnnotationFence] != "" {
		b.t.Error("the EtcdCluster still has the fence")
	}
	if !s.Succeeded || s.Reason != "" || s.HandOffTime == nil || s.CompletionTime == nil || !meta.IsStatusConditionTrue(s.Conditions, v1beta2.ConditionComplete) {
		b.t.Errorf("the status is %+v", s)
	}
	if got := b.pods(c); !slices.Equal(got, []string{s.SeedMember}) {
		b.t.Errorf("the Pods are %v, want the seed %s alone", got, s.SeedMember)
	}
	if len(e.Finalizers) > 0 {
		b.t.Errorf("the finalizers are %v", e.Finalizers)
	}
}

// complete waits until a restore is complete, and lets go.
func (b *bench) complete(e *v1beta2.EtcdRestore) {
	b.t.Helper()
	b.until(e, "the restore to be complete", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestoreComplete && len(e.Finalizers) == 0
	})
}

// In place: the same EtcdCluster grows from the seed, and the old volumes are deleted.
func TestInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.etcdOperator.small.Store(true)
	c := b.cluster("x")
	e := b.restore("x")
	b.untilPhase(e, v1beta2.RestoreHandedOff)
	seed := &corev1.Pod{}
	seed.Name, seed.Namespace = e.Status.SeedMember, b.namespace
	apiservertest.Read(t, b.client, seed)
	if permit, ok := seed.Annotations[v1beta2.AnnotationRestorePermit]; ok {
		t.Errorf("the seed was handed over with the permit %q to restore", permit)
	}
	if got := b.claims(v1beta2.LabelRetiredBy, string(e.UID)); !slices.Equal(got, []string{"x-a", "x-b", "x-c"}) {
		t.Errorf("the retired volumes are %v, want those of the old members until the cluster has its size", got)
	}
	b.etcdOperator.small.Store(false)
	b.complete(e)
	b.wantRestored(e, c)
	etcdtest.Eventually(t, "the old members' volumes to be gone", func() error {
		if got := b.claims(v1beta2.LabelApp, v1beta2.AppEtcd); !slices.Equal(got, []string{e.Status.SeedMember}) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
	if want := int64(5_000_000 + 1e9); e.Status.Revision != want {
		t.Errorf("the cluster begins at revision %d, want %d", e.Status.Revision, want)
	}
	b.wantEvents(e, "Fencing", "Preparing", "SnapshotVerified", "StoppingMembers", "KeepingVolumes", "SeedStarting", "SeedReady", "SeedHandedOver", "SeedAdopted", "VolumesDeleted", "RestoreComplete")
	for _, name := range []string{"etcd_restore_attempts_total", "etcd_restore_successes_total"} {
		b.wantMetric(1, name, "x", b.namespace)
	}
}

// A cluster whose members have no volumes.
func TestInPlaceWithoutVolumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x", func(c *v1beta2.EtcdCluster) { c.Spec.Pod = nil })
	e := b.restore("x")
	b.until(e, "the consent to be waited for", func(s *v1beta2.RestoreStatus) bool {
		return slices.Equal(s.WaitingFor, []string{"spec.acceptDataLoss"})
	})
	b.wantEvents(e, "DataLossNotAccepted")
	before := e.DeepCopy()
	e.Spec.AcceptDataLoss = true
	if err := b.client.Patch(apiservertest.Context(t), e, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	b.complete(e)
	b.wantRestored(e, c)
}

// A new cluster like another one, which is left alone.
func TestNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.cluster("old")
	before := old.DeepCopy()
	e := b.restore("x", func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster.Name, e.Spec.Target = "old", v1beta2.TargetNew
	})
	b.complete(e)
	c := &v1beta2.EtcdCluster{}
	c.Name, c.Namespace = "x", b.namespace
	apiservertest.Read(t, b.client, c)
	b.wantRestored(e, c)
	if c.Spec.Version != "3.6.16" || c.Spec.Size != 3 || c.Annotations[v1beta2.AnnotationRestoredBy] != string(e.UID) {
		t.Errorf("the EtcdCluster is %+v", c)
	}
	apiservertest.Read(t, b.client, old)
	if old.ResourceVersion != before.ResourceVersion || len(b.pods(old)) != 3 {
		t.Errorf("the other cluster was touched: %+v, Pods %v", old, b.pods(old))
	}
}

// In the old order, for a node that can't hold both: a Job checks the snapshot, and the
// members are stopped before there is a seed.
func TestMembersFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	e := b.restore("x", first)
	b.complete(e)
	b.wantRestored(e, c)
	b.wantEvents(e, "Verifying", "SnapshotVerified", "Fencing", "StoppingMembers", "KeepingVolumes", "Preparing", "SeedStarting", "SeedReady", "SeedHandedOver", "SeedAdopted", "VolumesDeleted", "RestoreComplete")
}

func first(e *v1beta2.EtcdRestore) { e.Spec.StopMembers = v1beta2.StopMembersFirst }

// A snapshot that is not good stops no member, and the cluster is given back as it was.
func TestSnapshotThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"CorruptSnapshot", v1beta2.RestoreReasonRootSecretInvalid} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.kubernetes.seedFails = fails(reason).Failure
			b.wantNothingStopped(reason)
		})
	}
}

// Nor does a seed that needs more of its node's disk than it may use: the kubelet's words
// say so, and no other one is made.
func TestSeedThatIsEvicted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.evicted = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
	e := b.wantNothingStopped(v1beta2.ReasonScratchSpaceExceeded)
	b.wantEvents(e, v1beta2.ReasonScratchSpaceExceeded)
	if f := e.Status.Failure; f == nil || !strings.Contains(f.Message, "limits.ephemeral-storage in EtcdCluster x (Pod ephemeral local storage usage exceeds") {
		t.Errorf("the failure is %+v", f)
	}
}

// wantNothingStopped has a restore fail for that reason.
func (b *bench) wantNothingStopped(reason string) *v1beta2.EtcdRestore {
	b.t.Helper()
	t := b.t
	c := b.cluster("x")
	before := map[string]types.UID{}
	for _, name := range b.pods(c) {
		before[name] = b.pod(name).UID
	}
	e := b.restore("x")
	b.until(e, "the restore to have failed", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestoreFailed && len(e.Finalizers) == 0
	})
	apiservertest.Read(t, b.client, c)
	if c.Status.FencedBy != "" || c.Annotations[v1beta2.AnnotationFenceLifted] != string(e.UID) {
		t.Errorf("the EtcdCluster is not given back: %v, %+v", c.Annotations, c.Status)
	}
	if got := b.pods(c); !slices.Equal(got, []string{"x-a", "x-b", "x-c"}) {
		t.Errorf("the Pods are %v, want the old members", got)
	}
	for name, uid := range before {
		if p := b.pod(name); p.UID != uid || p.DeletionTimestamp != nil {
			t.Errorf("the old member %s was touched", name)
		}
	}
	if got := b.claims(v1beta2.LabelApp, v1beta2.AppEtcd); !slices.Equal(got, []string{"x-a", "x-b", "x-c"}) {
		t.Errorf("the volumes are %v, want those of the old members", got)
	}
	b.wantMetric(1, "etcd_restore_failures_total", "x", b.namespace, reason)
	return e
}

func (b *bench) pod(name string) *corev1.Pod {
	b.t.Helper()
	p := &corev1.Pod{}
	p.Name, p.Namespace = name, b.namespace
	apiservertest.Read(b.t, b.client, p)
	return p
}

// A snapshot that is not good leaves the cluster as it was.
func TestCorruptSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.result = fails("CorruptSnapshot")
	c := b.cluster("x")
	before := c.DeepCopy()
	e := b.restore("x", first)
	b.untilPhase(e, v1beta2.RestoreFailed)
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != before.ResourceVersion || len(b.pods(c)) != 3 || len(e.Finalizers) > 0 {
		t.Errorf("the cluster was touched: %+v, Pods %v, finalizers of the restore %v", c, b.pods(c), e.Finalizers)
	}
	if e.Status.Succeeded || e.Status.Reason == "" {
		t.Errorf("the status is %+v", e.Status)
	}
	b.wantMetric(1, "etcd_restore_failures_total", "x", b.namespace, "CorruptSnapshot")
}

// wantGivenBack waits until a cluster is as it was, and etcd-operator looks after it.
func (b *bench) wantGivenBack(e *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster) {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, c)
	if c.Status.FencedBy != "" || c.Status.AdoptedSeed != nil || c.Annotations[v1beta2.AnnotationFenceLifted] != string(e.UID) {
		b.t.Errorf("the EtcdCluster is not given back: %v, %+v", c.Annotations, c.Status)
	}
	if got := b.claims(v1beta2.LabelCluster, c.Name); !slices.Equal(got, []string{"x-a", "x-b", "x-c"}) {
		b.t.Errorf("the members' volumes are %v, want those of the old members", got)
	}
	if got := b.pods(c); len(got) > 0 {
		b.t.Errorf("the Pods are %v, want none: the seed is deleted", got)
	}
}

// Deleted before the hand-over, a restore gives all back.
func TestDeletedBeforeHandOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.seedless.Store(true)
	c := b.cluster("x")
	e := b.restore("x")
	b.until(e, "a seed", func(s *v1beta2.RestoreStatus) bool { return s.Phase == v1beta2.RestoreSeeding && len(b.pods(c)) == 1 })
	apiservertest.Delete(t, b.client, e)
	b.untilGone(e)
	b.wantGivenBack(e, c)
}

// After the hand-over, no data is touched.
func TestDeletedAfterHandOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.etcdOperator.small.Store(true)
	c := b.cluster("x")
	e := b.restore("x")
	b.untilPhase(e, v1beta2.RestoreHandedOff)
	apiservertest.Delete(t, b.client, e)
	b.untilGone(e)
	if got := b.claims(v1beta2.LabelApp, v1beta2.AppEtcd); len(got) != 4 {
		t.Errorf("the volumes are %v, want those of three old members and of the seed", got)
	}
	if got := b.pods(c); !slices.Equal(got, []string{e.Status.SeedMember}) {
		t.Errorf("the Pods are %v, want the seed", got)
	}
}

// A new cluster that never served goes with its restore.
func TestNewDeletedBeforeHandOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.seedless.Store(true)
	e := b.restore("x", func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster = nil
		e.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 1, Version: "3.6.16"}}
	})
	c := &v1beta2.EtcdCluster{}
	c.Name, c.Namespace = "x", b.namespace
	b.until(e, "a seed", func(s *v1beta2.RestoreStatus) bool { return s.Phase == v1beta2.RestoreSeeding && len(b.pods(c)) == 1 })
	apiservertest.Delete(t, b.client, e)
	b.untilGone(e)
	b.untilGone(c)
}

// A seed that can't be made brings the old members back, and the restore fails.
func TestSeedFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	changed := fails("SnapshotChanged")
	b.kubernetes.seedFails = changed.Failure
	c := b.cluster("x")
	e := b.restore("x", first)
	b.untilPhase(e, v1beta2.RestoreFailed)
	b.wantGivenBack(e, c)
	if c := meta.FindStatusCondition(e.Status.Conditions, v1beta2.ConditionFailed); c == nil || c.Reason != "SnapshotChanged" {
		t.Errorf("condition Failed is %+v", c)
	}
}

// Of two restores of a cluster, the second waits for the first.
func TestSecondWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubernetes.seedless.Store(true)
	b.cluster("x")
	first := b.restore("x")
	b.untilPhase(first, v1beta2.RestoreSeeding)
	second := b.restore("y", func(e *v1beta2.EtcdRestore) {
		e.Spec.EtcdCluster.Name, e.Spec.Target = "x", v1beta2.TargetInPlace
	})
	b.until(second, "the second to wait", func(s *v1beta2.RestoreStatus) bool {
		return slices.Contains(s.WaitingFor, "EtcdRestore x")
	})
	b.kubernetes.seedless.Store(false)
	b.complete(first)
	b.complete(second)
	if second.Status.Revision <= first.Status.Revision {
		t.Errorf("the second begins at revision %d, and the first at %d", second.Status.Revision, first.Status.Revision)
	}
}

// An old member that does not stop is waited for, unless the user accepts it.
func TestOldMemberRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	b.kubernetes.stuck.Store(true)
	e := b.restore("x")
	b.until(e, "the old members to be waited for", func(s *v1beta2.RestoreStatus) bool {
		return s.Phase == v1beta2.RestoreSeeding && slices.Equal(s.WaitingFor, []string{"Pod x-a", "Pod x-b", "Pod x-c"})
	})
	before := e.DeepCopy()
	e.Spec.AcceptRunningOldMembers = true
	if err := b.client.Patch(apiservertest.Context(t), e, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	b.complete(e)
	if got := b.pods(c); len(got) != 4 {
		t.Errorf("the Pods are %v, want those of the old members and the seed", got)
	}
}
