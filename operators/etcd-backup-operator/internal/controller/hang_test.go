package controller_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// shifted is a clock that a test can put ahead.
type shifted struct{ ahead atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// to puts the clock ahead and lets the operator look: its timers follow the real one.
func (s *shifted) to(b *bench, e *v1beta2.EtcdBackup, ahead time.Duration) {
	b.t.Helper()
	s.ahead.Store(int64(ahead))
	b.edit(e, func(e *v1beta2.EtcdBackup) { metav1.SetMetaDataAnnotation(&e.ObjectMeta, "looked", ahead.String()) })
}

// Nobody ends the Pod of a Job on a node that is lost for good, and so neither the Job. The
// backup is given up and seen as failed, the Job is deleted, and the next backup is made
// when it is due.
func TestNodeLost(t *testing.T) {
	t.Parallel()
	var clock shifted
	b := newBench(t, func(r *controller.Reconciler) { r.Now = clock.now })
	e := b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	})
	j := b.job(e)
	p := b.pod(&j)
	b.runs(p)
	// Kubernetes deletes the Pod of a lost node, whose kubelet does not hear of it.
	apiservertest.Delete(t, b.client, p)
	clock.to(b, e, time.Minute)
	b.quiet(e)
	if e.Status.Phase != v1beta2.BackupRunning {
		t.Errorf("a minute later the phase is %s, want it to wait for the node", e.Status.Phase)
	}
	clock.to(b, e, 10*time.Minute)
	b.until(e, "the backup to be given up", func(s *v1beta2.BackupStatus) bool {
		return len(s.History) == 1 && s.History[0].Reason == "NodeLost" && condition(s, v1beta2.ConditionFailed) == "True NodeLost"
	})
	b.wantEvents(e, "NodeLost", "JobStopped")
	b.wantMetric(1, "etcd_backup_failures_total", "x", b.namespace, "NodeLost")
	b.gone(e)
	clock.to(b, e, time.Hour+time.Minute)
	b.job(e, j)
	b.until(e, "the next backup to be under way", func(s *v1beta2.BackupStatus) bool { return len(s.Active) == 1 && len(s.History) == 1 })
}

// A Pod that never starts does not hold up the backups that are due after it.
func TestPodNeverStarts(t *testing.T) {
	t.Parallel()
	var clock shifted
	b := newBench(t, func(r *controller.Reconciler) { r.Now = clock.now })
	e := b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	})
	j := b.job(e)
	b.pod(&j)
	clock.to(b, e, 50*time.Minute)
	b.until(e, "the Pod to be waited for", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupPending })
	clock.to(b, e, time.Hour+time.Minute)
	next := b.job(e, j)
	b.until(e, "the first to be recorded as failed", func(s *v1beta2.BackupStatus) bool {
		return len(s.History) == 1 && s.History[0].Reason == "PodNotStarting" && len(s.Active) == 1 && s.Active[0].Name == next.Name
	})
}

// gone waits until a backup has no Job.
func (b *bench) gone(e *v1beta2.EtcdBackup) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "the Job to be deleted", func() error {
		if n := len(b.jobs(e)); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}
