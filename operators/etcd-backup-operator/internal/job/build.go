package job

import (
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Names and places of the Pod's volumes.
const (
	volumeTLS    = "etcd-tls"
	volumeAuth   = "etcd-auth"
	volumeAWS    = "aws"
	volumeBackup = "backup"
	volumeCopy   = "copy"

	volumeScratch = "scratch"
	// archiveScratch bounds what an archiver writes before it is stored: a segment of 4 MiB,
	// or of one transaction, which etcd takes up to 1.5 MiB of, but for deletions of a prefix.
	archiveScratch = "1Gi"
	portArchive    = "archive"

	tlsMount    = "/etc/etcd-backup/tls"
	authMount   = "/etc/etcd-backup/auth"
	awsMount    = "/etc/etcd-backup/aws"
	backupMount = "/backup"

	copyStoreMount = "/etc/etcd-backup/copy"
	copyMount      = "/copy"
)

// Build builds the Job that start asks for, of an EtcdBackup whose spec is valid. serverTime
// is now, by the API server's clock; zero if it is not known. image is the operator's own.
func Build(b *v1beta2.EtcdBackup, start plan.StartJob, serverTime time.Time, image string) (*batchv1.Job, error) {
	job, err := newJob(b, start.Name, newTask(b, start, serverTime), image)
	if err != nil {
		return nil, err
	}
	job.Labels, job.PodLabels = Labels(b.Name), agentpod.IdentityLabels(b.Spec.Store())
	job.Annotations[v1beta2.AnnotationScheduled] = start.Scheduled.UTC().Format(time.RFC3339)
	job.Files, job.Timeout = files(b, start), b.Spec.Timeout()
	return job.Build(), nil
}

// newJob is what all Jobs of an EtcdBackup have in common, with the agent's task.
func newJob(b *v1beta2.EtcdBackup, name string, of task.Task, image string) (agentpod.Job, error) {
	policy := agentpod.Policy(b.Spec.Pod, resources())
	env, err := agentpod.Environment(task.Env, of, policy.Resources, policy.Env...)
	if err != nil {
		return agentpod.Job{}, fmt.Errorf("build Job %s: %w", name, err)
	}
	return agentpod.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: b.Namespace,
			Annotations:     map[string]string{v1beta2.AnnotationBackup: b.Name},
			OwnerReferences: []metav1.OwnerReference{agentpod.Owner("EtcdBackup", b)},
		},
		PodAnnotations: map[string]string{v1beta2.AnnotationBackup: b.Name},
		Policy:         policy,
		Container:      task.Container,
		Image:          image,
		Command:        "etcd-backup-agent",
		Env:            env,
	}, nil
}

// BuildArchiver builds the Job that start asks for. Its Pod runs until it is deleted: the
// container is started again when it ends, and another Pod is made where its node is lost.
func BuildArchiver(b *v1beta2.EtcdBackup, start plan.StartArchiver, image string) (*batchv1.Job, error) {
	job, err := newJob(b, start.Name, archiveTask(b, start), image)
	if err != nil {
		return nil, err
	}
	job.Labels, job.PodLabels = ArchiverLabels(b.Name), identityLabels(b)
	job.Annotations[v1beta2.AnnotationArchive] = start.Hash
	job.Ports = []corev1.ContainerPort{{Name: portArchive, ContainerPort: task.ArchivePort, Protocol: corev1.ProtocolTCP}}
	job.Files = files(b, start.StartJob)
	if c := b.Spec.Copy(); c != nil && c.Store() != nil {
		// Without its Secret changes are recorded all the same. The volume of a PVC could keep
		// the Pod from starting: there the archive is copied with each backup.
		job.Files.Store(volumeCopy, c.Store(), copyStoreMount, true)
	}
	limit := resource.MustParse(archiveScratch)
	job.Files.Mount(volumeScratch, task.ArchiveDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}})
	j := job.Build()
	j.Spec.BackoffLimit = new(int32(math.MaxInt32))
	j.Spec.PodFailurePolicy = nil // it would not let the container be started again
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	return j, nil
}

