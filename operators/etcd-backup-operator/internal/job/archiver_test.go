package job

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

func buildArchiver(t *testing.T, file string) *batchv1.Job {
	t.Helper()
	b := backup(t, file)
	start := plan.StartArchiver{Name: plan.ArchiverName(b), Hash: "hash", StartJob: startOf(b)}
	j, err := BuildArchiver(b, start, image)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The Job that records an archive is as the golden file says: it has no token, no deadline and no
// limit of failures, and its container is started again.
func TestArchiver(t *testing.T) {
	for _, file := range manifesttest.Files(t, "archiver") {
		t.Run(file, func(t *testing.T) {
			j := buildArchiver(t, file)
			manifesttest.Golden(t, file, "archiver", j)
			pod := j.Spec.Template
			manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
			if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
				t.Error("the Pod gets a token of the API server")
			}
			var got task.Task
			if err := json.Unmarshal([]byte(pod.Spec.Containers[0].Env[0].Value), &got); err != nil {
				t.Fatal(err)
			}
			if got.Archive == nil || got.Archive.Interval != 5*time.Second || !got.Repeated || got.Timeout != 0 || got.MaxBackups != 0 || !got.Time.IsZero() {
				t.Errorf("it is told %+v", got)
			}
		})
	}
}

func TestObserveArchiver(t *testing.T) {
	j := buildArchiver(t, manifesttest.Files(t, "archiver")[0])
	j.UID = "uid"
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.7",
			ContainerStatuses: []corev1.ContainerStatus{{Name: task.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	gone := *pod.DeepCopy()
	gone.DeletionTimestamp, gone.Status.PodIP = new(metav1.Now()), "10.0.0.8"
	want := plan.Archiver{Name: j.Name, UID: "uid", Hash: "hash"}
	got, address, _ := ObserveArchiver(j, []corev1.Pod{gone, pod}, &sighting.Look{Now: due})
	if diff := cmp.Diff(want, got); diff != "" || address != "10.0.0.7" {
		t.Error(address, diff)
	}
	if _, address, _ := ObserveArchiver(j, []corev1.Pod{gone}, &sighting.Look{Now: due}); address != "" {
		t.Errorf("a Pod that is deleted is asked at %s", address)
	}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	if got, _, _ := ObserveArchiver(j, nil, &sighting.Look{Now: due}); !got.Ended {
		t.Error("it has not ended")
	}
}
