package build

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

// Seed builds the Pod of the first member of a restored cluster. image is the
// operator's own, which also holds the launcher.
//
// It prepares its database beside members that serve, so it is not a member yet: it has the
// role of a seed, which neither the client Service nor the PodDisruptionBudget select, and
// without the label of its owner no other Service of the cluster selects it either. That
// comes with the start permit.
//
// etcd's container starts as soon as the database is prepared, while members serve, so that
// no time is lost when they are stopped. Its launcher waits for the permit of the restore, and
// takes no other.
func Seed(r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, create plan.CreateSeed, image string) (*corev1.Pod, error) {
	pod, err := member.NewPod(c, member.Options{
		Name: create.Name, Version: create.Version, LauncherImage: image, Role: v1beta2.RoleSeed,
		Restore: &launcher.Restore{Name: r.Namespace + "/" + r.Name, UID: string(r.UID), PermitFile: permitPath},
	})
	if err != nil {
		return nil, err
	}
	policy := agentpod.Policy(r.Spec.Pod, initResources(c))
	delete(pod.Labels, v1beta2.LabelOwner)
	maps.Copy(pod.Labels, agentpod.IdentityLabels(create.Source.Store))
	pod.Annotations[v1beta2.AnnotationRestore] = r.Name
	pod.Annotations[v1beta2.AnnotationRestorePermit] = string(r.UID) + task.Prepare
	if create.Source.PVC != nil {
		pod.Annotations[v1beta2.AnnotationTemplate] = transientTemplate
	}
	spec := &pod.Spec
	spec.ImagePullSecrets = append(spec.ImagePullSecrets, policy.ImagePullSecrets...)
	spec.ServiceAccountName = cmp.Or(policy.ServiceAccountName, create.Source.ServiceAccountName, spec.ServiceAccountName)
	var permit, source agentpod.Files
	permit.Mount(volumePermit, permitMount, true, permitSource())
	mountSource(&source, create.Source, true)
	told := seedTask(r, c, create)
	told.Credentials = mountCredentials(&source, create.Credentials)
	spec.Volumes = slices.Concat(spec.Volumes, source.Volumes, permit.Volumes)

	restore, err := agentContainer(task.ContainerRestore, image, told, policy.Resources, policy.Env...)
	if err != nil {
		return nil, fmt.Errorf("build Pod %s: %w", create.Name, err)
	}
	restore.Ports = ports()
	restore.VolumeMounts = slices.Concat(source.Mounts, permit.Mounts, []corev1.VolumeMount{{Name: member.VolumeData, MountPath: member.DataMount}})
	spec.InitContainers = append(spec.InitContainers, imageContainer(pod, policy.Resources), restore)
	etcd := &spec.Containers[0]
	etcd.VolumeMounts = append(etcd.VolumeMounts, permit.Mounts...)
	return pod, nil
}

// transientTemplate is what a seed has in place of the template's hash that mounts the
// volume of its snapshot: it is no shape that an EtcdCluster asks for, so etcd-operator
// recreates the Pod without that volume, as it does after every change of spec.pod, once the
// cluster is whole and healthy. Until then the volume can be used on the seed's node only,
// if it is ReadWriteOnce, and the seed cannot start without it.
const transientTemplate = "restored-from-volume"

// imageContainer pulls etcd's image to the seed's node, and shows that it runs there: after
// the old members are stopped it would be too late to find that out.
func imageContainer(pod *corev1.Pod, resources corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            task.ContainerImage,
		Image:           pod.Spec.Containers[0].Image,
		Command:         []string{"etcd", "--version"},
		Resources:       resources,
		SecurityContext: podsecurity.Container(),
	}
}

// agentContainer is an init container that runs the agent.
func agentContainer(name, image string, t task.Task, resources corev1.ResourceRequirements, extra ...v1beta2.AgentEnv) (corev1.Container, error) {
	env, err := agentpod.Environment(task.Env, t, resources, extra...)
	return corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{command},
		Env:             env,
		Resources:       resources,
		SecurityContext: podsecurity.Container(),
		// Only what the agent writes on purpose is a Result.
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}, err
}

func seedTask(r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, create plan.CreateSeed) task.Task {
	t := newTask(r, create.Source)
	t.Want = wanted(create.Want)
	t.Member = &task.Member{
		Name:       create.Name,
		PeerURL:    member.PeerURL(c, create.Name),
		Token:      string(r.UID),
		DataDir:    member.DataDir,
		PermitFile: permitPath,
		Revision:   create.Revision,
		Bump:       create.Bump,
	}
	return t
}

func wanted(s *v1beta2.RestoreSnapshot) *task.Snapshot {
	if s == nil {
		return nil
	}
	return &task.Snapshot{
		Location:     s.Location,
		Size:         s.Size,
		SHA256:       s.SHA256,
		ETag:         s.ETag,
		DatabaseSize: s.DatabaseSize,
		Revision:     s.Revision,

		OldestRevision: s.OldestRevision,
		TotalKeys:      s.TotalKeys,
		Hash:           string(s.Hash),
		EtcdVersion:    s.EtcdVersion,
		ClusterID:      s.ClusterID,
		Compression:    string(s.Compression),
		Alarms:         s.ClearedAlarms,
		AuthEnabled:    s.AuthEnabled,
	}
}

// permitSource shows the annotation that is the seed's permit.
func permitSource() corev1.VolumeSource {
	return corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{
			Path: permitFile,
			FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1",
				FieldPath:  "metadata.annotations['" + v1beta2.AnnotationRestorePermit + "']",
			},
		}},
	}}
}

// initResources are those of the cluster's members, so that a Pod that is meant to be
// Guaranteed is: every container counts.
func initResources(c *v1beta2.EtcdCluster) corev1.ResourceRequirements {
	if p := c.Spec.Pod; p != nil && agentpod.Asks(p.Resources) {
		return *p.Resources.DeepCopy()
	}
	return resources()
}
