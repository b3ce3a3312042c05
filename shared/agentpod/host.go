package agentpod

import (
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

const (
	// containerInstall is the init container that copies the agent to where another image finds
	// it.
	containerInstall = "install-agent"
	// volumeAgent holds the copy, and agentMount is where it is mounted.
	volumeAgent = "agent"
	agentMount  = "/agent"
)

// hosted is the agent's container with the image of its host, after an init container that
// copies the agent from the operator's image to a volume that both have. The CAs that the
// operator's image trusts come with it: the host might have none.
func (j *Job) hosted(container corev1.Container) (corev1.Container, []corev1.Container) {
	j.Files.Volumes = append(j.Files.Volumes, corev1.Volume{Name: volumeAgent, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mount := corev1.VolumeMount{Name: volumeAgent, MountPath: agentMount}
	install := corev1.Container{
		Name:            containerInstall,
		Image:           j.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{j.Command, agent.Install, agentMount},
		Resources:       j.Policy.Resources,
		VolumeMounts:    []corev1.VolumeMount{mount},
		SecurityContext: podsecurity.Container(),
	}
	mount.ReadOnly = true
	container.Image = j.Host
	container.Command = []string{path.Join(agentMount, j.Command)}
	container.VolumeMounts = append(container.VolumeMounts, mount)
	container.Env = append(container.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: path.Join(agentMount, agent.InstalledCAs)})
	return container, []corev1.Container{install}
}
