package build

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
)

// What the agent's containers have in common.

// command is the agent's program in the operator's image.
const command = "etcd-restore-agent"

// Names and places of volumes.
const (
	volumeStore   = "restore-store"
	volumeBackup  = "restore-backup"
	volumeScratch = "restore-scratch"
	volumePermit  = "restore-permit"

	storeMount   = "/etc/etcd-restore/aws"
	backupMount  = "/backup"
	scratchMount = "/scratch"
	permitMount  = "/etc/etcd-restore/permit"
	permitFile   = "permit"
	permitPath   = permitMount + "/" + permitFile
)

// portProgress is the name of the port where the agent tells its progress.
const portProgress = "progress"

// ports are those of the agent's container.
func ports() []corev1.ContainerPort {
	return []corev1.ContainerPort{{Name: portProgress, ContainerPort: task.ProgressPort, Protocol: corev1.ProtocolTCP}}
}

// resources are what an agent needs if nobody says anything. There are no limits, which
// would only make restores slower: beside some 50 MiB, what the agent takes of memory is
// the page cache of the database, which the kernel takes back. A limit below the
// database's size makes it read that from the disk again and again.
func resources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}

// newTask is what the tasks of an EtcdRestore have in common.
func newTask(r *v1beta2.EtcdRestore, s plan.Source) task.Task {
	t := task.Task{
		SkipHashCheck: r.Spec.SkipHashCheck,
		Revision:      cmp.Or(r.Spec.Revision, r.Status.TargetRevision),
		Prefixes:      r.Spec.Prefixes,

		KeepLeasedKeys: r.Spec.LeasedKeys == v1beta2.LeasedKeysKeep,
		Restore:        r.Namespace + "/" + r.Name,
		UID:            string(r.UID),
	}
	if at := r.Spec.Time; at != nil && t.Revision == 0 {
		t.Time = at.UTC()
	}
	if r.Spec.BackupRef == nil {
		// Else the EtcdBackup knows which cluster it has stored, and plan compares.
		t.ClusterID = r.Spec.ClusterID
	}
	switch {
	case s.Store != nil:
		t.Store = agentpod.Store(s.Store, storeMount)
		t.Catalogue = r.Spec.VerifyOnly && s.Store.Prefix != ""
	case s.PVC != nil:
		t.PVC = agentpod.PVC(s.PVC, backupMount)
	}
	return t
}

// mountSource mounts what is needed to read the snapshot.
func mountSource(f *agentpod.Files, s plan.Source, optional bool) {
	switch {
	case s.Store != nil:
		f.Store(volumeStore, s.Store, storeMount, optional)
	case s.PVC != nil:
		f.Claim(volumeBackup, s.PVC.ClaimName, backupMount, true)
	}
}
