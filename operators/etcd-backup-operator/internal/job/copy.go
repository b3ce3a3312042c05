package job

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

// BuildCopier builds the Job that start asks for. It has what either place needs, and nothing of
// etcd. serverTime is as for [Build].
func BuildCopier(b *v1beta2.EtcdBackup, start plan.StartCopy, serverTime time.Time, image string) (*batchv1.Job, error) {
	second := b.Spec.Copy()
	if second == nil {
		return nil, fmt.Errorf("build Job %s: there is no spec.copyTo", start.Name)
	}
	job, err := newJob(b, start.Name, copyTask(b, start, serverTime), image)
	if err != nil {
		return nil, err
	}
	job.Labels, job.PodLabels = CopierLabels(b.Name), identityLabels(b)
	job.Annotations[v1beta2.AnnotationCopy], job.Annotations[v1beta2.AnnotationEntry] = start.Hash, start.Backup.Name
	job.Annotations[v1beta2.AnnotationScheduled] = dueOf(&start.Backup).Format(time.RFC3339)
	f := &job.Files
	mountPlace(f, &b.Spec, volumeAWS, awsMount, volumeBackup, backupMount)
	if c := second.PVC; second.StorageType == v1beta2.StoragePVC && b.Spec.StorageType == v1beta2.StoragePVC && c != nil && c.ClaimName == b.Spec.PVC.ClaimName {
		// A Pod names a PVC once.
		f.Mounts = append(f.Mounts, corev1.VolumeMount{Name: volumeBackup, MountPath: copyMount})
	} else {
		mountPlace(f, second, volumeCopy, copyStoreMount, volumeCopy, copyMount)
	}
	return job.Build(), nil
}

// copyTask is what the agent is told that copies.
func copyTask(b *v1beta2.EtcdBackup, start plan.StartCopy, serverTime time.Time) task.Task {
	r, second := &start.Backup, b.Spec.Copy()
	t := newTask(b, plan.StartJob{Scheduled: dueOf(r), Forbidden: start.Forbidden, Pinned: start.Pinned}, serverTime)
	t.Copy = copyTo(second)
	t.Copy.Of = &task.Stored{Location: r.Location, SHA256: r.SHA256, Size: r.Size, Revision: r.Revision, ClusterID: r.ClusterID}
	t.Copy.Segments = b.Spec.ArchiveInterval() > 0 && second.Store() == nil
	t.Compression, t.RecordHash, t.Timeout = "", "", 0
	return t
}

// dueOf is when a backup was due; a record of it has that.
func dueOf(r *v1beta2.BackupRecord) time.Time {
	if r.ScheduledTime == nil {
		return time.Time{}
	}
	return r.ScheduledTime.UTC()
}

// CopierOf returns what plan needs of the Job that copies, except what Observe returns.
func CopierOf(j *batchv1.Job) plan.Copier {
	return plan.Copier{Hash: j.Annotations[v1beta2.AnnotationCopy], Backup: j.Annotations[v1beta2.AnnotationEntry]}
}
