package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// copier waits for the Job that copies an entry of the history.
func (b *bench) copier(e *v1beta2.EtcdBackup, entry string) (found batchv1.Job) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "a Job that copies "+entry, func() error {
		for _, j := range b.jobs(e) {
			if j.Annotations[v1beta2.AnnotationEntry] == entry {
				found = j
				return nil
			}
		}
		return errors.New("there is none")
	})
	return found
}

// A backup is complete once it is stored, whatever becomes of its copy, which a Job of its own makes
// with the rights that the operator is deployed with; the next backup is copied by another one.
func TestCopies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "@every 10s"}
		e.Spec.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageGCS, GCS: &v1beta2.GCSSource{Path: "elsewhere/x", GCPSecret: "google"}}
	})
	first := b.job(e)
	if tk := told(t, &first); tk.Copy != nil {
		t.Errorf("the Job of the backup is told %+v", tk.Copy)
	}
	p := b.pod(&first)
	b.ends(p, agent.ExitDone, stored(7))
	b.until(e, "the backup to be complete", func(s *v1beta2.BackupStatus) bool {
		return condition(s, v1beta2.ConditionComplete) == "True BackupSucceeded" && condition(s, v1beta2.ConditionCopied) == "Unknown NotCopied"
	})
	c := b.copier(e, first.Name)
	if tk := told(t, &c); tk.Copy == nil || tk.Copy.Store == nil || tk.Copy.Store.Bucket != "elsewhere" || tk.Copy.Of == nil || tk.Copy.Of.Location != "s3://bucket/x" || tk.Copy.Of.Revision != 7 {
		t.Errorf("the Job of the copy is told %+v", tk)
	}
	b.finish(&first, batchv1.JobComplete, "")
	b.ends(b.pod(&c), agent.ExitPermanent, fails("AccessDenied", true))
	b.until(e, "the copy to have failed", func(s *v1beta2.BackupStatus) bool {
		i := slices.IndexFunc(s.History, func(r v1beta2.BackupRecord) bool { return r.Name == first.Name })
		return i >= 0 && s.History[i].Succeeded && s.History[i].Copy != nil && s.History[i].Copy.Failure.Reason == "AccessDenied" && condition(s, v1beta2.ConditionCopied) == "False CopyFailed"
	})
	b.finish(&c, batchv1.JobFailed, "PodFailurePolicy")

	second := b.job(e, first, c)
	b.ends(b.pod(&second), agent.ExitDone, stored(9))
	next := b.copier(e, second.Name)
	if next.UID == c.UID {
		t.Error("it is the same Job")
	}
	b.ends(b.pod(&next), agent.ExitDone, task.Result{Location: "gcs://elsewhere/x_v9"})
	b.until(e, "the copy", func(s *v1beta2.BackupStatus) bool {
		return s.LastCopyTime != nil && condition(s, v1beta2.ConditionCopied) == "True BackupCopied"
	})
	b.wantEvents(e, v1beta2.BackupReasonCopyStarted, v1beta2.BackupReasonCopyFailed, v1beta2.BackupReasonCopied)
	b.wantMetric(1, "etcd_backup_copies_total", "x", b.namespace, "failed")
	b.wantMetric(1, "etcd_backup_copies_total", "x", b.namespace, "copied")

	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.CopyTo = nil })
	etcdtest.Eventually(t, "the Job of the copy to be gone", func() error {
		for _, j := range b.jobs(e) {
			if j.Annotations[v1beta2.AnnotationCopy] != "" {
				return fmt.Errorf("%s is there", j.Name)
			}
		}
		return nil
	})
	b.until(e, "nothing to be told of copies", func(s *v1beta2.BackupStatus) bool { return condition(s, v1beta2.ConditionCopied) == "" })
}
