package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// Rate is how many writes a Writer begins in a second.
const Rate = 100

// Writer is a client that writes to a cluster the whole time: see package writer.
// It is a Pod of the cluster's namespace, and is asked through the API server.
type Writer struct {
	cluster *Cluster
	pod     string
}

// StartWriter starts a writer and waits until its first write is acknowledged.
// onNode keeps it on one node, so that a test can take the others away; empty
// leaves it to the scheduler.
func (c *Cluster) StartWriter(ctx context.Context, onNode string) (*Writer, error) {
	w := &Writer{cluster: c, pod: c.Name + "-writer"}
	if err := c.env.Client.Create(ctx, w.manifest(onNode)); err != nil {
		return nil, fmt.Errorf("start the writer: %w", err)
	}
	return w, c.view.Await(ctx, "the writer's first write", func() string {
		var p corev1.Pod
		if !c.view.Get(c.Namespace, w.pod, &p) {
			return "its Pod is not there yet"
		}
		if !podReady(&p) {
			return "its Pod is not ready: " + podState(&p)
		}
		return ""
	})
}

func (w *Writer) manifest(onNode string) *corev1.Pod {
	p := restrictedPod(w.cluster.Namespace, w.pod, "write",
		"--endpoint="+w.cluster.Name+"-client:2379", fmt.Sprintf("--rate=%d", Rate))
	c := &p.Spec.Containers[0]
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)}},
		PeriodSeconds: 1,
	}
	if onNode != "" {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: onNode}
	}
	return p
}

// restrictedPod runs etcd-writer as the restricted Pod Security Standard demands.
func restrictedPod(namespace, name string, args ...string) *corev1.Pod {
	user, nonroot, yes, no, now := int64(65532), true, true, false, int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "etcd-writer"}},
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
}

// Progress is how it goes.
func (w *Writer) Progress(ctx context.Context) (p writer.Progress, err error) {
	return p, w.ask(ctx, "GET", "progress", nil, &p)
}

// Cut ends the current window of time and begins the next.
func (w *Writer) Cut(ctx context.Context) (out writer.Window, err error) {
	return out, w.ask(ctx, "POST", "cut", nil, &out)
}

// Verify reads back all that was acknowledged until now; writing goes on.
func (w *Writer) Verify(ctx context.Context) (r writer.Report, err error) {
	return r, w.ask(ctx, "POST", "verify", nil, &r)
}

// Finish stops writing and reads everything back.
func (w *Writer) Finish(ctx context.Context) (r writer.Report, err error) {
	return r, w.ask(ctx, "POST", "finish", nil, &r)
}

// Members is etcd's own member list, as a client sees it.
func (w *Writer) Members(ctx context.Context) (m []writer.Member, err error) {
	return m, w.ask(ctx, "GET", "members", nil, &m)
}

// MoveLeader makes a member the leader.
func (w *Writer) MoveLeader(ctx context.Context, to string) error {
	return w.ask(ctx, "POST", "move-leader", url.Values{"to": {to}}, &struct{}{})
}

func (w *Writer) ask(ctx context.Context, verb, path string, params url.Values, into any) error {
	req := w.cluster.env.Clientset.CoreV1().RESTClient().Verb(verb).Namespace(w.cluster.Namespace).
		Resource("pods").Name(w.pod + ":8080").SubResource("proxy").Suffix(path)
	for k, v := range params {
		req = req.Param(k, v[0])
	}
	body, err := req.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("ask the writer for %s: %w: %s", path, err, body)
	}
	return json.Unmarshal(body, into)
}
