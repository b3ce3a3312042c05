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
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// Names and places of the Pod's volumes.
const (
	volumeTLS    = "etcd-tls"
	volumeAuth   = "etcd-auth"
	volumeAWS    = "aws"
	volumeBackup = "backup"

	volumeScratch = "scratch"
	// archiveScratch bounds what an archiver writes before it is stored: a segment of 4 MiB,
	// or of one transaction, which etcd takes up to 1.5 MiB of, but for deletions of a prefix.
	archiveScratch = "1Gi"
	portArchive    = "archive"

	tlsMount    = "/etc/etcd-backup/tls"
	authMount   = "/etc/etcd-backup/auth"
	awsMount    = "/etc/etcd-backup/aws"
	backupMount = "/backup"
)

// Build builds the Job that start asks for, of an EtcdBackup whose spec is valid. serverTime
// is now, by the API server's clock; zero if it is not known. image is the operator's own.
func Build(b *v1beta2.EtcdBackup, start plan.StartJob, serverTime time.Time, image string) (*batchv1.Job, error) {
	policy := agentpod.Policy(b.Spec.Pod, resources())
	env, err := agentpod.Environment(task.Env, newTask(b, start, serverTime), policy.Resources, policy.Env...)
	if err != nil {
		return nil, fmt.Errorf("build Job %s: %w", start.Name, err)
	}
	job := agentpod.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:      start.Name,
			Namespace: b.Namespace,
			Labels:    Labels(b.Name),
			Annotations: map[string]string{
				v1beta2.AnnotationBackup:    b.Name,
				v1beta2.AnnotationScheduled: start.Scheduled.UTC().Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{agentpod.Owner("EtcdBackup", b)},
		},
		PodAnnotations: map[string]string{v1beta2.AnnotationBackup: b.Name},
		PodLabels:      agentpod.IdentityLabels(b.Spec.Store()),
		Policy:         policy,
		Container:      task.Container,
		Image:          image,
		Command:        "etcd-backup-agent",
		Env:            env,
		Files:          files(b, start),
		Timeout:        b.Spec.Timeout(),
	}
	return job.Build(), nil
}

// BuildArchiver builds the Job that start asks for. Its Pod runs until it is deleted: the
// container is started again when it ends, and another Pod is made where its node is lost.
func BuildArchiver(b *v1beta2.EtcdBackup, start plan.StartArchiver, image string) (*batchv1.Job, error) {
	policy := agentpod.Policy(b.Spec.Pod, resources())
	f := files(b, start.StartJob)
	limit := resource.MustParse(archiveScratch)
	f.Mount(volumeScratch, task.ArchiveDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}})
	env, err := agentpod.Environment(task.Env, archiveTask(b, start), policy.Resources, policy.Env...)
	if err != nil {
		return nil, fmt.Errorf("build Job %s: %w", start.Name, err)
	}
	job := agentpod.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        start.Name,
			Namespace:   b.Namespace,
			Labels:      ArchiverLabels(b.Name),
			Annotations: map[string]string{v1beta2.AnnotationBackup: b.Name, v1beta2.AnnotationArchive: start.Hash},

			OwnerReferences: []metav1.OwnerReference{agentpod.Owner("EtcdBackup", b)},
		},
		PodAnnotations: map[string]string{v1beta2.AnnotationBackup: b.Name},
		PodLabels:      agentpod.IdentityLabels(b.Spec.Store()),
		Policy:         policy,
		Container:      task.Container,
		Image:          image,
		Command:        "etcd-backup-agent",
		Env:            env,
		Ports:          []corev1.ContainerPort{{Name: portArchive, ContainerPort: task.ArchivePort, Protocol: corev1.ProtocolTCP}},
		Files:          f,
	}
	j := job.Build()
	j.Spec.BackoffLimit = new(int32(math.MaxInt32))
	j.Spec.PodFailurePolicy = nil // it would not let the container be started again
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	return j, nil
}

// archiveTask is what an archiver is told.
func archiveTask(b *v1beta2.EtcdBackup, start plan.StartArchiver) task.Task {
	t := newTask(b, start.StartJob, time.Time{})
	return task.Task{
		Endpoints: t.Endpoints, TLSDir: t.TLSDir, AuthDir: t.AuthDir, AuthSecret: t.AuthSecret, Cluster: t.Cluster, OwnAuth: t.OwnAuth,
		Forbidden: t.Forbidden, Pinned: t.Pinned, Store: t.Store, PVC: t.PVC, RecordHash: t.RecordHash, Repeated: true,
		Backup: t.Backup, UID: t.UID, Archive: &task.Archive{Interval: b.Spec.ArchiveInterval()},
	}
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
	switch s := b.Spec; {
	case s.Store() != nil:
		t.Store = agentpod.Store(s.Store(), awsMount)
	case s.StorageType == v1beta2.StoragePVC && s.PVC != nil:
		t.PVC = agentpod.PVC(s.PVC, backupMount)
	}
	return t
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
	switch s := b.Spec; {
	case s.Store() != nil:
		f.Store(volumeAWS, s.Store(), awsMount, false)
	case s.StorageType == v1beta2.StoragePVC && s.PVC != nil:
		f.Claim(volumeBackup, s.PVC.ClaimName, backupMount, false)
	}
	return f
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
