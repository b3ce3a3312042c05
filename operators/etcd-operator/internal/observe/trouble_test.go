package observe_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// A Pod is replaced or repaired only because of a container that keeps etcd from running: etcd's own container,
// or an init container that it waits for.
func TestWhatKeepsEtcdFromRunning(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(1, 0))}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	initializing := waits("PodInitializing")
	const ours, foreign, restartable, sidecar, ephemeral = "launcher", "foreign init", "restartable init", "sidecar", "ephemeral"
	broken := []string{
		"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName",
		"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
	}
	harmless := []string{"ContainerCreating", "PodInitializing", ""}
	for etcdIs, etcd := range map[string]corev1.ContainerState{"runs": running, "has ended": ended, "waits for its start": initializing, "is not reported": {}} {
		for _, container := range []string{ours, foreign, restartable, sidecar, ephemeral} {
			states := map[string]corev1.ContainerState{"runs": running, "has ended": ended, "is done": done}
			for _, reason := range append(broken, harmless...) {
				states["waits: "+reason] = waits(reason)
			}
			for stateIs, state := range states {
				p := podWith(container, state)
				if etcdIs != "is not reported" {
					p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: member.ContainerEtcd, State: etcd})
				}
				// An init container that cannot start keeps etcd from starting.
				isInit := container == ours || container == foreign || container == restartable
				holdsBack := isInit && state.Waiting != nil && isIn(state.Waiting.Reason, broken) && (etcdIs == "waits for its start" || etcdIs == "is not reported")
				got := observe.PodOf(&v1beta2.EtcdCluster{}, p)
				if (got.Trouble != "") != holdsBack {
					t.Errorf("etcd %s, %s %s: trouble %q, want any: %t", etcdIs, container, stateIs, got.Trouble, holdsBack)
				}
				if image := holdsBack && container == ours && isIn(state.Waiting.Reason, broken[:4]); got.ImageUnavailable != image {
					t.Errorf("etcd %s, %s %s: image unavailable %t, want %t", etcdIs, container, stateIs, got.ImageUnavailable, image)
				}
			}
		}
	}
	for i, reason := range broken {
		p := podWith(sidecar, running)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: member.ContainerEtcd, State: waits(reason)})
		if got := observe.PodOf(&v1beta2.EtcdCluster{}, p); got.Trouble == "" || got.ImageUnavailable != (i < 4) {
			t.Errorf("etcd waits: %s: trouble %q, image unavailable %t", reason, got.Trouble, got.ImageUnavailable)
		}
	}
}

// podWith returns a Pod with a container other than etcd's, in a state.
func podWith(container string, state corev1.ContainerState) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: member.ContainerEtcd}}}}
	c, s := corev1.Container{Name: container}, corev1.ContainerStatus{Name: container, State: state}
	switch container {
	case "sidecar":
		p.Spec.Containers = append(p.Spec.Containers, c)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	case "ephemeral":
		p.Status.EphemeralContainerStatuses = append(p.Status.EphemeralContainerStatuses, s)
	default:
		if container == "launcher" {
			c.Name, s.Name = member.ContainerLauncher, member.ContainerLauncher
		}
		if container == "restartable init" {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	}
	return p
}

func isIn(s string, list []string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// A count that comes from another object, or that only etcd can parse, is unknown: it might be any number.
func TestSnapshotCount(t *testing.T) {
	from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}
	for name, tc := range map[string]struct {
		env  corev1.EnvVar
		want int
	}{
		"not set":                  {corev1.EnvVar{Name: "OTHER", Value: "5"}, 0},
		"empty":                    {corev1.EnvVar{Name: member.EnvSnapshotCount}, 0},
		"a number":                 {corev1.EnvVar{Name: member.EnvSnapshotCount, Value: "5000"}, 5000},
		"from another object":      {corev1.EnvVar{Name: member.EnvSnapshotCount, ValueFrom: from}, facts.UnknownCount},
		"a number as Go writes it": {corev1.EnvVar{Name: member.EnvSnapshotCount, Value: "0x1_0000"}, facts.UnknownCount},
		"of another variable":      {corev1.EnvVar{Name: member.EnvSnapshotCount, Value: "$(COUNT)"}, facts.UnknownCount},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: member.ContainerEtcd, Env: []corev1.EnvVar{tc.env}}}}}
		if got := observe.PodOf(&v1beta2.EtcdCluster{}, p).SnapshotCount; got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
