package build

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

// Seed builds the Pod of the first member of a restored cluster. image is the
// operator's own, which also holds the launcher.
//
// The launcher gets no grant: with the data dir that the init container has made, etcd
// needs none, and without one it may not start.
func Seed(r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, create plan.CreateSeed, image string) (*corev1.Pod, error) {
	pod, err := member.NewPod(c, member.Options{Name: create.Name, Version: create.Version, LauncherImage: image, Role: v1beta2.RoleSeed})
	if err != nil {
		return nil, err
	}
	policy := agentpod.Policy(r.Spec.Pod, initResources(c))
	env, err := agentpod.Environment(task.Env, seedTask(r, c, create), policy.Resources)
	if err != nil {
		return nil, fmt.Errorf("build Pod %s: %w", create.Name, err)
	}
	files := seedFiles(create.Source)
	pod.Annotations[v1beta2.AnnotationRestore] = r.Name
	pod.Annotations[v1beta2.AnnotationRestoreLeave] = string(r.UID)

	spec := &pod.Spec
	spec.Volumes = append(spec.Volumes, files.Volumes...)
	spec.ImagePullSecrets = append(spec.ImagePullSecrets, policy.ImagePullSecrets...)
	spec.ServiceAccountName = cmp.Or(policy.ServiceAccountName, create.Source.ServiceAccountName, spec.ServiceAccountName)
	spec.InitContainers = append(spec.InitContainers, corev1.Container{
		Name:            task.ContainerRestore,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{command},
		Env:             env,
		Ports:           ports(),
		Resources:       policy.Resources,
		VolumeMounts:    append(files.Mounts, corev1.VolumeMount{Name: member.VolumeData, MountPath: member.DataMount}),
		SecurityContext: podsecurity.Container(),
		// Only what the agent writes on purpose is a Result.
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	})
	return pod, nil
}

func seedTask(r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster, create plan.CreateSeed) task.Task {
	t := newTask(r, create.Source)
	t.Want = wanted(&create.Want)
	t.Member = &task.Member{
		Name:      create.Name,
		PeerURL:   member.PeerURL(c, create.Name),
		Token:     string(r.UID),
		DataDir:   member.DataDir,
		LeaveFile: leaveMount + "/" + leaveFile,
		Revision:  create.Revision,
	}
	return t
}

func wanted(s *v1beta2.RestoreSnapshot) *task.Snapshot {
	return &task.Snapshot{
		Location:     s.Location,
		Size:         s.Size,
		SHA256:       s.SHA256,
		ETag:         s.ETag,
		DatabaseSize: s.DatabaseSize,
		Revision:     s.Revision,
		TotalKeys:    s.TotalKeys,
		EtcdVersion:  s.EtcdVersion,
		ClusterID:    s.ClusterID,
		Compression:  string(s.Compression),
	}
}

// seedFiles are what the init container needs to read. The Secret is optional, so that
// a member whose Pod is started again long after the restore does not need it.
func seedFiles(s plan.Source) agentpod.Files {
	var f agentpod.Files
	mountSource(&f, s, true)
	f.Mount(volumeLeave, leaveMount, true, corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{
			Path: leaveFile,
			FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1",
				FieldPath:  "metadata.annotations['" + v1beta2.AnnotationRestoreLeave + "']",
			},
		}},
	}})
	return f
}

// initResources are those of the cluster's members, so that a Pod that is meant to be
// Guaranteed is: every container counts.
func initResources(c *v1beta2.EtcdCluster) corev1.ResourceRequirements {
	if p := c.Spec.Pod; p != nil && agentpod.Asks(p.Resources) {
		return *p.Resources.DeepCopy()
	}
	return resources()
}
