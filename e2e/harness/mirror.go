package harness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/e2e/mirror"
)

// Mirror is a client that keeps a copy of what a cluster holds, as informers do: see
// package mirror. It is a Pod of the cluster's namespace, and is asked through the API
// server.
type Mirror struct{ *program }

// StartMirror starts a mirror and waits until it has a copy. onNode keeps it on one node;
// empty leaves it to the scheduler.
func (c *Cluster) StartMirror(ctx context.Context, onNode string) (*Mirror, error) {
	pod := c.clientPod("mirror", "mirror")
	if onNode != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: onNode}
	}
	p, err := c.env.start(ctx, c.view, pod, "the mirror's first list")
	return &Mirror{p}, err
}

// State is what has happened to it.
func (m *Mirror) State(ctx context.Context) (s mirror.State, err error) {
	return s, m.ask(ctx, "GET", "state", nil, &s)
}

// Copy is what it believes the cluster to hold.
func (m *Mirror) Copy(ctx context.Context) (c mirror.Content, err error) {
	return c, m.ask(ctx, "GET", "copy", nil, &c)
}

// Cluster is what the cluster holds, read now. It tries until the cluster answers.
func (m *Mirror) Cluster(ctx context.Context) (c mirror.Content, err error) {
	return c, Poll(ctx, "a list of all keys", func(ctx context.Context) (string, error) {
		return "", m.ask(ctx, "GET", "cluster", nil, &c)
	})
}

// CatchesUp waits until its copy is what the cluster holds.
func (m *Mirror) CatchesUp(ctx context.Context) error {
	return Poll(ctx, "the mirror to catch up", func(ctx context.Context) (string, error) {
		is, err := m.Cluster(ctx)
		if err != nil {
			return "", err
		}
		has, err := m.Copy(ctx)
		if err != nil {
			return "", err
		}
		if diff := has.Diff(is); diff != "" {
			return fmt.Sprintf("at revision %d of %d, %s", has.Revision, is.Revision, diff), nil
		}
		return "", nil
	})
}
