package controller_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// cluster makes an EtcdCluster c, as etcd-operator has formed it.
func (b *bench) cluster(changes ...func(*v1beta2.EtcdCluster)) *v1beta2.EtcdCluster {
	b.t.Helper()
	c := cluster(b.namespace)
	for _, change := range changes {
		change(c)
	}
	apiservertest.Create(b.t, b.client, c)
	b.form(c, "00c0ffee00c0ffee")
	return c
}

// form gives an EtcdCluster a ready member and a cluster id, as etcd-operator does.
func (b *bench) form(c *v1beta2.EtcdCluster, id string) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the status to be written", func() error {
		apiservertest.Read(b.t, b.client, c)
		c.Status.ClusterID, c.Status.Members.Ready = id, []string{"c-1"}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "QuorumServes"})
		return b.client.Status().Update(apiservertest.Context(b.t), c)
	})
}

// ofCluster makes an EtcdBackup one of the EtcdCluster c.
func ofCluster(e *v1beta2.EtcdBackup) {
	e.Spec.EtcdEndpoints, e.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
}

// isBackedUp waits for the condition to have a status and a reason.
func (b *bench) isBackedUp(c *v1beta2.EtcdCluster, want string) *metav1.Condition {
	b.t.Helper()
	var got *metav1.Condition
	etcdtest.Eventually(b.t, "the condition to be "+want, func() error {
		apiservertest.Read(b.t, b.client, c)
		got = meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionBackedUp)
		if got == nil || string(got.Status)+" "+got.Reason != want {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
	return got
}

// makes lets a backup's Pod store a snapshot.
func (b *bench) makes(e *v1beta2.EtcdBackup, revision int64) {
	b.t.Helper()
	j := b.job(e)
	b.ends(b.pod(&j), agent.ExitDone, stored(revision))
}

// deleted waits until an EtcdBackup is gone.
func (b *bench) deleted(e *v1beta2.EtcdBackup) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the EtcdBackup to be deleted", func() error {
		err := b.client.Get(apiservertest.Context(b.t), client.ObjectKeyFromObject(e), e)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading it says %w", err)
	})
}

// A CronJob's EtcdBackups vanish as soon as they have ended; that the cluster is backed up
// stays, with what alerts need, and a restart of the operator changes nothing of it.
func TestBackedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster()
	e := b.create("one", ofCluster, func(e *v1beta2.EtcdBackup) { e.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	b.isBackedUp(c, "False NoGoodBackup")
	b.makes(e, 7)
	b.deleted(e)
	b.isBackedUp(c, "True BackedUp")
	n := c.Status.Backup.Newest
	if n == nil || n.Backup != "one" || n.Location != "s3://bucket/x" || n.Revision != 7 || n.Size != 20<<10 || n.ClusterID != "00c0ffee00c0ffee" {
		t.Errorf("the newest is %+v", n)
	}
	if !meta.IsStatusConditionTrue(c.Status.Conditions, v1beta2.ConditionAvailable) || len(c.Status.Members.Ready) != 1 {
		t.Errorf("what etcd-operator has written is gone: %+v", c.Status)
	}

	failing := b.create("two", ofCluster, func(e *v1beta2.EtcdBackup) { e.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	j := b.job(failing)
	b.ends(b.pod(&j), agent.ExitPermanent, fails("BucketNotFound", true))
	b.deleted(failing)
	b.wantMetric(1, "etcd_backup_cluster_failures_total", "c", b.namespace)
	b.isBackedUp(c, "True BackedUp")

	b.stop()
	version := c.ResourceVersion
	b.startOperator()
	b.wantMetric(1, "etcd_backup_cluster_backed_up", "c", b.namespace, "BackedUp")
	for name, want := range map[string]float64{
		"etcd_backup_cluster_failures_total": 1, "etcd_backup_cluster_size_bytes": 20 << 10,
		"etcd_backup_cluster_last_success_timestamp_seconds": float64(n.CompletionTime.Unix()),
	} {
		b.wantMetric(want, name, "c", b.namespace)
	}
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != version {
		t.Error("the status was written although nothing had happened")
	}
}

// A backup by endpoints is known by the cluster id of what it stored. After a restore, which
// gives the cluster another id, that is a backup of what was before.
func TestBackedUpByEndpoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster()
	b.makes(b.create("x"), 7)
	b.isBackedUp(c, "True BackedUp")
	b.form(c, "00000000000000c2")
	b.isBackedUp(c, "False NoGoodBackup")
}

// The newest good backup becomes too old by itself. That is written once.
func TestBackupTooOld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster(func(c *v1beta2.EtcdCluster) {
		c.Spec.Backup = &v1beta2.ClusterBackup{MaxAge: &metav1.Duration{Duration: 6 * time.Second}}
	})
	b.makes(b.create("x", ofCluster), 7)
	b.isBackedUp(c, "True BackedUp")
	b.isBackedUp(c, "False BackupTooOld")
	b.wantMetric(0, "etcd_backup_cluster_backed_up", "c", b.namespace, "BackupTooOld")
	version := c.ResourceVersion
	b.wantClusterEvent(c, "BackupTooOld")
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != version {
		t.Error("it is written again and again")
	}
}

func (b *bench) wantClusterEvent(c *v1beta2.EtcdCluster, reason string) {
	b.t.Helper()
	b.wantEvents(&v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{UID: c.UID}}, reason)
}

