package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

// slowStart is how long a Pod may take to be made, or its volumes to be mounted,
// before that is worth telling: both take a second or two where all is well.
const slowStart = 5 * time.Second

// Observe is what plan needs of a Job and of those Pods that it controls, at the moment
// now. again is after how long time alone makes more of it worth telling; 0: never.
func Observe(j *batchv1.Job, pods []corev1.Pod, now time.Time) (seen plan.Job, again time.Duration) {
	seen = plan.Job{
		Name:      j.Name,
		UID:       string(j.UID),
		Scheduled: scheduled(j),
		Created:   j.CreationTimestamp.Time,
		Running:   true,
		Deleting:  j.DeletionTimestamp != nil,
	}
	pods = newestFirst(pods)
	seen.Result = report(pods)
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || (c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed) {
			continue
		}
		seen.Running, seen.Finished = false, c.LastTransitionTime.Time
		seen.Failed = c.Type == batchv1.JobFailed
		if seen.Failed {
			seen.FailReason, seen.FailMessage = failure(&c, pods)
		}
	}
	if seen.Running && !seen.Deleting {
		seen.Waiting, again = waiting(j, pods, now)
	}
	return seen, again
}

// scheduled is when the backup was due, as Build has noted it.
func scheduled(j *batchv1.Job) time.Time {
	t, err := time.Parse(time.RFC3339, j.Annotations[v1beta2.AnnotationScheduled])
	if err != nil {
		return j.CreationTimestamp.UTC()
	}
	return t.UTC()
}

func newestFirst(pods []corev1.Pod) []corev1.Pod {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// report is what counts of all that the Pods have reported: that the backup is stored,
// whichever says so, else what the newest says; nil if none has reported.
func report(newest []corev1.Pod) *task.Result {
	var last *task.Result
	for i := range newest {
		r := result(&newest[i])
		if r != nil && r.Failure == nil {
			return r
		}
		if last == nil {
			last = r
		}
	}
	return last
}

// result is what the Pod's agent has reported; nil if it has not.
func result(pod *corev1.Pod) *task.Result {
	t := terminated(pod)
	if t == nil || t.Message == "" {
		return nil
	}
	var r task.Result
	if err := json.Unmarshal([]byte(t.Message), &r); err != nil {
		return nil // not the agent's: it died before its report
	}
	if t.ExitCode != task.ExitDone && r.Failure == nil {
		return nil // it died after its report, or in the middle of it
	}
	return &r
}

func container(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == task.Container {
			return s
		}
	}
	return nil
}

func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if s := container(pod); s != nil {
		return s.State.Terminated
	}
	return nil
}

// failure says why a Job failed whose agent has not told: the last Pod knows more than
// the Job's condition does.
func failure(c *batchv1.JobCondition, newest []corev1.Pod) (reason, message string) {
	if c.Reason == batchv1.JobReasonDeadlineExceeded {
		return "TimedOut", "the backup was stopped, since it took longer than spec.backupPolicy.timeoutInSecond: write more, or 0 for as long as it makes progress"
	}
	if len(newest) == 0 {
		return c.Reason, c.Message
	}
	pod := &newest[0]
	switch t := terminated(pod); {
	case t != nil && t.Reason == "OOMKilled":
		return t.Reason, "the kernel stopped the Pod for want of memory: raise spec.pod.resources.limits.memory"
	case pod.Status.Reason != "": // Evicted, for example
		return pod.Status.Reason, fmt.Sprintf("the Pod %s was stopped: %s", pod.Name, pod.Status.Message)
	case t != nil && t.ExitCode != 0:
		return c.Reason, fmt.Sprintf("the Pod %s ended with exit code %d and without a report: its log may say why", pod.Name, t.ExitCode)
	}
	return c.Reason, c.Message
}

// waiting says why the newest Pod of a running Job does not run; empty if it does, or
// if it is too early to say.
func waiting(j *batchv1.Job, newest []corev1.Pod, now time.Time) (why string, again time.Duration) {
	if len(newest) == 0 {
		return slow(j.CreationTimestamp, now, fmt.Sprintf(
			"it has not been made: kubectl describe job %s says why (a quota, or a ServiceAccount that is not there)", j.Name))
	}
	pod := &newest[0]
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return "", 0
	}
	if c := podCondition(pod, corev1.PodScheduled); c == nil || c.Status != corev1.ConditionTrue {
		if c != nil && c.Message != "" {
			return c.Message, 0
		}
		return slow(pod.CreationTimestamp, now, "it is on no node: is the scheduler running?")
	}
	if s := container(pod); s != nil && s.State.Waiting != nil && !starts(s.State.Waiting.Reason) {
		w := s.State.Waiting
		return strings.TrimSuffix(w.Reason+": "+w.Message, ": "), 0
	}
	needs := needs(pod)
	if needs == "" {
		return slow(placed(pod), now, fmt.Sprintf("its node %s prepares it, and takes long", pod.Spec.NodeName))
	}
	return slow(placed(pod), now, fmt.Sprintf("its node %s prepares it, and takes long: it needs %s, so look that that is there", pod.Spec.NodeName, needs))
}

// slow says why only when it is so for long.
func slow(since metav1.Time, now time.Time, why string) (string, time.Duration) {
	if left := since.Add(slowStart).Sub(now); left > 0 {
		// A time from the API server is cut to seconds, and its clock is another.
		return "", min(left, slowStart) + time.Second
	}
	return why, 0
}

// starts tells the reasons that every container has for a moment.
func starts(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// placed is when the Pod was given its node.
func placed(pod *corev1.Pod) metav1.Time {
	if c := podCondition(pod, corev1.PodScheduled); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	return pod.CreationTimestamp
}

// needs names what a Pod can't start without. Which of it is missing only the kubelet
// knows: it tells in an event alone, and the operator may read no Secret.
func needs(pod *corev1.Pod) string {
	var all []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Secret != nil:
			all = append(all, "the Secret "+v.Secret.SecretName)
		case v.PersistentVolumeClaim != nil:
			all = append(all, "the volume of PersistentVolumeClaim "+v.PersistentVolumeClaim.ClaimName)
		}
	}
	return strings.Join(all, " and ")
}
