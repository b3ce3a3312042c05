package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// Kubernetes can leave a Job as it is for ever: its Pod is on a lost node, never
// starts, or the Job itself does not go. Then the backup is given up: its failure is
// recorded, then the Job is deleted, and only then another one is started.
//
// What that keeps: once a backup is given up, no new Pod of it is started, since its Job
// is gone by then; else a node that comes back would let the Job replace the Pod, beside
// a newer backup. A Pod that still runs on a lost node, where Kubernetes cannot stop it,
// can only store its own backup: in S3 a repeated one has a name of its own, and on a
// volume it writes a temporary file of its own and renames it when it is complete.

// startGrace is how long a Job is without a running Pod before it makes room for the next
// backup. Kubernetes waits up to ten minutes before it replaces a Pod that failed
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy),
// and an image may take minutes to be pulled.
const startGrace = 15 * time.Minute

// Hangs reports whether a Job is one that Plan may give up for lack of progress: then its
// Pods are to be read from the API server itself before.
func Hangs(j *Job, now time.Time) bool {
	return j.Running && (isOverdue(j, now) || isIdle(j, now))
}

func isOverdue(j *Job, now time.Time) bool { return !j.Deadline.IsZero() && !now.Before(j.Deadline) }

func isIdle(j *Job, now time.Time) bool {
	return !j.Idle.IsZero() && !now.Before(j.Idle.Add(startGrace))
}

// givenUp is the end of a run whose Job makes no progress any more; ok is false if it may
// still make some.
func (v *view) givenUp(r *run) (e end, ok bool) {
	j := r.job
	if !j.Running {
		return end{}, false
	}
	if !j.Deadline.IsZero() {
		v.wakeAt(j.Deadline)
	}
	if isOverdue(j, v.Now) {
		return v.failed(r, j.HangReason, conditiontext.Clip(j.HangMessage)+"; a snapshot might still be stored"), true
	}
	if !v.blocksNextBackup(r) {
		return end{}, false
	}
	v.wakeAt(j.Idle.Add(startGrace))
	if !isIdle(j, v.Now) {
		return end{}, false
	}
	why := cmp.Or(conditiontext.Clip(j.Waiting), "see kubectl describe job "+r.Name)
	return v.failed(r, v1beta2.BackupReasonPodNotStarting, fmt.Sprintf("backup given up: no Pod of Job %s ran for %s, and the next backup is due: %s", r.Name, startGrace, why)), true
}

// blocksNextBackup is true for a run without a running Pod when another backup is due that
// can't be started beside it, and would be started in its place.
func (v *view) blocksNextBackup(r *run) bool {
	if r.job.Idle.IsZero() || v.spec.Suspend || !v.spec.Repeated() || v.schedule.String() == "" {
		return false
	}
	if v.refusal != nil || (v.asksCreator() && !v.Creator.Passed) {
		return false
	}
	if v.spec.Concurrency() == v1beta2.AllowConcurrent && v.counted() < maxJobs {
		return false
	}
	_, n := v.schedule.Due(r.ScheduledTime.Time, v.Now)
	return n > 0
}

// counted is how many Jobs there are, but for those that are done with and only do not go.
func (v *view) counted() int {
	n := 0
	for i := range v.Jobs {
		if j := &v.Jobs[i]; !j.Deleting || !IsDone(v.last, j) {
			n++
		}
	}
	return n
}

// abandoned is a Job that was given up and may still start Pods; nil if there is none.
func (v *view) abandoned() *Job {
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if j.Running && !j.Deleting && !hasReported(j) && !v.isActive(j.Name) {
			return j
		}
	}
	return nil
}

// hasReported is true for a Job whose Pod has reported what ends the Job: it starts no
// other.
func hasReported(j *Job) bool {
	return j.Result != nil && (j.Result.Failure == nil || j.Result.Failure.Permanent)
}

// stop deletes a Job that was given up, once that is recorded.
func stop(v *view) *step {
	j := v.abandoned()
	if j == nil || v.wasActive(j.Name) || !IsDone(v.last, j) {
		return nil
	}
	return do(DeleteJob{Name: j.Name, UID: j.UID}, v1beta2.BackupReasonJobStopped, fmt.Sprintf(
		"deleted Job %s: its backup is recorded as failed, and the Job could still start a Pod", j.Name))
}