// archiveTask is what an archiver is told.
func archiveTask(b *v1beta2.EtcdBackup, start plan.StartArchiver) task.Task {
	t := newTask(b, start.StartJob, time.Time{})
	archive := task.Task{
		Endpoints: t.Endpoints, TLSDir: t.TLSDir, AuthDir: t.AuthDir, AuthSecret: t.AuthSecret, Cluster: t.Cluster, OwnAuth: t.OwnAuth,
		Forbidden: t.Forbidden, Pinned: t.Pinned, Store: t.Store, PVC: t.PVC, RecordHash: t.RecordHash, Repeated: true,
		Backup: t.Backup, UID: t.UID, Archive: &task.Archive{Interval: b.Spec.ArchiveInterval()},
	}
	if c := b.Spec.Copy(); c != nil && c.Store() != nil {
		archive.Copy = copyTo(c)
	}
	return archive
}

func newTask(b *v1beta2.EtcdBackup, start plan.StartJob, serverTime time.Time) task.Task {
	t := task.Task{
		Endpoints:   start.Endpoints,
		Compression: string(b.Spec.Packing()),
		RecordHash:  b.Spec.RecordHash,
		Overwrite:   b.Spec.Overwrites(),
		Repeated:    b.Spec.Repeated(),
		Time:        start.Scheduled.UTC(),
		Timeout:     b.Spec.Timeout(),
		Started:     start.Started.UTC(),
		RetryUntil:  start.RetryUntil.UTC(),
		ServerTime:  serverTime.UTC(),
		MaxBackups:  b.Spec.MaxBackups(),
		MaxAge:      b.Spec.MaxAge(),
		Backup:      b.Namespace + "/" + b.Name,
		UID:         string(b.UID),
		Cluster:     start.Cluster,
		Forbidden:   start.Forbidden,
		Pinned:      start.Pinned,
	}
	t.OverwriteAlways = b.Spec.OverwritesAlways()
	if n := b.Spec.MinBackups(); n > 1 { // one is the agent's default
		t.MinBackups = n
	}
	if start.TLSSecret != "" {
		t.TLSDir = tlsMount
	}
	if start.AuthSecret != "" {
		t.AuthDir, t.AuthSecret, t.OwnAuth = authMount, start.AuthSecret, start.OwnAuth
	}
	t.Store, t.PVC = place(&b.Spec, awsMount, backupMount)
	return t
}

// place is where a spec stores, with what is mounted for it.
func place(s *v1beta2.BackupSpec, storeMount, claimMount string) (*agent.Store, *agent.PVC) {
	switch {
	case s.Store() != nil:
		return agentpod.Store(s.Store(), storeMount), nil
	case s.StorageType == v1beta2.StoragePVC && s.PVC != nil:
		return nil, agentpod.PVC(s.PVC, claimMount)
	}
	return nil, nil
}

// copyTo is the second place of a backup, whose spec there is c.
func copyTo(c *v1beta2.BackupSpec) *task.Copy {
	to := &task.Copy{}
	to.Store, to.PVC = place(c, copyStoreMount, copyMount)
	return to
}

// files are what the agent needs to read from the source and to write to the store.
func files(b *v1beta2.EtcdBackup, start plan.StartJob) agentpod.Files {
	var f agentpod.Files
	if start.TLSSecret != "" {
		f.Secret(volumeTLS, start.TLSSecret, tlsMount, false)
	}
	if start.AuthSecret != "" {
		// Named before authentication is enabled, it might not exist yet. The agent says
		// so if it is needed.
		f.Secret(volumeAuth, start.AuthSecret, authMount, true)
	}
	mountPlace(&f, &b.Spec, volumeAWS, awsMount, volumeBackup, backupMount)
	return f
}

// mountPlace mounts what a place needs.
func mountPlace(f *agentpod.Files, s *v1beta2.BackupSpec, store, storeMount, claim, claimMount string) {
	switch {
	case s.Store() != nil:
		f.Store(store, s.Store(), storeMount, false)
	case s.StorageType == v1beta2.StoragePVC && s.PVC != nil:
		f.Claim(claim, s.PVC.ClaimName, claimMount, false)
	}
}

// identityLabels are those that either place needs.
func identityLabels(b *v1beta2.EtcdBackup) map[string]string {
	if labels := agentpod.IdentityLabels(b.Spec.Store()); labels != nil || b.Spec.CopyTo == nil {
		return labels
	}
	return agentpod.IdentityLabels(b.Spec.Copy().Store())
}

// resources are what an agent needs if the user says nothing. No CPU limit: it would
// only make backups slower. The memory is what the buffers of an upload take, and as
// much again.
func resources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
}
