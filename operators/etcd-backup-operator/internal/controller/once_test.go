package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

// A backup is made by one Job, and told as soon as its Pod has told it.
func TestOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	b.until(e, "the backup to be under way", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupRunning })
	if e.Status.Succeeded || e.Status.Reason != "" || e.Status.LastSuccessDate != nil || len(e.Status.Active) != 1 {
		t.Errorf("while it is under way the status is %+v", e.Status)
	}
	p := b.pod(&j)
	b.runs(p)
	b.ends(p, agent.ExitDone, stored(7))
	// The Job itself has not ended yet.
	b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded })
	s := &e.Status
	if s.Phase != v1beta2.BackupSucceeded || s.EtcdRevision != 7 || s.EtcdVersion != "3.6.16" || s.LastSuccessDate == nil || s.Reason != "" ||
		len(s.Active) != 0 || len(s.History) != 1 || s.ObservedGeneration != e.Generation ||
		!strings.HasPrefix(condition(s, v1beta2.ConditionComplete), "True ") || !strings.HasPrefix(condition(s, v1beta2.ConditionFailed), "False ") {
		t.Errorf("the status is %+v", s)
	}
	if n := s.Snapshot; n == nil || n.Location != "s3://bucket/x" || n.Size != 20<<10 || n.ReadableSize != "20.0 KiB" || n.ClusterID != "00c0ffee00c0ffee" {
		t.Errorf("the snapshot is %+v", n)
	}
	b.wantEvents(e, "BackupStarted", "BackupSucceeded")

	b.finish(&j, batchv1.JobComplete, "")
	b.quiet(e)
	if jobs := b.jobs(e); len(jobs) != 1 || jobs[0].UID != j.UID {
		t.Errorf("there are %d Jobs, want the one that is kept for its log", len(jobs))
	}
	for name, want := range map[string]float64{
		"etcd_backup_attempts_total": 1, "etcd_backup_successes_total": 1, "etcd_backup_size_bytes": 20 << 10, "etcd_backup_duration_seconds": 0.5,
	} {
		b.wantMetric(want, name, "x", b.namespace)
	}

	apiservertest.Delete(t, b.client, e)
	etcdtest.Eventually(t, "its series to end", func() error {
		if _, ok := operatortest.Metric(t, b.metrics, "etcd_backup_size_bytes", "x", b.namespace); ok {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
}

// What only a person can mend ends the backup at once, with the agent's words.
func TestPermanentFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	b.ends(b.pod(&j), agent.ExitPermanent, fails("BucketNotFound", true))
	b.until(e, "the failure", func(s *v1beta2.BackupStatus) bool { return s.Phase == v1beta2.BackupFailed })
	b.finish(&j, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	b.quiet(e)
	s := &e.Status
	if s.Succeeded || !strings.Contains(s.Reason, "the words of the agent") || condition(s, v1beta2.ConditionFailed) != "True BucketNotFound" ||
		!strings.HasPrefix(condition(s, v1beta2.ConditionComplete), "False ") {
		t.Errorf("the status is %+v", s)
	}
	b.wantEvents(e, "BackupStarted", "BucketNotFound")
	b.wantMetric(1, "etcd_backup_failures_total", "x", b.namespace, "BucketNotFound")
	if n := len(b.jobs(e)); n != 1 {
		t.Errorf("there are %d Jobs, want 1", n)
	}
}

// A Pod that fails with a chance of doing better is the Job's to replace.
func TestRetry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	b.ends(b.pod(&j), agent.ExitRetry, fails("StoreUnavailable", false))
	b.until(e, "why the first attempt failed", func(s *v1beta2.BackupStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionFailed)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == "StoreUnavailable"
	})
	b.quiet(e)
	if e.Status.Phase != v1beta2.BackupRunning || e.Status.Reason != "" {
		t.Errorf("after the first Pod the status is %+v", e.Status)
	}
	b.ends(b.pod(&j), agent.ExitDone, stored(8))
	b.until(e, "the second Pod's backup", func(s *v1beta2.BackupStatus) bool { return s.Succeeded && s.EtcdRevision == 8 })
}

