package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNoNodeAccess tells that a fault needs a way into the nodes, which only
// localkube gives.
var ErrNoNodeAccess = errors.New("the nodes of KUBECONFIG's cluster can't be reached into: this fault needs localkube")

// KillEtcd ends a member's etcd with SIGKILL, as the kernel would for want of
// memory. The processes of localkube's Pods are the machine's own.
func (e *Env) KillEtcd(member string) error {
	if e.Local == nil {
		return ErrNoNodeAccess
	}
	pid, err := etcdProcess(member)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// etcdProcess finds the process of a member by its command line: the launcher has
// become "etcd --name=<member> …".
func etcdProcess(member string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		argv, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended meanwhile
		}
		words := bytes.Split(argv, []byte{0})
		if string(words[0]) != "etcd" || len(words) < 2 || string(words[1]) != "--name="+member {
			continue
		}
		return strconv.Atoi(filepath.Base(filepath.Dir(f)))
	}
	return 0, fmt.Errorf("no etcd process of member %s on this machine", member)
}

// KillSandbox ends what holds a Pod's containers together, as the restart of a node does:
// the kubelet makes it anew, and begins with the init containers.
func (e *Env) KillSandbox(pod *corev1.Pod) error {
	if e.Local == nil {
		return ErrNoNodeAccess
	}
	pid, err := pauseProcess(pod.UID)
	if err != nil {
		return fmt.Errorf("kill the sandbox of Pod %s: %w", pod.Name, err)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// pauseProcess finds the process of a Pod's sandbox by its cgroup, which has the Pod's
// uid in its name, with dashes or underscores.
func pauseProcess(pod types.UID) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		groups, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended meanwhile
		}
		if !strings.Contains(strings.ReplaceAll(string(groups), "_", "-"), "pod"+string(pod)) {
			continue
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
		if err == nil && strings.TrimSpace(string(name)) == "pause" {
			return strconv.Atoi(filepath.Base(filepath.Dir(f)))
		}
	}
	return 0, errors.New("no process of its sandbox on this machine")
}

// WipeVolume empties a member's volume, from a Pod that mounts it. The member's
// own Pod must be gone.
func (c *Cluster) WipeVolume(ctx context.Context, member string) error {
	return c.onVolume(ctx, member, "wipe", "/volume")
}

// SpoilLog writes over the beginning of a member's write-ahead log, from a Pod that mounts
// its volume. etcd notices when it starts the next time.
func (c *Cluster) SpoilLog(ctx context.Context, member string) error {
	return c.onVolume(ctx, member, "spoil", "/volume/data/member/wal/*.wal")
}

// onVolume runs a command of etcd-writer in a Pod that mounts a member's volume at /volume.
func (c *Cluster) onVolume(ctx context.Context, member, command, argument string) error {
	p := restrictedPod(c.Namespace, command+"-"+member, command, argument)
	p.Spec.Volumes = []corev1.Volume{{Name: "volume", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member},
	}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "volume", MountPath: "/volume"}}
	if err := c.env.Client.Create(ctx, p); err != nil {
		return fmt.Errorf("%s the volume of %s: %w", command, member, err)
	}
	err := c.view.Await(ctx, "the Pod that is to "+command+" the volume of "+member, func() string {
		var now corev1.Pod
		if !c.view.Get(p.Namespace, p.Name, &now) {
			return "it is not there yet"
		}
		if now.Status.Phase != corev1.PodSucceeded {
			return "it is " + podState(&now)
		}
		return ""
	})
	if err != nil {
		return err
	}
	// A Pod that has ended still holds on to the claim.
	return c.env.Client.Delete(ctx, p)
}
