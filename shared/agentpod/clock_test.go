package agentpod

import (
	"encoding/json"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// Kubelets, nodes' controllers and API servers date what they report by clocks of their own. No Job is stopped early
// by a slow clock, and none is left to hang by a fast one: what counts is when the operator first saw the state.
func TestForeignClocks(t *testing.T) {
	start := time.Unix(100_000, 0)
	pod := func(phase corev1.PodPhase, at metav1.Time) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", CreationTimestamp: at}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase}}
	}
	rows := map[string]struct {
		reason string
		// state changes the Job, and returns its Pod or nil; at is now, by another machine's clock.
		state func(j *batchv1.Job, at metav1.Time) *corev1.Pod
		// deadline and idle are how long after the first look the Job hangs, and has had no running Pod; waits is
		// after how long it is reported that its Pod does not start. Zero: never.
		deadline, idle, waits time.Duration
	}{
		"a Pod is being deleted": {"its grace period, and two minutes", func(_ *batchv1.Job, at metav1.Time) *corev1.Pod {
			p := pod(corev1.PodRunning, at)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(at.Add(30*time.Second))), new(int64(30))
			return p
		}, 30*time.Second + hangGrace, never, 0},
		"a node is unreachable": {"ten minutes", func(_ *batchv1.Job, at metav1.Time) *corev1.Pod {
			p := pod(corev1.PodRunning, at)
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			}
			return p
		}, unreachableGrace, never, 0},
		"a Job is being deleted": {"two minutes", func(j *batchv1.Job, at metav1.Time) *corev1.Pod {
			j.DeletionTimestamp = &at
			return nil
		}, hangGrace, 0, 0},
		"a Job has a deadline": {"its minute, and what it takes to stop", func(j *batchv1.Job, at metav1.Time) *corev1.Pod {
			j.Status.StartTime, j.Spec.ActiveDeadlineSeconds = &at, new(int64(60))
			return pod(corev1.PodRunning, at)
		}, time.Minute + 30*time.Second + 2*hangGrace, never, 0},
		"a Job has no Pod": {"the Job waits since it was created, at the latest from then on", func(*batchv1.Job, metav1.Time) *corev1.Pod { return nil }, never, 0, slowStart},
		"a Pod is not scheduled": {"it waits since it was created or placed, at the latest from then on", func(_ *batchv1.Job, at metav1.Time) *corev1.Pod {
			return pod(corev1.PodPending, at)
		}, never, 0, slowStart},
		"a Pod is slow to start on its node": {"it waits since it was created or placed, at the latest from then on", func(_ *batchv1.Job, at metav1.Time) *corev1.Pod {
			p := pod(corev1.PodPending, at)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}}
			return p
		}, never, 0, slowStart},
		"a Pod has failed": {"the Job waits for another one from then on", func(_ *batchv1.Job, at metav1.Time) *corev1.Pod {
			p := pod(corev1.PodFailed, at)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at},
			}}}
			return p
		}, never, 0, 0},
	}
	for name, row := range rows {
		for clock, skew := range map[string]time.Duration{"slow": -time.Hour, "right": 0, "fast": time.Hour} {
			t.Run(name+", "+clock, func(t *testing.T) {
				at := metav1.NewTime(start.Add(skew))
				j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "j", CreationTimestamp: at}}
				var pods []corev1.Pod
				if p := row.state(j, at); p != nil {
					pods = append(pods, *p)
				}
				var m sighting.Memory
				look := func(after time.Duration) State[result] {
					l := m.Look(types.NamespacedName{Name: "x"}, start.Add(after))
					defer l.Keep()
					return reading.Observe(j, pods, l)
				}
				look(0)
				got := look(slowStart / 2)
				wantAfter(t, "it hangs", row.reason, got.Hang.Deadline, start, row.deadline)
				wantAfter(t, "it is idle", row.reason, got.Idle, start, row.idle)
				// A restarted operator sees an old state for the first time. It must not withdraw the warning.
				if isOld := skew < 0 && row.waits > 0; isOld != (got.Waiting != "") || row.waits > 0 && !isOld && got.RequeueAfter == 0 {
					t.Errorf("it waits for %q, and looks again after %s, want a warning at once: %t: %s", got.Waiting, got.RequeueAfter, isOld, row.reason)
				}
				if got := look(slowStart); (got.Waiting != "") != (row.waits > 0) {
					t.Errorf("after %s it waits for %q: %s", slowStart, got.Waiting, row.reason)
				}
			})
		}
	}
}

const never = time.Duration(-1)

func wantAfter(t *testing.T, what, reason string, got, start time.Time, want time.Duration) {
	t.Helper()
	if want == never && got.IsZero() || want != never && got.Equal(start.Add(want)) {
		return
	}
	t.Errorf("%s from %s after the first look on, want %s: %s", what, got.Sub(start), want, reason)
}

// A Job whose end an operator has witnessed has just ended, whatever the clock of its node says. Whether the operator
// has waited long enough for a late report counts from its first look at the end.
func TestWitnessedEnd(t *testing.T) {
	start := time.Unix(100_000, 0)
	for name, row := range map[string]struct {
		reason              string
		looks               []time.Duration // of which those from the end on show a Job that has ended
		end                 time.Duration
		witnessed, finished time.Duration
		failure             *agent.Failure // that a Pod has reported before the second look
	}{
		"the operator saw it running":    {"so it has ended between two looks", []time.Duration{0, time.Minute, 2 * time.Minute}, time.Minute, time.Minute, time.Minute, nil},
		"an attempt has failed":          {"the failure was not the end", []time.Duration{0, time.Minute, 2 * time.Minute}, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute, &agent.Failure{Reason: "Unreachable"}},
		"an attempt has failed for good": {"the Job makes no other attempt", []time.Duration{0, time.Minute, 2 * time.Minute}, 2 * time.Minute, time.Minute, 2 * time.Minute, &agent.Failure{Reason: "Refused", Permanent: true}},
		"the operator was not there":     {"it might have ended long ago", []time.Duration{time.Minute, 2 * time.Minute}, 0, never, time.Minute, nil},
		"it still runs":                  {"there is no end", []time.Duration{0, time.Minute}, time.Hour, never, never, nil},
	} {
		for clock, skew := range map[string]time.Duration{"slow": -time.Hour, "fast": time.Hour} {
			t.Run(name+", "+clock, func(t *testing.T) {
				var m sighting.Memory
				var got State[result]
				for _, after := range row.looks {
					j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "j", CreationTimestamp: metav1.NewTime(start.Add(skew))}}
					if after >= row.end {
						j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(row.end + skew))}}
					}
					l := m.Look(types.NamespacedName{Name: "x"}, start.Add(after))
					var pods []corev1.Pod
					if row.failure != nil && after >= time.Minute {
						pods = append(pods, reportedBy(t, row.failure))
					}
					got = reading.Observe(j, pods, l)
					l.Keep()
				}
				wantAfter(t, "its end is witnessed", row.reason, got.Witnessed, start, row.witnessed)
				wantAfter(t, "it has ended", row.reason, got.Finished, start, row.finished)
			})
		}
	}
}

// reportedBy returns a Pod whose agent has reported a failure.
func reportedBy(t *testing.T, f *agent.Failure) corev1.Pod {
	t.Helper()
	report, err := json.Marshal(result{Failure: f})
	if err != nil {
		t.Fatal(err)
	}
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}, Status: corev1.PodStatus{
		Phase: corev1.PodFailed,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: string(report)},
		}}},
	}}
}