// After the last Pod the failure is told in the agent's words, not the Job's.
func TestRetriesExhausted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	b.ends(b.pod(&j), agent.ExitRetry, fails("StoreUnavailable", false))
	b.finish(&j, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	b.until(e, "the failure", func(s *v1beta2.BackupStatus) bool {
		return s.Phase == v1beta2.BackupFailed && condition(s, v1beta2.ConditionFailed) == "True StoreUnavailable"
	})
}

// While a Secret is missing the Pod waits; the status says for what, and the backup
// continues by itself.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	p := b.pod(&j)
	p.Status.Phase = corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: task.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	apiservertest.SetStatus(t, b.client, p)
	b.until(e, "what is missing to be said", func(s *v1beta2.BackupStatus) bool {
		return s.Phase == v1beta2.BackupPending && strings.Contains(said(s), "the Secret aws")
	})
	b.wantEvents(e, "PodNotStarting")
	b.runs(p)
	b.until(e, "the backup to go on", func(s *v1beta2.BackupStatus) bool {
		return s.Phase == v1beta2.BackupRunning && !strings.Contains(said(s), "the Secret aws")
	})
	b.ends(p, agent.ExitDone, stored(7))
	b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded })
}

// An operator that is restarted in the middle goes on where the other was, and one that
// was not there when the backup ended tells that as well.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x")
	j := b.job(e)
	p := b.pod(&j)
	b.runs(p)
	b.until(e, "the backup to be under way", func(s *v1beta2.BackupStatus) bool { return len(s.Active) == 1 })
	b.stop()
	b.ends(p, agent.ExitDone, stored(7))
	b.finish(&j, batchv1.JobComplete, "")
	b.startOperator()
	b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded })
	b.quiet(e)
	if jobs := b.jobs(e); len(jobs) != 1 || jobs[0].UID != j.UID || len(e.Status.History) != 1 {
		t.Errorf("there are %d Jobs, and the history is %+v", len(jobs), e.Status.History)
	}
}

// Two operators that both believe to be the only one make one Job of each backup.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.startOperator()
	for i := range 10 {
		e := b.create(fmt.Sprintf("x%d", i))
		j := b.job(e)
		b.ends(b.pod(&j), agent.ExitDone, stored(7))
		b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded })
		b.quiet(e)
		if n := len(b.jobs(e)); n != 1 || len(e.Status.History) != 1 {
			t.Errorf("there are %d Jobs, and the history is %+v", n, e.Status.History)
		}
	}
}

// Deletion is the garbage collector's, by the owner reference: the operator makes
// nothing new, and the Job goes with its EtcdBackup.
func TestDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", func(e *v1beta2.EtcdBackup) { e.Finalizers = []string{"example.com/hold"} })
	j := b.job(e)
	if len(j.OwnerReferences) != 1 || j.OwnerReferences[0].UID != e.UID {
		t.Errorf("the Job is owned by %+v", j.OwnerReferences)
	}
	b.until(e, "the backup to be under way", func(s *v1beta2.BackupStatus) bool { return len(s.Active) == 1 })
	apiservertest.Delete(t, b.client, e)
	apiservertest.Delete(t, b.client, &j) // as the garbage collector does
	b.quiet(e)
	if n := len(b.jobs(e)); n != 0 {
		t.Errorf("there are %d Jobs of an EtcdBackup that is being deleted", n)
	}
	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Finalizers = nil })
}

// An EtcdBackup that ended is deleted when its time is up.
func TestTTL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", func(e *v1beta2.EtcdBackup) { e.Spec.TTLSecondsAfterFinished = new(int32(1)) })
	j := b.job(e)
	b.ends(b.pod(&j), agent.ExitDone, stored(7))
	etcdtest.Eventually(t, "the EtcdBackup to be deleted", func() error {
		err := b.client.Get(apiservertest.Context(t), client.ObjectKeyFromObject(e), e)
		if err == nil {
			return fmt.Errorf("it is still there: %+v", e.Status)
		}
		return client.IgnoreNotFound(err)
	})
}