// An etcd-operator that is older than this operator drops what it does not know: that must
// not become a race of two writers.
func TestAnOlderEtcdOperator(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster()
	b.makes(b.create("x", ofCluster), 7)
	b.isBackedUp(c, "True BackedUp")
	etcdtest.Eventually(t, "the older operator to write", func() error {
		apiservertest.Read(t, b.client, c)
		meta.RemoveStatusCondition(&c.Status.Conditions, v1beta2.ConditionBackedUp)
		c.Status.Backup = nil
		return b.client.Status().Update(apiservertest.Context(t), c)
	})
	version := c.ResourceVersion
	b.quiet(b.create("y", func(e *v1beta2.EtcdBackup) { e.Spec.Suspend = true }))
	apiservertest.Read(t, b.client, c)
	if c.ResourceVersion != version {
		t.Errorf("what was dropped is written again at once: %+v", c.Status)
	}
}

// forbidden is a client that must not apply to statuses, as with an older Role.
type forbidden struct {
	client.Client
	asked *atomic.Int32
}

type forbiddenStatus struct {
	client.SubResourceWriter
	asked *atomic.Int32
}

func (c forbidden) Status() client.SubResourceWriter {
	return forbiddenStatus{c.Client.Status(), c.asked}
}

func (s forbiddenStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	s.asked.Add(1)
	return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("etcdclusters").GroupResource(), "c", nil)
}

// That a cluster cannot be told holds up no deletion.
func TestTTLWithoutTheRightToTell(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	b := newBench(t, func(r *controller.Reconciler) { r.Client = forbidden{r.Client, &asked} })
	b.cluster()
	e := b.create("x", ofCluster, func(e *v1beta2.EtcdBackup) { e.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	b.makes(e, 7)
	b.deleted(e)
	if asked.Load() == 0 {
		t.Error("nobody tried to tell the cluster")
	}
}

// gate is a client whose first apply, once it is armed, waits until somebody else applies as
// well or deletes an EtcdBackup.
type gate struct {
	client.Client
	*gateState
}

type gateState struct {
	armed, untold atomic.Bool
	applies       atomic.Int32
	open          chan struct{}
	once          sync.Once
	// told reads whether the cluster knows of a backup.
	told func() bool
}

type gateStatus struct {
	client.SubResourceWriter
	*gateState
}

func (g gate) Status() client.SubResourceWriter {
	return gateStatus{g.Client.Status(), g.gateState}
}

func (s gateStatus) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if !s.armed.Load() {
		return s.SubResourceWriter.Apply(ctx, o, opts...)
	}
	if s.applies.Add(1) == 1 {
		select {
		case <-s.open:
		case <-ctx.Done(): // the test fails without the second apply
			return ctx.Err()
		}
	}
	s.once.Do(func() { close(s.open) })
	return s.SubResourceWriter.Apply(ctx, o, opts...)
}

func (g gate) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, ok := o.(*v1beta2.EtcdBackup); ok {
		if !g.told() {
			g.untold.Store(true)
		}
		g.once.Do(func() { close(g.open) })
	}
	return g.Client.Delete(ctx, o, opts...)
}

// However slow the cluster is told, it is told before the EtcdBackup that knows is deleted.
func TestTTLTellsFirst(t *testing.T) {
	t.Parallel()
	state := &gateState{open: make(chan struct{})}
	b := newBench(t, func(r *controller.Reconciler) { r.Client = gate{r.Client, state} })
	c := b.cluster()
	state.told = func() bool {
		var now v1beta2.EtcdCluster
		err := b.client.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(c), &now)
		return err == nil && now.Status.Backup != nil && now.Status.Backup.Newest != nil
	}
	e := b.create("x", ofCluster, func(e *v1beta2.EtcdBackup) { e.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	b.isBackedUp(c, "False NoGoodBackup")
	state.armed.Store(true)
	b.makes(e, 7)
	b.deleted(e)
	if state.untold.Load() {
		t.Error("the EtcdBackup is deleted, and its cluster was not told of the backup")
	}
	b.isBackedUp(c, "True BackedUp")
}
