package controller_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/operatortest"
)

// What the agent says of the quorum goes to each record, and of the last backup to the
// condition, the event and the metric. The newest good backup stays the one before.
func TestBackupWithoutQuorum(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.create("x", everySecond)
	var done []batchv1.Job
	for i, quorum := range []bool{true, false} {
		j := b.job(e, done...)
		result := stored(int64(7 + i))
		result.Quorum = &quorum
		b.ends(b.pod(&j), agent.ExitDone, result)
		b.finish(&j, batchv1.JobComplete, "")
		done = append(done, j)
		b.until(e, "the backup to be recorded", func(s *v1beta2.BackupStatus) bool { return len(s.History) == len(done) })
		if r := e.Status.History[0]; r.Name != j.Name || !r.Succeeded || r.Quorum == nil || *r.Quorum != quorum {
			t.Errorf("with quorum %t the record is %+v", quorum, r)
		}
		is, metric := "True SourceHealthy", 1.0
		if !quorum {
			is, metric = "False BackupWithoutQuorum", 0
		}
		if got := condition(&e.Status, v1beta2.ConditionQuorum); got != is {
			t.Errorf("with quorum %t the condition is %q, want %q", quorum, got, is)
		}
		b.wantMetric(metric, "etcd_backup_quorum", "x", b.namespace)
	}
	if _, ok := operatortest.Metric(t, b.metrics, "etcd_backup_quorum", "x", b.namespace); !ok {
		t.Error("there is no series that says 0")
	}
	if r := e.Status.History[1]; r.Name != done[0].Name || r.Quorum == nil || !*r.Quorum {
		t.Errorf("the record of the first is %+v", r)
	}
	if s := e.Status.Snapshot; s == nil || s.Revision != 7 || s.Quorum == nil || !*s.Quorum {
		t.Errorf("the newest good backup is %+v, want the first", s)
	}
	b.wantEvents(e, v1beta2.ReasonNoQuorum)
}
