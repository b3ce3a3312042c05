package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// born is when the EtcdBackups of the tests were created.
var born = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// scene builds an Observation.
type scene struct{ Observation }

// change is something that a row has different.
type change func(*scene)

// observe is a one-shot backup to S3 that was just created, with changes.
func observe(changes ...change) Observation {
	s := &scene{Observation{
		Now:     born,
		Creator: creator.Check{Passed: true},
		Backup: &v1beta2.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{
				Name: "b", Namespace: "ns", UID: types.UID("uid"), Generation: 1, CreationTimestamp: metav1.NewTime(born),
			},
			Spec: v1beta2.BackupSpec{
				EtcdEndpoints: []string{"http://example-client:2379"},
				StorageType:   v1beta2.StorageS3,
				S3:            &v1beta2.S3Source{Path: "mybucket/etcd.backup"},
			},
		},
	}}
	for _, c := range changes {
		c(s)
	}
	return s.Observation
}

// creators is what is known of the rights of the creator.
func creators(c creator.Check) change { return func(s *scene) { s.Creator = c } }

func spec(f func(*v1beta2.BackupSpec)) change {
	return func(s *scene) { f(&s.Backup.Spec) }
}

func status(f func(*v1beta2.BackupStatus)) change {
	return func(s *scene) { f(&s.Backup.Status) }
}

// policy changes spec.backupPolicy.
func policy(f func(*v1beta2.BackupPolicy)) change {
	return spec(func(s *v1beta2.BackupSpec) {
		if s.BackupPolicy == nil {
			s.BackupPolicy = &v1beta2.BackupPolicy{}
		}
		f(s.BackupPolicy)
	})
}

// every makes the backup one that is repeated after an interval.
func every(d time.Duration) change {
	return policy(func(p *v1beta2.BackupPolicy) { p.BackupIntervalInSecond = int64(d / time.Second) })
}

// cron makes the backup one on a schedule.
func cron(expression string) change {
	return policy(func(p *v1beta2.BackupPolicy) { p.Schedule = expression })
}

func concurrency(c v1beta2.ConcurrencyPolicy) change {
	return policy(func(p *v1beta2.BackupPolicy) { p.ConcurrencyPolicy = c })
}

func deadline(d time.Duration) change {
	return policy(func(p *v1beta2.BackupPolicy) { p.StartingDeadlineSeconds = new(int64(d / time.Second)) })
}

func suspend(s *scene) { s.Backup.Spec.Suspend = true }

// after is how long after the creation it is now.
func after(d time.Duration) change {
	return func(s *scene) { s.Now = born.Add(d) }
}

// counted has the clock that a scheduled backup is counted by, as it was written when
// the time that long after the creation was done with.
func counted(name string, done time.Duration) change {
	return status(func(s *v1beta2.BackupStatus) {
		s.Phase, s.ObservedGeneration = v1beta2.BackupScheduled, 1
		s.Clock = &v1beta2.BackupClock{Schedule: name, After: metav1.NewTime(born.Add(done))}
	})
}

// seen has a status that was written before, of an object that nothing was started for.
var seen = status(func(s *v1beta2.BackupStatus) { s.Phase, s.ObservedGeneration = v1beta2.BackupPending, 1 })

// active has a backup in the status that was due so long after the creation.
func active(due time.Duration) change {
	return func(s *scene) {
		at := born.Add(due)
		s.Backup.Status.Active = append(s.Backup.Status.Active, v1beta2.ActiveBackup{Name: JobName(s.Backup, at), ScheduledTime: metav1.NewTime(at)})
		if s.Backup.Status.Phase == v1beta2.BackupNone {
			s.Backup.Status.Phase = v1beta2.BackupRunning
		}
		if s.Backup.Spec.Repeated() {
			s.Backup.Status.LastScheduleTime = &metav1.Time{Time: at}
		}
	}
}

// job has a running Job for the backup that was due so long after the creation.
func job(due time.Duration, changes ...func(*Job)) change {
	return func(s *scene) {
		at := born.Add(due)
		name := JobName(s.Backup, at)
		j := Job{Name: name, UID: "uid of " + name, Scheduled: at, Created: at, Running: true}
		for _, c := range changes {
			c(&j)
		}
		s.Jobs = append(s.Jobs, j)
	}
}

