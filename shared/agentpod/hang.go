package agentpod

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

const (
	// hangGrace is how much longer than its deadline something may take before it hangs:
	// a kubelet or a controller that restarts needs less.
	hangGrace = 2 * time.Minute
	// unreachableGrace is how long a node may be unreachable whose Pods stay, since they
	// tolerate that. It is twice the five minutes after which Kubernetes deletes others
	// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
	unreachableGrace = 10 * time.Minute
)

// The reasons of a [Hang], beside [agent.ReasonTimedOut] and those of an eviction. Package
// v1beta2 explains them.
const (
	ReasonNodeLost      = v1beta2.ReasonNodeLost
	ReasonJobNotDeleted = v1beta2.ReasonJobNotDeleted
)

// Hang says by when a Job that runs is to have come further, and what is wrong with it
// if it has not. Kubernetes itself waits for ever: a Job whose Pods have a failure
// policy replaces a Pod only when that has ended, and fails only after it, and a Pod on
// a lost node never ends
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-replacement-policy).
type Hang struct {
	// Deadline is zero if nothing bounds the Job.
	Deadline        time.Time
	Reason, Message string
}

// hang is that of a Job that runs, with its Pods from the newest to the oldest.
func hang(j *batchv1.Job, newest []corev1.Pod, look *sighting.Look) Hang {
	var h Hang
	switch pod := unfinished(newest); {
	case pod != nil:
		h = podHang(pod, look)
	case j.DeletionTimestamp != nil:
		h = Hang{Deadline: look.Since(j.UID, "deleted", j.DeletionTimestamp.Time).Add(hangGrace), Reason: ReasonJobNotDeleted, Message: fmt.Sprintf(
			"the Job %s is terminating since %s although none of its Pods runs: check its finalizers %v", j.Name, conditiontext.Time(j.DeletionTimestamp.Time), j.Finalizers)}
	case evictions(newest) > backoffLimit:
		// The Job counts none that a node's want of a resource has caused.
		if f := eviction(&newest[0]); f != nil {
			return Hang{Deadline: look.Since(newest[0].UID, "exists", newest[0].CreationTimestamp.Time), Reason: f.Reason, Message: f.Message}
		}
	}
	end := timeUp(j, look)
	if end.IsZero() || (!h.Deadline.IsZero() && h.Deadline.Before(end)) {
		return h
	}
	return Hang{Deadline: end, Reason: agent.ReasonTimedOut, Message: fmt.Sprintf(
		"the Job %s still runs although its time (activeDeadlineSeconds) is up: check that kube-controller-manager runs", j.Name)}
}

// podHang is that of the Pod that a Job waits for.
func podHang(pod *corev1.Pod, look *sighting.Look) Hang {
	if at := pod.DeletionTimestamp; at != nil {
		grace := DeletionGrace(pod)
		return Hang{Deadline: look.Since(pod.UID, "deleted", at.Add(-grace)).Add(grace + hangGrace), Reason: ReasonNodeLost, Message: fmt.Sprintf(
			"the Pod %s is still terminating, and its grace period ended at %s: its node %s is probably lost; repair the node, or delete it from Kubernetes",
			pod.Name, conditiontext.Time(at.Time), pod.Spec.NodeName)}
	}
	ready, containers := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	if pod.Status.Phase != corev1.PodRunning || ready == nil || containers == nil {
		return Hang{}
	}
	// The node controller says only that the Pod is not ready, and no reason. A kubelet
	// that reports says the same of the containers, or a reason.
	if ready.Status != corev1.ConditionFalse || ready.Reason != "" || containers.Status != corev1.ConditionTrue {
		return Hang{}
	}
	return Hang{Deadline: look.Since(pod.UID, "unreachable", ready.LastTransitionTime.Time).Add(unreachableGrace), Reason: ReasonNodeLost, Message: fmt.Sprintf(
		"the node %s of Pod %s has not reported since %s, and the Pod tolerates that: repair the node, or delete it from Kubernetes",
		pod.Spec.NodeName, pod.Name, conditiontext.Time(ready.LastTransitionTime.Time))}
}

// DeletionGrace is the grace period of a Pod that is being deleted. Its deletion timestamp is that much later than the
// request to delete it.
func DeletionGrace(pod *corev1.Pod) time.Duration {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		return time.Duration(*grace) * time.Second
	}
	return 0
}

// timeUp is when a Job has run out of time, with what it may then take to be stopped;
// zero if its time is not bounded. A Pod that does not go is told of before.
func timeUp(j *batchv1.Job, look *sighting.Look) time.Time {
	if j.Spec.ActiveDeadlineSeconds == nil {
		return time.Time{}
	}
	start := j.CreationTimestamp
	if j.Status.StartTime != nil {
		start = *j.Status.StartTime
	}
	grace := 2*hangGrace + terminationGracePeriodSeconds*time.Second
	return look.Since(j.UID, "started", start.Time).Add(time.Duration(*j.Spec.ActiveDeadlineSeconds)*time.Second + grace)
}

// unfinished is the Pod that a Job waits for: the newest that has not ended, rather one
// that is not terminating; nil if all have ended.
func unfinished(newest []corev1.Pod) *corev1.Pod {
	var terminating *corev1.Pod
	for i := range newest {
		pod := &newest[i]
		switch {
		case isFinished(pod):
		case pod.DeletionTimestamp == nil:
			return pod
		case terminating == nil:
			terminating = pod
		}
	}
	return terminating
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// idle is since when no Pod of a Job runs: none was created, the newest has not started,
// or it has ended and no other was created; zero while one runs or is terminating.
func (r *Reading[R]) idle(j *batchv1.Job, newest []corev1.Pod, look *sighting.Look) time.Time {
	if pod := unfinished(newest); pod != nil {
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			return look.Since(pod.UID, "exists", pod.CreationTimestamp.Time)
		}
		return time.Time{}
	}
	if len(newest) == 0 {
		return look.Since(j.UID, "exists", j.CreationTimestamp.Time)
	}
	if t := r.terminated(&newest[0]); t != nil && !t.FinishedAt.IsZero() {
		return look.Since(newest[0].UID, "finished", t.FinishedAt.Time)
	}
	return look.Since(newest[0].UID, "exists", newest[0].CreationTimestamp.Time)
}
