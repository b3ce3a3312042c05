package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// programPort is where etcd-writer answers.
const programPort = 8080

// program is a Pod of etcd-writer, which is asked by HTTP through the API server.
type program struct {
	env            *Env
	namespace, pod string
}

// start makes the Pod and waits until it is ready.
func (e *Env) start(ctx context.Context, v *View, pod *corev1.Pod, what string) (*program, error) {
	p := &program{env: e, namespace: pod.Namespace, pod: pod.Name}
	pod.Spec.Containers[0].ReadinessProbe = httpProbe("/readyz", programPort)
	if err := e.Client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("start %s: %w", pod.Name, err)
	}
	return p, v.Await(ctx, what, func() string {
		var now corev1.Pod
		if !v.Get(p.namespace, p.pod, &now) {
			return "its Pod is not there yet"
		}
		if !podReady(&now) {
			return "its Pod is not ready: " + podState(&now)
		}
		return ""
	})
}

func (p *program) ask(ctx context.Context, verb, path string, params url.Values, into any) error {
	req := p.env.Clientset.CoreV1().RESTClient().Verb(verb).Namespace(p.namespace).
		Resource("pods").Name(fmt.Sprintf("%s:%d", p.pod, programPort)).SubResource("proxy").Suffix(path)
	for k, v := range params {
		req = req.Param(k, v[0])
	}
	body, err := req.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("ask %s for %s: %w: %s", p.pod, path, err, body)
	}
	return json.Unmarshal(body, into)
}

func httpProbe(path string, port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
		PeriodSeconds: 1,
	}
}

// restrictedPod runs etcd-writer as the restricted Pod Security Standard demands.
func restrictedPod(namespace, name string, args ...string) *corev1.Pod {
	user, nonroot, yes, no, now := int64(65532), true, true, false, int64(1)
	p := &corev1.Pod{
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			TerminationGracePeriodSeconds: &now, // it has nothing to put in order
			RestartPolicy:                 corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &nonroot, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:            "writer",
				Image:           images.Writer,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Command:         append([]string{"etcd-writer"}, args...),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	p.Namespace, p.Name, p.Labels = namespace, name, map[string]string{"app": name}
	return p
}

// mount gives the first container of a Pod a volume.
func mount(p *corev1.PodSpec, name, path string, source corev1.VolumeSource) {
	p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

// emptyDir is an empty folder that ends with the Pod.
func emptyDir() corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}