// A Job that the API server refuses is told, and made once it is taken.
func TestQuota(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	none := corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: b.namespace}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	apiservertest.Create(t, b.client, quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // nobody else counts here
	apiservertest.SetStatus(t, b.client, quota)

	e := b.create("x")
	b.until(e, "the quota to be said", func(s *v1beta2.BackupStatus) bool { return strings.Contains(said(s), "exceeded quota") })
	b.wantEvents(e, "StartRefused")
	apiservertest.Delete(t, b.client, quota)
	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Labels = map[string]string{"look": "again"} })
	b.job(e)
}

// A spec that is older than the rules of admission is refused on the object, and holds
// up no other.
func TestBadSpec(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := b.create("bad", func(e *v1beta2.EtcdBackup) {
		// The rule of admission can't know every name of a zone.
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "CRON_TZ=Nowhere/Land 0 3 * * *"}
	})
	b.until(bad, "the mistake to be said", func(s *v1beta2.BackupStatus) bool {
		return s.Phase == v1beta2.BackupFailed && strings.HasPrefix(condition(s, v1beta2.ConditionFailed), "True ") && s.Reason != ""
	})
	good := b.create("good")
	b.job(good)
	if n := len(b.jobs(bad)); n != 0 {
		t.Errorf("the bad one has %d Jobs", n)
	}
	b.edit(bad, func(e *v1beta2.EtcdBackup) { e.Spec.BackupPolicy = nil })
	b.job(bad)
}

// Each operator looks after the backups of its scope, and no others.
func TestScope(t *testing.T) {
	t.Parallel()
	for _, wide := range []bool{false, true} {
		t.Run(fmt.Sprintf("cluster-wide %t", wide), func(t *testing.T) {
			b := newBench(t, func(r *controller.Reconciler) { r.ClusterWide = wide })
			annotated := b.create("annotated", func(e *v1beta2.EtcdBackup) {
				e.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
			})
			plain := b.create("plain")
			mine, other := plain, annotated
			if wide {
				mine, other = annotated, plain
			}
			b.job(mine)
			apiservertest.Read(t, b.client, other)
			if other.Status.Phase != "" || len(b.jobs(other)) != 0 {
				t.Errorf("%s was touched: %+v", other.Name, other.Status)
			}
		})
	}
}

// said is all that the conditions say.
func said(s *v1beta2.BackupStatus) string {
	all := ""
	for _, c := range s.Conditions {
		all += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return all
}

// quiet waits until the operator has nothing more to write about a backup: an idle one
// writes nothing.
func (b *bench) quiet(e *v1beta2.EtcdBackup) {
	b.t.Helper()
	const still = 500 * time.Millisecond
	since, version := time.Now(), ""
	etcdtest.Eventually(b.t, "the operator to be at rest", func() error {
		apiservertest.Read(b.t, b.client, e)
		if e.ResourceVersion != version {
			since, version = time.Now(), e.ResourceVersion
		}
		if time.Since(since) < still {
			return fmt.Errorf("it wrote %s ago", time.Since(since))
		}
		return nil
	})
}

// blind is a client whose cache shows no Pod at all.
type blind struct{ client.Client }

func (c blind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.PodList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

// A backup that is stored is not called a failed one, however far the cache of Pods
// lags behind that of Jobs.
func TestPodsLag(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(r *controller.Reconciler) { r.Client = blind{r.Client} })
	e := b.create("x")
	j := b.job(e)
	p := b.pod(&j)
	b.runs(p)
	b.ends(p, agent.ExitDone, stored(7))
	b.finish(&j, batchv1.JobComplete, "")
	b.until(e, "the backup to be stored", func(s *v1beta2.BackupStatus) bool { return s.Succeeded })
	if len(e.Status.History) != 1 || !e.Status.History[0].Succeeded || e.Status.Reason != "" {
		t.Errorf("the status is %+v", e.Status)
	}
}
