package build

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// reading is how what the agent reports is read.
var reading = agentpod.Reading[task.Result]{
	Container: task.ContainerVerify,
	Failure:   func(r *task.Result) *agent.Failure { return r.Failure },
	Failed:    func(f *agent.Failure) *task.Result { return &task.Result{Failure: f} },
	TooLong:   "the Job exceeded its activeDeadlineSeconds, which the operator does not set: keep that field empty",
}

// ObserveJob returns what plan needs of the Job that verifies, and of the Pods that it controls. again is after how
// long time alone changes it; 0: never.
func ObserveJob(j *batchv1.Job, pods []corev1.Pod, look *sighting.Look) (seen plan.Job, again time.Duration) {
	s := reading.Observe(j, pods, look)
	return plan.Job{
		Name:        j.Name,
		UID:         string(j.UID),
		Deleting:    j.DeletionTimestamp != nil,
		Done:        !s.Finished.IsZero(),
		Failed:      s.Failed,
		FailReason:  s.Reason,
		FailMessage: s.Message,
		Result:      s.Result,
		Waiting:     s.Waiting,
		Deadline:    s.Hang.Deadline,
		HangReason:  s.Hang.Reason,
		HangMessage: s.Hang.Message,
	}, s.RequeueAfter
}

// ObservePod returns what plan needs of a Pod of the cluster that r restores. again is as in ObserveJob.
func ObservePod(r *v1beta2.EtcdRestore, p *corev1.Pod, look *sighting.Look) (seen plan.Pod, again time.Duration) {
	seen = plan.Pod{
		Name:  p.Name,
		UID:   string(p.UID),
		Seed:  madeBy(p, r),
		Node:  p.Spec.NodeName,
		Ready: ready(p),
	}
	if p.DeletionTimestamp != nil {
		seen.Deleting, seen.Stopped = look.Since(p.UID, "deleted", p.DeletionTimestamp.Add(-agentpod.DeletionGrace(p))), Stopped(p)
	}
	if s := agentpod.Container(p, member.ContainerEtcd); s != nil {
		seen.Launched = s.State.Running != nil
		if t := last(s); t == nil || t.ExitCode != 0 {
			seen.Restarts = int(s.RestartCount)
		}
	}
	if !seen.Seed {
		return seen, 0
	}
	seen.Permit, seen.Ended, seen.Version = permitOf(p, r), ended(p), p.Annotations[member.AnnotationVersion]
	seen.Outdated = slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == containerAwait })
	if s := agentpod.Container(p, task.ContainerRestore); s != nil {
		seen.Prepared = hasSucceeded(s)
		seen.Result, seen.Tries = reading.Result(last(s)), int(s.RestartCount)
	}
	seen.Waiting, again = agentpod.Waiting(p, look, member.ContainerLauncher, task.ContainerImage, task.ContainerRestore, member.ContainerEtcd)
	return seen, again
}

// containerAwait is the last init container of a seed in earlier releases. It waits for the
// start permit, and etcd's container starts after it.
const containerAwait = "await"

// ended is why a seed has ended that nobody has deleted, or why it was preempted; nil if it
// was not.
func ended(p *corev1.Pod) *agent.Failure {
	in := " in EtcdCluster " + p.Labels[v1beta2.LabelCluster]
	stopped := func(format string, args ...any) *agent.Failure {
		return &agent.Failure{Reason: v1beta2.RestoreReasonSeedStopped, Message: fmt.Sprintf("the Pod "+p.Name+" "+format, args...)}
	}
	if p.DeletionTimestamp != nil { // what has ended then was stopped for that
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler {
				return stopped("was preempted by a Pod of higher priority: set spec.pod.priorityClassName%s (%s)", in, c.Message)
			}
		}
		return nil
	}
	switch failure := agentpod.Eviction(p, in); {
	case !hasEnded(p):
		return nil
	case failure != nil:
		return failure
	case p.Status.Reason != "": // such as OutOfcpu or NodeAffinity, of a node that refuses it
		return stopped("was stopped on node %s: %s: %s; make room on that node, or change spec.pod of EtcdCluster %s",
			p.Spec.NodeName, p.Status.Reason, strings.TrimSuffix(p.Status.Message, "."), p.Labels[v1beta2.LabelCluster])
	}
	return stopped("ended on node %s without a reason: see its events with kubectl events --for pod/%s", p.Spec.NodeName, p.Name)
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// permitOf is what a seed is permitted.
func permitOf(p *corev1.Pod, r *v1beta2.EtcdRestore) plan.Permit {
	switch p.Annotations[v1beta2.AnnotationRestorePermit] {
	case string(r.UID):
		return plan.PermitToStart
	case string(r.UID) + task.Prepare:
		return plan.PermitToPrepare
	}
	return plan.PermitNone
}

// Stopped reports whether a Pod that is being deleted runs no container any more, and never
// will again, as its own kubelet says. That a Pod has failed can also be said by the control
// plane, of a node that does not answer: its containers are then reported as running.
func Stopped(p *corev1.Pod) bool {
	runs := func(s corev1.ContainerStatus) bool { return s.State.Running != nil }
	return p.DeletionTimestamp != nil && hasEnded(p) && len(p.Status.ContainerStatuses) > 0 &&
		!slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), runs)
}

func hasSucceeded(s *corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == agent.ExitDone
}

// last is how a container has ended at last; nil if it never has.
func last(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

// madeBy reports whether a Pod is a seed of this very EtcdRestore, by its uid: an earlier
// one of the same name may have made a member, too, and the permit of this one's may have
// been withdrawn.
func madeBy(p *corev1.Pod, r *v1beta2.EtcdRestore) bool {
	t := TaskOf(p)
	return t != nil && t.UID == string(r.UID)
}

// TaskOf is what a seed's agent was told to do; nil if the Pod is no seed.
func TaskOf(p *corev1.Pod) *task.Task {
	for _, c := range p.Spec.InitContainers {
		if c.Name != task.ContainerRestore {
			continue
		}
		for _, e := range c.Env {
			var t task.Task
			if e.Name == task.Env && json.Unmarshal([]byte(e.Value), &t) == nil {
				return &t
			}
		}
	}
	return nil
}

// Works reports whether an agent runs in the Pod, that of the Job or the seed's: it then
// tells its progress.
func Works(p *corev1.Pod) bool {
	for _, name := range []string{task.ContainerVerify, task.ContainerRestore} {
		if s := agentpod.Container(p, name); s != nil && s.State.Running != nil {
			return p.DeletionTimestamp == nil && p.Status.PodIP != ""
		}
	}
	return false
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
