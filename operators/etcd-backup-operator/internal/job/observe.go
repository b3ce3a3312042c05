package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// reading is how the agent's report is read.
var reading = agentpod.Reading[task.Result]{
	Container: task.Container,
	Failure:   func(r *task.Result) *agent.Failure { return r.Failure },
	Failed:    failed,
	TooLong:   "backup stopped: it took longer than spec.backupPolicy.timeoutInSecond, which includes the start of its Pod; raise it, or set 0 for no limit",
}

// failed stands for the report of a Pod that could not report. Its Job creates another Pod.
func failed(f *agent.Failure) *task.Result {
	f.Permanent = false
	return &task.Result{Failure: f}
}

// Observe returns what plan needs of a Job and of the Pods that it controls. requeueAfter is after how long it
// changes by time alone; 0: never.
func Observe(j *batchv1.Job, pods []corev1.Pod, look *sighting.Look) (seen plan.Job, requeueAfter time.Duration) {
	s := reading.Observe(j, pods, look)
	return plan.Job{
		Name:        j.Name,
		UID:         string(j.UID),
		Scheduled:   Scheduled(j),
		Created:     j.CreationTimestamp.Time,
		Running:     s.Finished.IsZero(),
		Deleting:    j.DeletionTimestamp != nil,
		Finished:    s.Finished,
		Witnessed:   s.Witnessed,
		Failed:      s.Failed,
		FailReason:  s.Reason,
		FailMessage: s.Message,
		Result:      s.Result,
		Waiting:     s.Waiting,
		Deadline:    s.Hang.Deadline,
		HangReason:  s.Hang.Reason,
		HangMessage: s.Hang.Message,
		Idle:        s.Idle,
	}, s.RequeueAfter
}

// Scheduled returns when the backup was due, as Build has noted it.
func Scheduled(j *batchv1.Job) time.Time {
	t, err := time.Parse(time.RFC3339, j.Annotations[v1beta2.AnnotationScheduled])
	if err != nil {
		return j.CreationTimestamp.UTC()
	}
	return t.UTC()
}

// ObserveArchiver is what plan needs of an archiver's Job and of those Pods that it controls, but
// for its progress. pod is the address of the Pod that runs; empty if none does.
func ObserveArchiver(j *batchv1.Job, pods []corev1.Pod, look *sighting.Look) (seen plan.Archiver, pod string, requeueAfter time.Duration) {
	s := reading.Observe(j, pods, look)
	for i := range pods {
		if c := agentpod.Container(&pods[i], task.Container); c != nil && c.State.Running != nil && pods[i].DeletionTimestamp == nil {
			pod = pods[i].Status.PodIP
		}
	}
	return plan.Archiver{
		Name:     j.Name,
		UID:      string(j.UID),
		Hash:     j.Annotations[v1beta2.AnnotationArchive],
		Ended:    !s.Finished.IsZero(),
		Deleting: j.DeletionTimestamp != nil,
		Waiting:  s.Waiting,
	}, pod, s.RequeueAfter
}
