package job

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// at is n seconds after the Job was made.
func at(n int) metav1.Time { return metav1.NewTime(due.Add(time.Duration(n) * time.Second)) }

// pod is one that was made after so many seconds.
func pod(made int, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", CreationTimestamp: at(made)},
		Spec: corev1.PodSpec{NodeName: "node-1", Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "aws"}}},
			{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backups"}}},
		}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(made)}},
		},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

// ended is a Pod whose agent has ended with this exit code and message.
func ended(code int32, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		if code == 0 {
			p.Status.Phase = corev1.PodSucceeded
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "sidecar", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: `{"location":"elsewhere"}`}}},
			{Name: task.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}},
		}
	}
}

func waits(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: task.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
		}
	}
}

func unscheduled(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = ""
		p.Status.Conditions = nil
		if message != "" {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
		}
	}
}

func runs(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }

func killed(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ended(137, "")(p)
		p.Status.ContainerStatuses[1].State.Terminated.Reason = reason
	}
}

func text(t *testing.T, r task.Result) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestObserve(t *testing.T) {
	stored := task.Result{Location: "s3://b/k", Size: 5, Started: due, Finished: due}
	refused := task.Result{Started: due, Finished: due, Failure: &agent.Failure{Reason: "AccessDenied", Message: "m", Permanent: true}}
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at(9)}
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit", LastTransitionTime: at(9)}
	late := failed
	late.Reason = "DeadlineExceeded"

	cases := map[string]struct {
		reason     string
		now        int
		pods       []corev1.Pod
		conditions []batchv1.JobCondition
		deleting   bool
		want       plan.Job // without what all have
		waiting    string   // a part of Waiting
		again      bool
	}{
		"just made":         {reason: "the Pod comes in a moment", now: 1, want: plan.Job{Running: true}, again: true},
		"no Pod":            {reason: "only the Job's events say why", now: 6, want: plan.Job{Running: true}, waiting: "kubectl describe job"},
		"pending":           {reason: "a start takes a moment", now: 2, pods: []corev1.Pod{pod(1)}, want: plan.Job{Running: true}, again: true},
		"no Secret":         {reason: "the kubelet says nothing in the status", now: 20, pods: []corev1.Pod{pod(1, waits("ContainerCreating", ""))}, want: plan.Job{Running: true}, waiting: "it needs the Secret aws and the volume of PVC backups"},
		"no image":          {reason: "the kubelet's words", now: 2, pods: []corev1.Pod{pod(1, waits("ErrImagePull", "not found"))}, want: plan.Job{Running: true}, waiting: "ErrImagePull: not found"},
		"no message":        {reason: "the kubelet's word", now: 2, pods: []corev1.Pod{pod(1, waits("ImagePullBackOff", ""))}, want: plan.Job{Running: true}, waiting: "ImagePullBackOff"},
		"unschedulable":     {reason: "the scheduler's words", now: 2, pods: []corev1.Pod{pod(1, unscheduled(`persistentvolumeclaim "backups" not found`))}, want: plan.Job{Running: true}, waiting: `persistentvolumeclaim "backups" not found`},
		"no scheduler":      {reason: "nobody says anything", now: 20, pods: []corev1.Pod{pod(1, unscheduled(""))}, want: plan.Job{Running: true}, waiting: "not scheduled yet"},
		"runs":              {reason: "as it should be", now: 60, pods: []corev1.Pod{pod(1, runs)}, want: plan.Job{Running: true}},
		"deleted":           {reason: "its Pod is not waited for", now: 60, deleting: true, want: plan.Job{Running: true, Deleting: true}},
		"stored":            {reason: "the Pod tells before the Job does", now: 3, pods: []corev1.Pod{pod(1, ended(0, text(t, stored)))}, want: plan.Job{Running: true, Result: &stored}},
		"complete":          {reason: "the Job has noticed", now: 9, pods: []corev1.Pod{pod(1, ended(0, text(t, stored)))}, conditions: []batchv1.JobCondition{complete}, want: plan.Job{Finished: at(9).Time, Result: &stored}},
		"refused":           {reason: "the agent's words", now: 9, pods: []corev1.Pod{pod(1, ended(2, text(t, refused)))}, conditions: []batchv1.JobCondition{failed}, want: plan.Job{Finished: at(9).Time, Failed: true, Result: &refused, FailReason: failed.Reason, FailMessage: "the Pod pod ended with exit code 2 and without a report: see its log"}},
		"second Pod stored": {reason: "the newest that has told something counts", now: 9, pods: []corev1.Pod{pod(1, ended(1, text(t, refused))), pod(30, ended(0, text(t, stored)))}, want: plan.Job{Running: true, Result: &stored}},
		"of one second":     {reason: "times are cut to seconds, so the newest of two might not be known", now: 9, pods: []corev1.Pod{pod(1, ended(1, text(t, refused))), pod(1, ended(0, text(t, stored)))}, want: plan.Job{Running: true, Result: &stored}},
		"second Pod runs":   {reason: "what the first told is known meanwhile", now: 40, pods: []corev1.Pod{pod(30, runs), pod(1, ended(1, text(t, refused)))}, want: plan.Job{Running: true, Result: &refused}},
		"not a report":      {reason: "a panic leaves no JSON", now: 9, pods: []corev1.Pod{pod(1, ended(2, "panic: x"))}, conditions: []batchv1.JobCondition{failed}, want: plan.Job{Finished: at(9).Time, Failed: true, FailReason: failed.Reason, FailMessage: "the Pod pod ended with exit code 2 and without a report: see its log"}},
		"died after all":    {reason: "success without exit code 0 is none", now: 9, pods: []corev1.Pod{pod(1, ended(137, text(t, stored)))}, want: plan.Job{Running: true}},
		"out of memory":     {reason: "what to do", now: 9, pods: []corev1.Pod{pod(1, killed("OOMKilled"))}, conditions: []batchv1.JobCondition{failed}, want: plan.Job{Finished: at(9).Time, Failed: true, FailReason: "OOMKilled", FailMessage: "the Pod ran out of memory: raise spec.pod.resources.limits.memory"}},
		"evicted": {reason: "which field to raise", now: 9, pods: []corev1.Pod{pod(1, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "}
		})}, want: plan.Job{Running: true, Result: &task.Result{Failure: &agent.Failure{
			Reason: "NodeOutOfMemory", Message: "the Pod pod was evicted, since its node node-1 ran short of memory: raise spec.pod.resources.requests.memory (The node was low on resource: memory.)",
		}}}},
		"evicted for what it wrote": {reason: "the Job does not know that another Pod will do no better", now: 9, pods: []corev1.Pod{pod(1, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "Container save exceeded its local ephemeral storage limit \"1Mi\". "}
		})}, want: plan.Job{Running: true, Result: &task.Result{Failure: &agent.Failure{
			Reason: "ScratchSpaceExceeded", Message: "the Pod pod was evicted, since it needs more disk space than it may use: raise spec.pod.resources.limits.ephemeral-storage (Container save exceeded its local ephemeral storage limit \"1Mi\".)",
		}}}},
		"too late":     {reason: "the user's own limit", now: 9, pods: []corev1.Pod{pod(1, killed("Error"))}, conditions: []batchv1.JobCondition{late}, want: plan.Job{Finished: at(9).Time, Failed: true, FailReason: "TimedOut", FailMessage: "backup stopped: it took longer than spec.backupPolicy.timeoutInSecond, which includes the start of its Pod; raise it, or set 0 for no limit"}},
		"Pods gone":    {reason: "the Job's words", now: 9, conditions: []batchv1.JobCondition{failed}, want: plan.Job{Finished: at(9).Time, Failed: true, FailReason: failed.Reason, FailMessage: failed.Message}},
		"not yet true": {reason: "a condition that is False says nothing", now: 1, conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}}, want: plan.Job{Running: true}, again: true},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			j := build(t, backup(t, "s3.backup.yaml"))
			j.UID, j.CreationTimestamp, j.Status.Conditions = "uid", at(0), tc.conditions
			if tc.deleting {
				j.DeletionTimestamp = new(at(5))
			}
			got, again := Observe(j, tc.pods, &sighting.Look{Now: at(tc.now).Time})
			if (got.Waiting == "") != (tc.waiting == "") || !strings.Contains(got.Waiting, tc.waiting) {
				t.Errorf("Waiting is %q, want something with %q: %s", got.Waiting, tc.waiting, tc.reason)
			}
			if (again > 0) != tc.again {
				t.Errorf("again after %s, want so: %t", again, tc.again)
			}
			want := tc.want
			want.Name, want.UID, want.Scheduled, want.Created, want.Waiting = j.Name, "uid", due, due, got.Waiting
			// Package agentpod tests these.
			want.Deadline, want.HangReason, want.HangMessage, want.Idle = got.Deadline, got.HangReason, got.HangMessage, got.Idle
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// From when on a Job hangs, and why, is passed on to the planner.
func TestObserveHang(t *testing.T) {
	j := build(t, backup(t, "s3.backup.yaml"))
	j.CreationTimestamp = at(0)
	lost := pod(1, runs, func(p *corev1.Pod) { p.DeletionTimestamp = new(at(40)) })
	got, _ := Observe(j, []corev1.Pod{lost}, &sighting.Look{Now: at(50).Time})
	if !got.Deadline.Equal(at(160).Time) || got.HangReason != "NodeLost" || !strings.Contains(got.HangMessage, "node-1") || !got.Idle.IsZero() {
		t.Errorf("on a lost node it is %+v", got)
	}
	if got, _ := Observe(j, []corev1.Pod{pod(1)}, &sighting.Look{Now: at(50).Time}); !got.Idle.Equal(at(1).Time) || !got.Deadline.IsZero() {
		t.Errorf("pending it is %+v", got)
	}
}

// A Job whose annotation somebody has removed was due when it was made.
func TestScheduledWithoutAnnotation(t *testing.T) {
	j := build(t, backup(t, "s3.backup.yaml"))
	j.Annotations, j.CreationTimestamp = nil, at(7)
	if got, _ := Observe(j, nil, &sighting.Look{Now: at(8).Time}); !got.Scheduled.Equal(at(7).Time) {
		t.Errorf("due at %s, want %s", got.Scheduled, at(7))
	}
}
