package agentpod

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// Reading says how the Jobs of one agent are read, whose results are of type R.
type Reading[R any] struct {
	// Container is the name of the agent's container.
	Container string
	// Failure is why a result is none of success; nil if it is.
	Failure func(*R) *agent.Failure
	// Failed is a result of such a failure.
	Failed func(*agent.Failure) *R
	// TooLong says what to do about a Job that took longer than it may.
	TooLong string
}

// State is what a Job and its Pods tell.
type State[R any] struct {
	// Finished is when the operator first saw that the Job had completed or failed; zero while it runs.
	Finished time.Time
	// Witnessed is when the operator first saw the end of a Job, or a report that ends it, of a Job that it had seen
	// before without either; zero if there is neither, or if the first look already showed it.
	Witnessed time.Time
	// Failed is true of one that failed; Reason and Message say why, if Result does
	// not.
	Failed          bool
	Reason, Message string
	// Result is what counts of all that its Pods have reported: success, whichever
	// says so, else what the newest says, or why it was evicted; nil if none has reported.
	Result *R
	// Waiting says why the newest Pod of a Job that runs does not; empty if it does,
	// or if it is too early to say.
	Waiting string
	// RequeueAfter is after how long time alone makes more of it worth telling; 0: never.
	RequeueAfter time.Duration
	// Hang says when a Job that runs does so for too long.
	Hang Hang
	// Idle is since when no Pod of a Job that runs does; zero while one runs.
	Idle time.Time
}

// Observe reads a Job and the Pods that it controls. States that another machine dates count from the first look.
func (r *Reading[R]) Observe(j *batchv1.Job, pods []corev1.Pod, look *sighting.Look) State[R] {
	pods = newestFirst(pods)
	seen := State[R]{Result: r.report(pods)}
	running := true
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || (c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed) {
			continue
		}
		running, seen.Finished = false, look.Since(j.UID, "finished", c.LastTransitionTime.Time)
		seen.Failed = c.Type == batchv1.JobFailed
		if seen.Failed {
			seen.Reason, seen.Message = r.failure(&c, pods)
		}
	}
	if running {
		seen.Hang, seen.Idle = hang(j, pods, look), r.idle(j, pods, look)
	}
	if running && j.DeletionTimestamp == nil {
		seen.Waiting, seen.RequeueAfter = r.waiting(j, pods, look)
	}
	if first := look.Since(j.UID, "exists", j.CreationTimestamp.Time); !running || r.isFinal(seen.Result) {
		if ended := look.Since(j.UID, "reported", j.CreationTimestamp.Time); first.Before(ended) {
			seen.Witnessed = ended
		}
	}
	return seen
}

// isFinal reports whether a result ends its Job. After any other failure, the Job creates another Pod.
func (r *Reading[R]) isFinal(result *R) bool {
	if result == nil {
		return false
	}
	f := r.Failure(result)
	return f == nil || f.Permanent
}

func newestFirst(pods []corev1.Pod) []corev1.Pod {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

func (r *Reading[R]) report(newest []corev1.Pod) *R {
	var last *R
	for i := range newest {
		one := r.Result(r.terminated(&newest[i]))
		if f := eviction(&newest[i]); one == nil && f != nil {
			one = r.Failed(f)
		}
		if one != nil && r.Failure(one) == nil {
			return one
		}
		if last == nil {
			last = one
		}
	}
	return last
}

func (r *Reading[R]) terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if s := Container(pod, r.Container); s != nil {
		return s.State.Terminated
	}
	return nil
}

// failure says why a Job failed whose agent has not told: the last Pod knows more than
// the Job's condition does.
func (r *Reading[R]) failure(c *batchv1.JobCondition, newest []corev1.Pod) (reason, message string) {
	if c.Reason == batchv1.JobReasonDeadlineExceeded {
		return agent.ReasonTimedOut, r.TooLong
	}
	if len(newest) == 0 {
		return c.Reason, c.Message
	}
	pod := &newest[0]
	switch t := r.terminated(pod); {
	case t != nil && t.Reason == reasonOOMKilled:
		return t.Reason, "the Pod ran out of memory: raise spec.pod.resources.limits.memory"
	case pod.Status.Reason != "": // DeadlineExceeded, for example
		return pod.Status.Reason, fmt.Sprintf("the Pod %s was stopped: %s", pod.Name, pod.Status.Message)
	case t != nil && t.ExitCode != 0:
		return c.Reason, fmt.Sprintf("the Pod %s ended with exit code %d and without a report: see its log", pod.Name, t.ExitCode)
	}
	return c.Reason, c.Message
}

func (r *Reading[R]) waiting(j *batchv1.Job, newest []corev1.Pod, look *sighting.Look) (why string, requeueAfter time.Duration) {
	if len(newest) == 0 && j.Status.Active > 0 {
		return slow(look, look.Since(j.UID, "hidden", j.CreationTimestamp.Time), fmt.Sprintf(
			"it lacks labels of the Job's Pod template: see kubectl -n %s get pods --show-labels -l %s=%s, and add them again", j.Namespace, batchv1.JobNameLabel, j.Name))
	}
	if len(newest) == 0 {
		return slow(look, older(look, j.UID, "exists", j.CreationTimestamp.Time), fmt.Sprintf(
			"it has not been created: run kubectl describe job %s to see why, such as a quota or a missing ServiceAccount", j.Name))
	}
	return Waiting(&newest[0], look, containerInstall, r.Container)
}
