package job

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

func buildCopier(t *testing.T, b *v1beta2.EtcdBackup) *batchv1.Job {
	t.Helper()
	at := metav1.NewTime(due)
	start := plan.StartCopy{Name: plan.CopierName(b), Hash: "hash", Forbidden: []string{"00000000000000aa"}, Backup: v1beta2.BackupRecord{
		Name: "entry", ScheduledTime: &at, Succeeded: true, Location: "s3://mybucket/etcd.backup_v60_2026-01-02-03:30:00", SHA256: "abc", Size: 5, Revision: 60, ClusterID: "00000000000000cc",
	}}
	j, err := BuildCopier(b, start, serverTime, image)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The Job that copies is as the golden file says: it has what the two places need, and neither a
// token nor anything of etcd.
func TestCopier(t *testing.T) {
	for _, file := range manifesttest.Files(t, "copier") {
		t.Run(file, func(t *testing.T) {
			b := backup(t, file)
			before := b.DeepCopy()
			j := buildCopier(t, b)
			manifesttest.Golden(t, file, "copier", j)
			pod := j.Spec.Template
			manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
			if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
				t.Error("the Pod gets a token of the API server")
			}
			var got task.Task
			if err := json.Unmarshal([]byte(pod.Spec.Containers[0].Env[0].Value), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Endpoints) > 0 || got.TLSDir != "" || got.AuthDir != "" || got.Archive != nil {
				t.Errorf("it is told of etcd: %+v", got)
			}
			c := got.Copy
			if c == nil || c.Of == nil || c.Of.Location == "" || c.Of.ClusterID == "" || (c.Store == nil) == (c.PVC == nil) || c.Segments != (c.PVC != nil) {
				t.Errorf("it is told %+v", c)
			}
			if !got.Time.Equal(due) || !got.ServerTime.Equal(serverTime) || !got.Repeated || got.MaxBackups != b.Spec.MaxBackups() {
				t.Errorf("it is told %+v", got)
			}
			if diff := cmp.Diff(before, b); diff != "" {
				t.Errorf("the EtcdBackup was changed:\n%s", diff)
			}
		})
	}
}

// The Job of the backup itself is the same with and without copies: nothing of the second place can
// keep it from running.
func TestCopiesAreNothingToTheBackup(t *testing.T) {
	for _, file := range manifesttest.Files(t, "copier") {
		b := backup(t, file)
		with := build(t, b)
		b.Spec.CopyTo = nil
		if diff := cmp.Diff(build(t, b), with); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}

// Copies on the volume of the backups themselves: a Pod has it once.
func TestCopyOnTheSameVolume(t *testing.T) {
	b := backup(t, "pvc.backup.yaml")
	b.Spec.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StoragePVC, PVC: &v1beta2.PVCSource{ClaimName: b.Spec.PVC.ClaimName, Path: "copies/etcd"}}
	pod := buildCopier(t, b).Spec.Template.Spec
	if len(pod.Volumes) != 1 || len(pod.Containers[0].VolumeMounts) != 2 {
		t.Errorf("volumes %+v, mounts %+v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
}

// An archiver gets along without the second place, and records without a volume for it.
func TestArchiverWithCopies(t *testing.T) {
	b := backup(t, "copy-pvc.copier.yaml")
	j, err := BuildArchiver(b, plan.StartArchiver{Name: "x", StartJob: startOf(b)}, image)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range j.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			t.Errorf("it waits for the volume of PVC %s", v.PersistentVolumeClaim.ClaimName)
		}
	}
	if tk := archiveTask(b, plan.StartArchiver{}); tk.Copy != nil {
		t.Errorf("it is told %+v", tk.Copy)
	}
	if tk := archiveTask(backup(t, "archive-copied.archiver.yaml"), plan.StartArchiver{}); tk.Copy == nil || tk.Copy.Store == nil || tk.Copy.Of != nil {
		t.Errorf("it is told %+v", tk.Copy)
	}
}

func TestObserveCopier(t *testing.T) {
	j := buildCopier(t, backup(t, manifesttest.Files(t, "copier")[0]))
	j.UID = "uid"
	if c := CopierOf(j); c.Hash != "hash" || c.Backup != "entry" {
		t.Errorf("hash %q and backup %q, want hash and entry", c.Hash, c.Backup)
	}
	seen, _ := Observe(j, nil, &sighting.Look{Now: due})
	if seen.Name != j.Name || seen.UID != "uid" || !seen.Scheduled.Equal(due) || !seen.Running {
		t.Errorf("it is %+v", seen)
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	ended(0, `{"location": "abs://mycontainer/etcd.backup_v60"}`)(&pod)
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(due)}}
	seen, _ = Observe(j, []corev1.Pod{pod}, &sighting.Look{Now: due.Add(time.Second)})
	if seen.Running || seen.Result == nil || seen.Result.Location != "abs://mycontainer/etcd.backup_v60" {
		t.Errorf("it is %+v", seen)
	}
}
