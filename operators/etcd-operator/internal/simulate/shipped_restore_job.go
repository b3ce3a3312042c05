package simulate

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
)

// This file is the Job that verifies the snapshot of a restore with stopMembers: First: its
// agent, simulated at what comes of it, and what the Job and its Pods tell. Caches of them do not
// lag.

// restoreJob is a Job. Its Pods are those of its attempts.
type restoreJob struct {
	object *batchv1.Job
	pods   []corev1.Pod
	// due is when the attempt under way ends.
	due time.Duration
}

// attempts is how many Pods a Job has before it has failed.
const attempts = 3

func (s *restorer) createJob(j *batchv1.Job) error {
	w := s.w
	if w.restoreOfJob(j.Name) != nil {
		return apierrors.NewAlreadyExists(jobs, j.Name)
	}
	s.checkBase("a Job is made")
	j = j.DeepCopy()
	j.UID, j.CreationTimestamp = types.UID(w.uid()), timeAt(w.now)
	if s.of.gone { // Kubernetes collects it, since its owner is not there
		return nil
	}
	s.of.job = &restoreJob{object: j}
	w.startAttempt(s.of)
	return nil
}

// restoreOfJob is the restore that has a Job of that name; nil if none has.
func (w *world) restoreOfJob(name string) *restore {
	i := slices.IndexFunc(w.restores, func(r *restore) bool { return r.job != nil && r.job.object.Name == name })
	if i < 0 {
		return nil
	}
	return w.restores[i]
}

// startAttempt makes the Job's next Pod.
func (w *world) startAttempt(r *restore) {
	j := r.job
	j.due = w.now + w.delay(20*time.Second)
	p := corev1.Pod{ObjectMeta: *j.object.Spec.Template.ObjectMeta.DeepCopy(), Spec: j.object.Spec.Template.Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	p.Name, p.Namespace, p.UID, p.CreationTimestamp = fmt.Sprintf("%s-%d", j.object.Name, len(j.pods)), namespace, types.UID(w.uid()), timeAt(w.now)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j.object, batchv1.SchemeGroupVersion.WithKind("Job"))}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: timeAt(w.now)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: simulated.ContainerVerify, State: state}}
	j.pods = append(j.pods, p)
}

// tickJobs lets attempts end, and Jobs go whose EtcdRestore is gone.
func (w *world) tickJobs() {
	for _, r := range w.restores {
		if r.gone {
			r.job = nil
		}
		if r.job != nil && len(r.job.object.Status.Conditions) == 0 && w.now >= r.job.due {
			w.endAttempt(r)
		}
	}
}

func (w *world) endAttempt(r *restore) {
	j := r.job
	result := simulated.Result{Started: epoch.Add(w.now), Finished: epoch.Add(w.now)}
	if result.Failure = w.agentFails(); result.Failure == nil {
		result.Snapshot = w.snapshotOf(r.uid)
	}
	ended, phase, kind := &corev1.ContainerStateTerminated{Reason: "Completed", Message: simulated.Message(result), FinishedAt: timeAt(w.now)}, corev1.PodSucceeded, batchv1.JobComplete
	if result.Failure != nil {
		ended.ExitCode, ended.Reason, phase, kind = 1, "Error", corev1.PodFailed, batchv1.JobFailed
	}
	w.say("Job %s: %s", j.object.Name, ended.Message)
	if n := len(j.pods); n > 0 { // else somebody has deleted it
		j.pods = slices.Clone(j.pods)
		p := j.pods[n-1].DeepCopy()
		p.Status.Phase, p.Status.ContainerStatuses[0].State = phase, corev1.ContainerState{Terminated: ended}
		j.pods[n-1] = *p
	}
	if result.Failure != nil && !result.Failure.Permanent && len(j.pods) < attempts {
		w.startAttempt(r)
		return
	}
	j.object = j.object.DeepCopy()
	j.object.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: timeAt(w.now)}}
	w.wakeRestorers(r)
}

// wakeRestorers has a restore looked at: one of its objects has changed.
func (w *world) wakeRestorers(r *restore) {
	for _, s := range w.restorers {
		s.due[r.uid] = w.now
	}
}

// jobPods are the Pods of Jobs with those labels.
func (w *world) jobPods(which labels.Selector) []corev1.Pod {
	var found []corev1.Pod
	for _, r := range w.restores {
		if r.job == nil {
			continue
		}
		for _, p := range r.job.pods {
			if which.Matches(labels.Set(p.Labels)) {
				found = append(found, p)
			}
		}
	}
	return found
}
