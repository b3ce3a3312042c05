package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// image is the etcd that everything is measured with.
const (
	version = etcdversion.Default
	image   = v1beta2.DefaultRepository + ":v" + version
)

// floor is the fastest that Kubernetes and etcd can be on this machine: n plain
// Pods at once, that form a cluster by themselves (static bootstrap). Each has a
// Service of its own, whose address exists before the Pod, so no name is looked
// up. No init container, no volume but an emptyDir, no startup probe.
type floor struct {
	b *bench
	n int
}

func (f floor) name(i int) string { return fmt.Sprintf("floor-%d", i) }

func (f floor) labels(i int) map[string]string {
	// With the label that a View selects by; it belongs to no EtcdCluster.
	return map[string]string{v1beta2.LabelCluster: "floor", "floor": f.name(i)}
}

// run starts the Pods and returns how long it took until all of them were ready;
// before and after it there is nothing.
func (f floor) run(ctx context.Context) (took time.Duration, err error) {
	addresses, err := f.services(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range f.n {
		if err := f.b.env.Client.Create(ctx, f.pod(i, addresses)); err != nil {
			return 0, err
		}
	}
	all := f.b.env.Cluster(f.b.view, f.b.ns, "floor")
	took, err = f.b.until(ctx, all, began, "the floor's Pods", harness.PodsReady(f.n))
	if err != nil {
		return 0, err
	}
	in := client.InNamespace(f.b.ns)
	for i := range f.n {
		if err := f.b.env.Client.DeleteAllOf(ctx, &corev1.Pod{}, in, client.MatchingLabels(f.labels(i)), client.GracePeriodSeconds(1)); err != nil {
			return 0, err
		}
		if err := f.b.env.Client.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.b.ns, Name: f.name(i)}}); err != nil {
			return 0, err
		}
	}
	_, err = f.b.until(ctx, all, began, "the floor's end", harness.Nothing)
	return took, err
}

// services returns the address of each member to be.
func (f floor) services(ctx context.Context) ([]string, error) {
	var addresses []string
	for i := range f.n {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.b.ns, Name: f.name(i), Labels: f.labels(i)},
			Spec: corev1.ServiceSpec{
				Selector:                 f.labels(i),
				PublishNotReadyAddresses: true,
				Ports:                    []corev1.ServicePort{{Name: "peer", Port: 2380}},
			},
		}
		if err := f.b.env.Client.Create(ctx, svc); err != nil {
			return nil, err
		}
		addresses = append(addresses, svc.Spec.ClusterIP)
	}
	return addresses, nil
}

func (f floor) pod(i int, addresses []string) *corev1.Pod {
	var peers []string
	for j, a := range addresses {
		peers = append(peers, fmt.Sprintf("%s=http://%s:2380", f.name(j), a))
	}
	user, yes, no := int64(65532), true, false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.b.ns, Name: f.name(i), Labels: f.labels(i)},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			EnableServiceLinks:           &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name:  "etcd",
				Image: image,
				Command: []string{
					"etcd", "--name=" + f.name(i), "--data-dir=/var/etcd/data",
					"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379", "--listen-metrics-urls=http://0.0.0.0:2381",
					"--initial-advertise-peer-urls=http://" + addresses[i] + ":2380", "--advertise-client-urls=http://" + addresses[i] + ":2379",
					"--initial-cluster=" + strings.Join(peers, ","), "--initial-cluster-state=new",
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/etcd"}},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(2381)}},
					PeriodSeconds: 1, TimeoutSeconds: 5,
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