// started is a Job that the status knows to be active.
func started(due time.Duration, changes ...func(*Job)) change {
	return func(s *scene) {
		active(due)(s)
		job(due, changes...)(s)
	}
}

// reported has what the agent reports of a snapshot that is stored.
func reported(j *Job) {
	j.Result = &task.Result{
		Location: "s3://mybucket/etcd.backup", Size: 2048, SHA256: "abc", SnapshotSize: 4096, Revision: 42, OldestRevision: 7, EtcdVersion: "3.6.16",
		Hash:      &snapshot.Hash{Value: 4_000_000_000, Revision: 42, CompactedRevision: 7},
		ClusterID: "00000000000000c1", MemberID: "00000000000000a1", Duration: 1.5,
		Started: j.Scheduled.Add(time.Second), Finished: j.Scheduled.Add(3 * time.Second),
	}
}

// reportedFailure has a failure that the agent reports.
func reportedFailure(permanent bool) func(*Job) {
	return func(j *Job) {
		j.Result = &task.Result{
			Started: j.Scheduled.Add(time.Second), Finished: j.Scheduled.Add(3 * time.Second),
			Failure: &agent.Failure{Reason: "BucketNotFound", Message: "there is no bucket mybucket", Permanent: permanent},
		}
	}
}

// hasFailed is a Job that has failed so long after it was due.
func hasFailed(later time.Duration) func(*Job) {
	return func(j *Job) {
		j.Running, j.Failed, j.Finished = false, true, j.Scheduled.Add(later)
		j.FailReason, j.FailMessage = "OOMKilled", "the Pod used more memory than its limit"
	}
}

// isComplete is a Job that is complete so long after it was due.
func isComplete(later time.Duration) func(*Job) {
	return func(j *Job) { j.Running, j.Finished = false, j.Scheduled.Add(later) }
}

func isDeleting(j *Job) { j.Deleting = true }

func isWaiting(j *Job) { j.Waiting = `MountVolume.SetUp failed: secret "aws" not found` }

// before has a record of the backup that was due so long after the creation: reason is
// empty if it succeeded. The one added last is the newest.
func before(due time.Duration, reason string) change {
	return func(s *scene) {
		at := metav1.NewTime(born.Add(due))
		r := v1beta2.BackupRecord{Name: JobName(s.Backup, at.Time), ScheduledTime: &at, CompletionTime: &metav1.Time{Time: at.Add(3 * time.Second)}, Reason: reason, Lost: reason == v1beta2.BackupReasonJobLost}
		if r.Succeeded = reason == ""; !r.Succeeded {
			r.Message = map[string]string{
				"NoSpace":                   "the volume is full: free space on it, or make it larger: write etcd.backup: no space left on device",
				"NodeLost":                  "the Pod p is still terminating, and its grace period ended at 2026-01-01T10:05:00Z: its node n is probably lost; a snapshot might still be stored",
				v1beta2.BackupReasonJobLost: "the Job was deleted before it reported a result; a snapshot might be stored",
			}[reason]
		}
		st := &s.Backup.Status
		st.History = append([]v1beta2.BackupRecord{r}, st.History...)
		if s.Backup.Spec.Repeated() {
			st.LastScheduleTime = &at
		}
		if st.Phase == v1beta2.BackupNone {
			st.Phase = v1beta2.BackupScheduled
		}
	}
}

// kept has an ended backup and its Job.
func kept(due time.Duration, reason string) change {
	return func(s *scene) {
		before(due, reason)(s)
		job(due, isComplete(3*time.Second))(s)
	}
}

// cluster refers to an EtcdCluster c, which is there unless f is nil.
func cluster(f func(*v1beta2.EtcdCluster)) change {
	return func(s *scene) {
		s.Backup.Spec.EtcdEndpoints, s.Backup.Spec.ClusterRef = nil, &v1beta2.ClusterReference{Name: "c"}
		if f == nil {
			return
		}
		s.Cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}}
		s.Cluster.Status.Members.Ready = []string{"c-1", "c-2"}
		f(s.Cluster)
	}
}

// name is that of the Job that was due so long after the creation.
func name(due time.Duration) string { return JobName(observe().Backup, born.Add(due)) }

func find(t *testing.T, all []metav1.Condition, kind string) metav1.Condition {
	t.Helper()
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("there is no condition %s", kind)
	return metav1.Condition{}
}
