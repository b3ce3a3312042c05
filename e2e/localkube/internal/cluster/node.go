package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/host"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/network"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Names of a node's daemons.
func containerd(n topology.Node) string { return fmt.Sprintf("containerd-%d", n.Number) }
func kubelet(n topology.Node) string    { return fmt.Sprintf("kubelet-%d", n.Number) }
func kubeProxy(n topology.Node) string  { return fmt.Sprintf("kube-proxy-%d", n.Number) }

// StopNode lets a node's machine die: first it falls silent, then everything on it is killed. Its disk stays.
func (c Cluster) StopNode(ctx context.Context, n topology.Node) error {
	return c.onIsolated(ctx, "node stop", n, func(ctx context.Context) error {
		dir := c.Layout.Node(n)
		if err := os.WriteFile(dir.Stopped(), nil, 0o600); err != nil {
			return err
		}
		if err := network.Cut(ctx, n); err != nil { // first: a machine that loses its power sends no FIN
			return err
		}
		if err := c.killNode(ctx, n); err != nil {
			return err
		}
		c.Log.Printf("node %s stopped", n.Name())
		return nil
	})
}

// killNode ends all of the node's processes and forgets what a machine forgets that is switched off: mounts, pods'
// links and network namespaces, everything in its run folder but its own network namespace.
func (c Cluster) killNode(ctx context.Context, n topology.Node) error {
	for _, name := range []string{kubelet(n), kubeProxy(n), containerd(n)} {
		if err := c.daemons().Kill(ctx, name); err != nil {
			return err
		}
	}
	dir := c.Layout.Node(n)
	if err := killStrays(ctx, dir.State, dir.Run, dir.Etc); err != nil {
		return err
	}
	cgroup, err := host.OpenCgroup(n.Cgroup())
	if err != nil {
		return err
	}
	if err := cgroup.Kill(ctx); err != nil {
		return err
	}
	if err := network.ForgetPods(ctx, dir.NetNS()); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir.Run)
	if err != nil {
		return err
	}
	if err := host.Unmount(ctx, dir.State); err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir.Run, entry.Name())
		if path == dir.NetNS() {
			continue
		}
		if err := errors.Join(host.Unmount(ctx, path), os.RemoveAll(path)); err != nil {
			return err
		}
	}
	return cgroup.Remove(ctx)
}

// StartNode switches a stopped node on again. It has its extras still.
func (c Cluster) StartNode(ctx context.Context, n topology.Node) error {
	made, err := c.build(ctx, nil)
	if err != nil {
		return err
	}
	return c.onIsolated(ctx, "node start", n, func(ctx context.Context) error {
		mtu, err := network.MTU(ctx)
		if err != nil {
			return err
		}
		return c.joinNode(ctx, c.settings(made, mtu).For(n), made)
	})
}

// PartitionNode cuts a node off from the other nodes and from the API server. What runs on it goes on.
func (c Cluster) PartitionNode(ctx context.Context, n topology.Node) error {
	return c.onIsolated(ctx, "node partition", n, func(ctx context.Context) error {
		if err := network.Cut(ctx, n); err != nil {
			return err
		}
		c.Log.Printf("node %s isolated", n.Name())
		return nil
	})
}

// HealNode undoes PartitionNode.
func (c Cluster) HealNode(ctx context.Context, n topology.Node) error {
	return c.onIsolated(ctx, "node heal", n, func(ctx context.Context) error {
		if stopped(c.Layout.Node(n)) {
			return fmt.Errorf("node %d is stopped: start it with `localkube node start %d`", n.Number, n.Number)
		}
		if err := network.Heal(ctx, n); err != nil {
			return err
		}
		c.Log.Printf("node %s reconnected", n.Name())
		return nil
	})
}

// onIsolated runs do, locked, if the node is there and can be taken away from the others.
func (c Cluster) onIsolated(ctx context.Context, command string, n topology.Node, do func(context.Context) error) error {
	if !n.Isolated() {
		return fmt.Errorf("node %d runs the control plane and cannot be stopped or isolated: use node 2 or 3 (`localkube up --nodes 3`)", n.Number)
	}
	return c.locked(ctx, command, NodeTimeout, func(ctx context.Context) error {
		if _, err := os.Stat(c.Layout.Node(n).State); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("node %d does not exist: add it with `localkube up --nodes %d`", n.Number, n.Number)
		}
		return do(ctx)
	})
}

func stopped(dir topology.NodeLayout) bool {
	_, err := os.Stat(dir.Stopped())
	return err == nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
