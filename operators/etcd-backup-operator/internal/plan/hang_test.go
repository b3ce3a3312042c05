package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// hangsAt is a Job whose Pod is on a lost node, which is past doubt so long after the Job
// was created.
func hangsAt(later time.Duration) func(*Job) {
	return func(j *Job) {
		j.Deadline = j.Created.Add(later)
		j.HangReason, j.HangMessage = "NodeLost", "the Pod p is still terminating, and its grace period ended at 2026-01-01T10:05:00Z: its node n is probably lost"
	}
}

// isPending is a Job whose Pod has never started.
func isPending(j *Job) {
	isWaiting(j)
	j.Idle = j.Created
}

// A Job that makes no progress is given up: recorded, deleted, and only then followed by
// another.
func TestHang(t *testing.T) {
	const (
		minute  = time.Minute
		hour    = time.Hour
		running = v1beta2.BackupRunning
		pending = v1beta2.BackupPending
		planned = v1beta2.BackupScheduled
	)
	hourly, counting := every(hour), counted("every 1h0m0s", 0)
	asAdmin := spec(func(s *specOf) { s.Pod = &v1beta2.AgentPod{ServiceAccountName: "admin"} })
	manyPending := func(s *scene) {
		for i := range maxJobs {
			started(time.Duration(i)*hour, isPending)(s)
		}
	}
	rows := map[string]struct {
		reason string
		o      Observation
		want   decided
	}{
		"node lost": {
			reason: "it may come back until then",
			o:      observe(hourly, counting, started(0, hangsAt(8*minute)), after(5*minute)),
			want:   decided{Reason: "BackupStarted", RequeueAfter: 3 * minute, Phase: running},
		},
		"node lost for too long": {
			reason: "the failure is seen at once: in the history, as an event, and in the condition",
			o:      observe(hourly, counting, started(0, hangsAt(8*minute)), after(8*minute)),
			want:   decided{Reason: "Scheduled", RequeueAfter: 52 * minute, Phase: planned, Events: []string{"NodeLost"}},
		},
		"node lost, recorded": {
			reason: "its Job would start a Pod when the node comes back",
			o:      observe(hourly, before(0, "NodeLost"), counting, job(0, hangsAt(8*minute)), after(8*minute)),
			want:   decided{Action: remove(0), Reason: "JobStopped", RequeueAfter: next, Phase: planned},
		},
		"node lost, the next is due": {
			reason: "the record comes first, then the Job goes, and then the next is started",
			o:      observe(hourly, counting, started(0, hangsAt(8*minute)), after(hour)),
			want:   decided{Reason: "JobStopping", RequeueAfter: hour, Phase: pending, Events: []string{"NodeLost"}},
		},
		"node lost, recorded, the next is due": {
			reason: "as above",
			o:      observe(hourly, before(0, "NodeLost"), counting, job(0, hangsAt(8*minute)), after(hour)),
			want:   decided{Action: remove(0), Reason: "JobStopped", RequeueAfter: next, Phase: pending},
		},
		"node lost, recorded and deleted": {
			reason: "the schedule goes on",
			o:      observe(hourly, before(0, "NodeLost"), counting, after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"node lost, recorded, the Job does not go": {
			reason: "nothing more can be done about it, and it starts no Pod",
			o:      observe(hourly, before(0, "NodeLost"), counting, job(0, hangsAt(8*minute), isDeleting), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"node lost, one-shot": {
			reason: "a Pod of it may still run: it is not started again",
			o:      observe(started(0, hangsAt(8*minute)), after(8*minute)),
			want:   decided{Reason: "NodeLost", Phase: v1beta2.BackupFailed, Events: []string{"NodeLost"}},
		},
		"node lost after the report": {
			reason: "the snapshot is stored, whatever becomes of the Pod",
			o:      observe(hourly, counting, started(0, reported, hangsAt(8*minute)), after(hour-minute)),
			want:   decided{Reason: "Scheduled", RequeueAfter: minute, Phase: planned, Events: []string{"BackupSucceeded"}},
		},
		"Job that does not go": {
			reason: "somebody deleted it, and a finalizer keeps it",
			o:      observe(hourly, counting, started(0, hangsAt(8*minute), isDeleting), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"NodeLost"}},
		},
		"Pod pending": {
			reason: "nothing else is due: it starts by itself once that is fixed",
			o:      observe(hourly, counting, started(0, isPending), after(50*minute)),
			want:   decided{Reason: "PodNotStarting", RequeueAfter: 10 * minute, Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending, the next is due": {
			reason: "it is a failure, and what is due is not held up",
			o:      observe(hourly, counting, started(0, isPending), after(hour)),
			want:   decided{Reason: "JobStopping", RequeueAfter: hour, Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending, the next is refused": {
			reason: "it was accepted, and there is nothing to make room for",
			o:      observe(hourly, counting, asAdmin, creators(creator.Check{Missing: "there is no policy"}), started(0, isPending), after(hour)),
			want:   decided{Reason: "CreatorNotChecked", RequeueAfter: 6 * minute, Phase: running, Events: []string{"CreatorNotChecked"}},
		},
		"Pod pending, the next might be refused": {
			reason: "the same",
			o:      observe(hourly, counting, asAdmin, creators(creator.Check{}), started(0, isPending), after(hour)),
			want:   decided{Reason: "PodNotStarting", RequeueAfter: retry, Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending for a moment": {
			reason: "with a short interval an image could never be pulled",
			o:      observe(every(minute), counted("every 1m0s", 0), started(0, isPending), after(14*minute+30*time.Second)),
			want:   decided{Reason: "PodNotStarting", RequeueAfter: 30 * time.Second, Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending, suspended": {
			reason: "nothing is due",
			o:      observe(hourly, suspend, started(0, isPending), after(5*hour)),
			want:   decided{Reason: "PodNotStarting", Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending, one-shot": {
			reason: "nothing waits for it",
			o:      observe(started(0, isPending), after(72*hour)),
			want:   decided{Reason: "PodNotStarting", Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pod pending, Allow": {
			reason: "it holds up nothing",
			o:      observe(hourly, concurrency(v1beta2.AllowConcurrent), counting, started(0, isPending), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"Pods pending, as many as there may be": {
			reason: "now they hold up the next one",
			o:      observe(hourly, concurrency(v1beta2.AllowConcurrent), counted("every 1h0m0s", 7*hour), manyPending, after(8*hour)),
			want: decided{Reason: "JobStopping", RequeueAfter: hour, Phase: pending,
				Events: []string{"PodNotStarting", "PodNotStarting", "PodNotStarting", "PodNotStarting", "PodNotStarting", "PodNotStarting", "PodNotStarting", "PodNotStarting"}},
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			d := noted(r.o)
			got := decided{Action: timeless(d.Action), Reason: d.Reason, RequeueAfter: d.RequeueAfter, Phase: d.Status.Phase}
			for _, e := range d.Events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", r.reason, diff, d.Message)
			}
			for _, broken := range oracle(r.o, d) {
				t.Errorf("%s: %s", r.reason, broken)
			}
		})
	}
}

// What is given up is told wherever somebody may look.
func TestGivenUpIsSeen(t *testing.T) {
	o := observe(every(time.Hour), counted("every 1h0m0s", 0), started(0, hangsAt(8*time.Minute)), after(8*time.Minute))
	d := noted(o)
	const message = "the Pod p is still terminating, and its grace period ended at 2026-01-01T10:05:00Z: its node n is probably lost; a snapshot might still be stored"
	if len(d.Recorded) != 1 || d.Recorded[0].Reason != "NodeLost" || d.Recorded[0].Message != message || d.Recorded[0].Succeeded {
		t.Errorf("recorded is %+v", d.Recorded)
	}
	if len(d.Status.History) != 1 || len(d.Status.Active) != 0 || d.Status.Reason != "NodeLost: "+message {
		t.Errorf("the status is %+v", d.Status)
	}
	if c := meta.FindStatusCondition(d.Status.Conditions, v1beta2.ConditionFailed); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "NodeLost" {
		t.Errorf("the condition Failed is %+v", c)
	}
	if len(d.Events) != 1 || !d.Events[0].Warning {
		t.Errorf("the events are %+v", d.Events)
	}
}
