package podtest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// syncTime is how often the Secrets of a Pod are brought up to date. (A kubelet takes up
// to a minute.)
const syncTime = 200 * time.Millisecond

// secret is one that is mounted in a Pod.
type secret struct {
	name string
	// mount is its place in the Pod, dir the one on this host.
	mount, dir string
	version    string
}

// findSecrets notes which Secrets a new Pod mounts.
func (p *pod) findSecrets(of *corev1.Pod) {
	for _, v := range of.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		for _, c := range slices.Concat(of.Spec.InitContainers, of.Spec.Containers) {
			i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
			if i >= 0 {
				p.secrets = append(p.secrets, secret{name: v.Secret.SecretName, mount: c.VolumeMounts[i].MountPath, dir: filepath.Join(p.home, "secret-"+v.Name)})
				break
			}
		}
	}
}

// places tells where mounted files are on this host, as pairs of old and new.
func (p *pod) places() []string {
	var pairs []string
	for _, s := range p.secrets {
		pairs = append(pairs, s.mount+"/", s.dir+"/")
	}
	return pairs
}

// place is where a folder of the Pod is on this host, if a Secret is mounted there.
func (p *pod) place(folder string) string {
	for _, s := range p.secrets {
		if s.mount == folder {
			return s.dir
		}
	}
	return folder
}

// mount brings the Secrets of a Pod up to date. One that is gone stays as it was mounted; a
// Pod does not start without it.
func (k *Kubelet) mount(ctx context.Context, p *pod) error {
	if time.Since(p.mounted) < syncTime {
		return nil
	}
	for i := range p.secrets {
		s := &p.secrets[i]
		var now corev1.Secret
		err := k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: s.name}, &now)
		switch {
		case err != nil && s.version == "":
			return fmt.Errorf("mount the Secrets of Pod %s: %w", p.name, err)
		case err != nil || now.ResourceVersion == s.version:
			continue
		}
		etcdtest.Mount(k.t, s.dir, maps.Clone(now.Data))
		s.version = now.ResourceVersion
	}
	p.mounted = time.Now()
	return nil
}
