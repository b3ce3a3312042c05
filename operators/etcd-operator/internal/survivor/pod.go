package survivor

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

// Container is the name of the init container that runs the agent.
const Container = "survivor"

const (
	// command is the agent's program in the operator's image.
	command = "etcd-survivor-agent"

	volumePermit = "survivor-permit"
	permitMount  = "/etc/etcd-survivor"
	permitFile   = "permit"

	volumeTLS = "survivor-tls"
	tlsMount  = "/etc/etcd-survivor-tls"
)

// AddTo makes a member's Pod a survivor's seed: with an init container of the operator's
// own image that makes its data dir, and with the permit to do so. It gets no start permit: with
// the data dir, etcd needs none, and without one it may not start. By TLS, the agent shows
// the survivor the operators' certificate, which the etcd container does not get.
func AddTo(pod *corev1.Pod, c *v1beta2.EtcdCluster, image string, t task.Task) error {
	t.PermitFile = permitMount + "/" + permitFile
	secret := c.OperatorTLSSecret()
	if c.ServerTLSSecret() != "" && secret != "" {
		t.TLSDir = tlsMount
	}
	resources := resources(c)
	env, err := agentpod.Environment(task.Env, t, resources)
	if err != nil {
		return fmt.Errorf("build Pod %s: %w", pod.Name, err)
	}
	pod.Annotations[v1beta2.AnnotationSurvivorPermit] = t.Token
	var files agentpod.Files
	files.Mount(volumePermit, permitMount, true, corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{
			Path:     permitFile,
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + v1beta2.AnnotationSurvivorPermit + "']"},
		}},
	}})
	if t.TLSDir != "" {
		// Optional, so that a member whose Pod is started again long after that does not
		// need it.
		files.Secret(volumeTLS, secret, tlsMount, true)
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, files.Volumes...)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
		Name:            Container,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{command},
		Env:             env,
		Resources:       resources,
		VolumeMounts:    append(files.Mounts, corev1.VolumeMount{Name: member.VolumeData, MountPath: member.DataMount}),
		SecurityContext: podsecurity.Container(),
		// Only what the agent writes on purpose is a Result.
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	})
	return nil
}

// resources are those of the cluster's members, so that a Pod that is meant to be
// Guaranteed is: every container counts. There is no limit of our own: what the agent
// takes of memory is the page cache of the database.
func resources(c *v1beta2.EtcdCluster) corev1.ResourceRequirements {
	if p := c.Spec.Pod; p != nil && agentpod.Asks(p.Resources) {
		return *p.Resources.DeepCopy()
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
}

// TaskOf is what a Pod's agent does; nil if it has none.
func TaskOf(pod *corev1.Pod) *task.Task {
	for _, c := range pod.Spec.InitContainers {
		if c.Name != Container {
			continue
		}
		for _, e := range c.Env {
			var t task.Task
			if e.Name == task.Env && json.Unmarshal([]byte(e.Value), &t) == nil {
				return &t
			}
		}
	}
	return nil
}

// Token is that of the recovery whose seed a Pod was made as; empty if it was not.
func Token(pod *corev1.Pod) string {
	if t := TaskOf(pod); t != nil {
		return t.Token
	}
	return ""
}

// Trouble is why a Pod's agent failed last, in its own words; empty if it did not.
func Trouble(pod *corev1.Pod) string {
	for _, s := range pod.Status.InitContainerStatuses {
		if s.Name != Container || s.LastTerminationState.Terminated == nil {
			continue
		}
		var r task.Result
		if json.Unmarshal([]byte(s.LastTerminationState.Terminated.Message), &r) == nil && r.Failure != nil {
			return r.Failure.Reason + ": " + r.Failure.Message
		}
	}
	return ""
}
