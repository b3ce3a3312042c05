package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// reportGrace is how long to wait, after a Job has ended, for what its Pod reports: before
// Kubernetes 1.31 a Job that is out of time has failed while its Pod still ends.
const reportGrace = 5 * time.Second

// run is a backup that was started and whose end is not recorded.
type run struct {
	v1beta2.ActiveBackup
	// job is nil if it is gone or in doubt.
	job *Job
}

// end is what became of a run.
type end struct {
	record v1beta2.BackupRecord
	result *task.Result // nil if the Job reported none
}

// runs are the backups whose end is not recorded: those that the status calls active,
// and Jobs that it does not know since the write after their start was lost.
func runs(o *Observation) []run {
	status := &o.Backup.Status
	var all []run
	for _, a := range status.Active {
		if !isRecorded(status.History, a.Name) && !slices.ContainsFunc(all, func(r run) bool { return r.Name == a.Name }) {
			all = append(all, run{ActiveBackup: a, job: findJob(o.Jobs, a.Name)})
		}
	}
	for i := range o.Jobs {
		j := &o.Jobs[i]
		if slices.ContainsFunc(all, func(r run) bool { return r.Name == j.Name }) || IsDone(status, j) {
			continue
		}
		all = append(all, run{job: j, ActiveBackup: v1beta2.ActiveBackup{Name: j.Name, ScheduledTime: metav1.NewTime(j.Scheduled.UTC())}})
	}
	for _, d := range o.Doubtful {
		if slices.ContainsFunc(all, func(r run) bool { return r.Name == d.Name }) || IsDone(status, &Job{Name: d.Name, Scheduled: d.Scheduled}) {
			continue
		}
		all = append(all, run{ActiveBackup: v1beta2.ActiveBackup{Name: d.Name, ScheduledTime: metav1.NewTime(d.Scheduled.UTC())}})
	}
	slices.SortStableFunc(all, func(a, b run) int {
		return cmp.Or(a.ScheduledTime.Compare(b.ScheduledTime.Time), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func findJob(jobs []Job, name string) *Job {
	if i := slices.IndexFunc(jobs, func(j Job) bool { return j.Name == name }); i >= 0 {
		return &jobs[i]
	}
	return nil
}

func isRecorded(history []v1beta2.BackupRecord, name string) bool {
	return slices.ContainsFunc(history, func(r v1beta2.BackupRecord) bool { return r.Name == name })
}

// IsDone reports whether the end of a Job is in the history, or was: a cache can still show a deleted Job whose record
// has made room for newer ones.
func IsDone(status *v1beta2.BackupStatus, j *Job) bool {
	newer := 0
	for i := range status.History {
		r := &status.History[i]
		if r.Name == j.Name {
			return true
		}
		if r.ScheduledTime != nil && r.ScheduledTime.After(j.Scheduled) {
			newer++
		}
	}
	// The two others may be kept although they are older (see trim).
	return newer >= v1beta2.MaxHistory-2
}

// record moves the runs that have ended to the history.
func (v *view) record() {
	var ends []end
	v.active = slices.DeleteFunc(v.active, func(r run) bool {
		e, ok := v.endOf(&r)
		if ok {
			v.addOutlook(&e.record)
			ends = append(ends, e)
		}
		return ok
	})
	slices.SortStableFunc(ends, func(a, b end) int {
		return a.record.CompletionTime.Compare(b.record.CompletionTime.Time)
	})
	for _, e := range ends {
		v.recorded = append(v.recorded, e.record)
		v.history = slices.Insert(v.history, 0, e.record)
		if e.record.Succeeded {
			v.keep(&e)
		}
	}
	v.history = trim(v.history, v.Jobs)
}

// endOf is how a run has ended; ok is false if it has not.
func (v *view) endOf(r *run) (e end, ok bool) {
	j := r.job
	switch {
	case v.isDoubtfulJob(r.Name):
		return end{}, false
	case j == nil:
		return v.lost(r), true
	case j.Result != nil && j.Result.Failure == nil:
		return v.succeeded(r), true
	case j.Result != nil && j.Result.Failure.Permanent:
		f := j.Result.Failure
		return v.failed(r, f.Reason, f.Message), true
	}
	if e, ok := v.givenUp(r); ok {
		return e, true
	}
	switch {
	case j.Running:
		// After a failure that is worth another try the Job starts another Pod.
		return end{}, false
	case j.Result != nil && j.Failed:
		f := j.Result.Failure
		return v.failed(r, f.Reason, f.Message), true
	case v.Now.Sub(j.Finished).Abs() < reportGrace:
		v.wakeAt(j.Finished.Add(reportGrace))
		if j.Finished.After(v.Now) {
			v.wakeAt(v.Now.Add(reportGrace))
		}
		return end{}, false
	case j.Failed:
		return v.failed(r, j.FailReason, j.FailMessage), true
	}
	// A report of failure is that of an earlier Pod than the one that ended well.
	return v.failed(r, v1beta2.BackupReasonResultLost, "result unknown: the Job completed, but its Pod was gone before its report was read; a snapshot might be stored"), true
}

// lost is the end of a run whose Job is gone: somebody deleted it, or it was replaced.
func (v *view) lost(r *run) end {
	if v.spec.Repeated() && v.spec.Concurrency() == v1beta2.ReplaceConcurrent && v.schedule.String() != "" {
		if _, n := v.schedule.Due(r.ScheduledTime.Time, v.Now); n > 0 {
			return v.failed(r, v1beta2.BackupReasonReplaced, "the Job was deleted because the next backup was due, and spec.backupPolicy.concurrencyPolicy is Replace")
		}
	}
	e := v.failed(r, v1beta2.BackupReasonJobLost, "the Job was deleted before it reported a result; a snapshot might be stored")
	e.record.Lost = true
	return e
}

func (v *view) failed(r *run, reason, message string) end {
	e := end{record: v.newRecord(r)}
	e.record.Reason = conditiontext.Reason(reason, v1beta2.BackupReasonJobFailed)
	e.record.Message = conditiontext.Clip(message)
	if e.record.Message == "" {
		e.record.Message = fmt.Sprintf("Job %s failed without a report: see the events and the log of its Pod", r.Name)
	}
	return e
}

// addOutlook adds to the message of a one-shot backup that failed what follows from it.
func (v *view) addOutlook(r *v1beta2.BackupRecord) {
	switch {
	case r.Succeeded || v.spec.Repeated():
	case r.Lost && len(v.history)+1 < maxAttempts:
		r.Message += "; the operator retries it"
	default:
		r.Message += "; the data in etcd is not affected; the backup is not retried: fix the cause, then create another EtcdBackup"
	}
}

func (v *view) succeeded(r *run) end {
	result := r.job.Result
	e := end{record: v.newRecord(r), result: result}
	e.record.Succeeded = true
	e.record.Location = conditiontext.Clip(result.Location)
	e.record.Size = result.Size
	e.record.SHA256 = conditiontext.Clip(result.SHA256)
	e.record.Revision, e.record.OldestRevision = result.Revision, max(result.OldestRevision, 0)
	e.record.Hash = hashOf(result)
	e.record.ClusterID = conditiontext.Clip(result.ClusterID)
	e.record.EtcdVersion = conditiontext.Clip(result.EtcdVersion)
	e.record.Quorum, e.record.Unhealthy = result.Quorum, conditiontext.Clip(result.Unhealthy)
	e.record.Message = conditiontext.Clip(remarks(result))
	return e
}

// hashOf is what is written of a snapshot's hash; nil if it has none.
func hashOf(r *task.Result) *v1beta2.SnapshotHash {
	if r.Hash == nil {
		return nil
	}
	return &v1beta2.SnapshotHash{Value: int64(r.Hash.Value), Revision: r.Hash.Revision, CompactedRevision: max(r.Hash.CompactedRevision, 0)}
}

// maxDelay is how long ago a backup ended at most if the operator has just witnessed its end. A watch reports that
// within seconds. It keeps the more precise time of the agent where its clock is right.
const maxDelay = time.Minute

// newRecord returns a record with the times of a run. The times of another machine's clock are at most Now. If the
// operator has witnessed the end of the run, a slow clock does not make it look like an old one.
func (v *view) newRecord(r *run) v1beta2.BackupRecord {
	rec := v1beta2.BackupRecord{Name: r.Name, ScheduledTime: r.ScheduledTime.DeepCopy()}
	finished := v.Now
	if j := r.job; j != nil {
		started := j.Created
		if j.Result != nil && !j.Result.Started.IsZero() {
			started = j.Result.Started
		}
		if !started.IsZero() {
			rec.StartTime = v.past(started)
		}
		if !j.Finished.IsZero() {
			finished = j.Finished
		}
		if j.Result != nil && !j.Result.Finished.IsZero() {
			finished = j.Result.Finished
		}
		if finished.Before(j.Witnessed.Add(-maxDelay)) {
			finished = j.Witnessed
		}
	}
	rec.CompletionTime = v.past(finished)
	return rec
}

// past is a time for the status, at most Now.
func (v *view) past(t time.Time) *metav1.Time {
	if t.After(v.Now) {
		t = v.Now
	}
	at := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &at
}

// trim bounds a history that is newest first. What is never dropped for room are the
// newest that succeeded and the newest that failed, and then those whose Jobs are still
// there: their names say that the end of these Jobs is recorded.
func trim(history []v1beta2.BackupRecord, jobs []Job) []v1beta2.BackupRecord {
	if len(history) <= v1beta2.MaxHistory {
		return history
	}
	keep := make([]bool, len(history))
	room := v1beta2.MaxHistory
	take := func(i int) {
		if i >= 0 && !keep[i] && room > 0 {
			keep[i] = true
			room--
		}
	}
	take(slices.IndexFunc(history, func(r v1beta2.BackupRecord) bool { return r.Succeeded }))
	take(slices.IndexFunc(history, func(r v1beta2.BackupRecord) bool { return !r.Succeeded }))
	for i := range history {
		if findJob(jobs, history[i].Name) != nil {
			take(i)
		}
	}
	for i := range history {
		take(i)
	}
	var kept []v1beta2.BackupRecord
	for i := range history {
		if keep[i] {
			kept = append(kept, history[i])
		}
	}
	return kept
}

// kept are the names of the Jobs that stay for their logs.
func (v *view) kept() []string {
	var names []string
	for _, succeeded := range []bool{true, false} {
		i := slices.IndexFunc(v.history, func(r v1beta2.BackupRecord) bool {
			return r.Succeeded == succeeded && findJob(v.Jobs, r.Name) != nil
		})
		if i >= 0 {
			names = append(names, v.history[i].Name)
		}
	}
	return names
}
