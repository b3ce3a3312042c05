package agentpod

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// Kubernetes waits for ever for a Pod on a lost node, and for a Job that does not go:
// from when on that is told, and as what. Times are in seconds since the Job was created.
func TestHang(t *testing.T) {
	at := func(n int64) metav1.Time { return metav1.Unix(100_000+n, 0) }
	pod := func(made int64, phase corev1.PodPhase, changes ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: at(made)}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase}}
		for _, c := range changes {
			c(&p)
		}
		return p
	}
	terminating := func(n int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp = new(at(n)) }
	}
	conditions := func(ready, containers corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: ready, Reason: reason, LastTransitionTime: at(50)},
				{Type: corev1.ContainersReady, Status: containers},
			}
		}
	}
	finished := func(n int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(n)},
			}}}
		}
	}
	const (
		running = corev1.PodRunning
		pending = corev1.PodPending
		failed  = corev1.PodFailed
		never   = int64(-1)
	)
	rows := map[string]struct {
		reason   string
		pods     []corev1.Pod
		job      func(*batchv1.Job)
		deadline int64
		why      string
		says     string
		idle     int64
	}{
		"runs":        {reason: "as long as it makes progress", pods: []corev1.Pod{pod(1, running)}, deadline: never, idle: never},
		"no Pod":      {reason: "a quota, perhaps", deadline: never, idle: 0},
		"pending":     {reason: "unschedulable, or without its image", pods: []corev1.Pod{pod(1, pending)}, deadline: never, idle: 1},
		"failed":      {reason: "another is to be created", pods: []corev1.Pod{pod(1, failed, finished(9))}, deadline: never, idle: 9},
		"replaced":    {reason: "the newest counts", pods: []corev1.Pod{pod(1, failed, finished(9)), pod(20, running)}, deadline: never, idle: never},
		"terminating": {reason: "a kubelet would have ended it", pods: []corev1.Pod{pod(1, running, terminating(40))}, deadline: 160, why: "NodeLost", says: "its node n is probably lost", idle: never},
		"pending and terminating": {
			reason: "the node was lost before the Pod started",
			pods:   []corev1.Pod{pod(1, pending, terminating(40))}, deadline: 160, why: "NodeLost", idle: never,
		},
		"ended and terminating": {
			reason: "nothing runs any more, and the Job knows",
			pods:   []corev1.Pod{pod(1, failed, terminating(40), finished(30))}, deadline: never, idle: 30,
		},
		"terminating beside one that runs": {
			reason: "the Job goes on",
			pods:   []corev1.Pod{pod(1, running, terminating(40)), pod(1, running)}, deadline: never, idle: never,
		},
		"unreachable": {
			reason: "the Pod tolerates every taint: Kubernetes never deletes it",
			pods:   []corev1.Pod{pod(1, running, conditions("False", "True", ""))}, deadline: 650, why: "NodeLost", says: "has not reported since", idle: never,
		},
		"a sidecar is not ready": {
			reason: "the kubelet reports, so the node is there",
			pods:   []corev1.Pod{pod(1, running, conditions("False", "False", "ContainersNotReady"))}, deadline: never, idle: never,
		},
		"a readiness gate is closed": {
			reason: "the kubelet says so",
			pods:   []corev1.Pod{pod(1, running, conditions("False", "True", "ReadinessGatesNotReady"))}, deadline: never, idle: never,
		},
		"Job does not go": {
			reason: "a finalizer keeps it",
			job: func(j *batchv1.Job) {
				j.DeletionTimestamp, j.Finalizers = new(at(10)), []string{"example.com/x"}
			}, deadline: 130, why: "JobNotDeleted", says: "[example.com/x]", idle: 0,
		},
		"Job is deleted and its Pod runs": {
			reason: "its report may come",
			pods:   []corev1.Pod{pod(1, running)}, job: func(j *batchv1.Job) { j.DeletionTimestamp = new(at(10)) }, deadline: never, idle: never,
		},
		"out of time": {
			reason: "the Job controller does not work: a minute, half a minute's grace and four more",
			pods:   []corev1.Pod{pod(1, running)}, job: func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(60)) },
			deadline: 60 + 30 + 240, why: "TimedOut", says: "kube-controller-manager", idle: never,
		},
		"out of time, started late": {
			reason: "a queue has held it back",
			job: func(j *batchv1.Job) {
				j.Spec.ActiveDeadlineSeconds, j.Status.StartTime = new(int64(60)), new(at(1000))
			}, deadline: 1330, why: "TimedOut", idle: 0,
		},
		"out of time on a lost node": {
			reason: "the node is why",
			pods:   []corev1.Pod{pod(1, running, terminating(90))}, job: func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(60)) },
			deadline: 210, why: "NodeLost", idle: never,
		},
		"ended": {
			reason: "it waits for nothing",
			pods:   []corev1.Pod{pod(1, running, terminating(40))},
			job: func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
			}, deadline: never, idle: never,
		},
	}
	seconds := func(t time.Time) int64 {
		if t.IsZero() {
			return never
		}
		return t.Unix() - 100_000
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", CreationTimestamp: at(0)}}
			if r.job != nil {
				r.job(j)
			}
			got := reading.Observe(j, r.pods, &sighting.Look{Now: at(3).Time})
			if seconds(got.Hang.Deadline) != r.deadline || got.Hang.Reason != r.why || !strings.Contains(got.Hang.Message, r.says) {
				t.Errorf("%s: it hangs from %d on: %s: %s; want %d: %s: …%s…", r.reason, seconds(got.Hang.Deadline), got.Hang.Reason, got.Hang.Message, r.deadline, r.why, r.says)
			}
			if seconds(got.Idle) != r.idle {
				t.Errorf("%s: it is idle since %d, want %d", r.reason, seconds(got.Idle), r.idle)
			}
		})
	}
}
