package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/debian"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/host"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/images"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/network"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Options are what can be chosen about a cluster.
type Options struct {
	// Nodes is how many nodes there are to be. Nodes that are there already stay.
	Nodes int
	// NodeMonitorGracePeriod is how long a node may be silent until it is NotReady, such as "16s"; empty: as it is,
	// and Kubernetes' default (50 s) in a new cluster.
	NodeMonitorGracePeriod string
	// Only are the extras that are built, and that nodes have; none: all (see Extras).
	Only []string
	// Images are tars of images that nodes get while they start (see Load).
	Images []string
}

// Up makes the cluster run with at least that many nodes, all of them started and joined.
func (c Cluster) Up(ctx context.Context, options Options) error {
	if err := CheckRoot(); err != nil {
		return err
	}
	if options.Nodes < 1 || options.Nodes > topology.MaxNodes {
		return fmt.Errorf("invalid --nodes %d: use 1 to %d", options.Nodes, topology.MaxNodes)
	}
	extras, err := orAll(options.Only)
	if err != nil {
		return err
	}
	if err := debian.Ensure(ctx, c.Log); err != nil {
		return err
	}
	made, err := c.build(ctx, extras)
	if err != nil {
		return err
	}
	return c.locked(ctx, "up", UpTimeout, func(ctx context.Context) error { return c.up(ctx, options, made) })
}

func (c Cluster) up(ctx context.Context, options Options, made artifacts) error {
	nodes, err := c.wanted(options.Nodes)
	if err != nil {
		return err
	}
	mtu, err := network.MTU(ctx)
	if err != nil {
		return err
	}
	upstream, err := c.prepareMachine(ctx, mtu)
	if err != nil {
		return err
	}
	for _, tar := range options.Images {
		if _, err := c.keep(tar); err != nil {
			return err
		}
	}
	settings := c.settings(made, mtu)
	settings.HasUpstreamDNS = upstream
	if settings.NodeMonitorGracePeriod, err = c.keepGracePeriod(options.NodeMonitorGracePeriod); err != nil {
		return err
	}
	if err := c.ensurePKI(ctx, settings); err != nil {
		return err
	}
	if err := c.startAll(ctx, settings, nodes, made); err != nil {
		return err
	}
	if err := c.linkKubectl(settings.Bin); err != nil {
		return err
	}
	c.Log.Printf("up: export KUBECONFIG=%s PATH=%s:$PATH", c.Layout.Kubeconfig(), c.Layout.Bin())
	return nil
}

// startAll starts the control plane, the nodes and what runs in the cluster. The first node gets its images while the
// API server starts.
func (c Cluster) startAll(ctx context.Context, settings config.Cluster, nodes []topology.Node, made artifacts) error {
	group, ctx := errgroup.WithContext(ctx)
	running := make(chan struct{}) // until the first node's containerd does
	group.Go(func() error {
		first := settings.For(topology.ControlPlane)
		if err := c.startRuntime(ctx, first, made); err != nil {
			return err
		}
		close(running)
		return c.giveImages(ctx, first, made)
	})
	group.Go(func() error {
		if err := c.startAPI(ctx, settings); err != nil {
			return err
		}
		select {
		case <-running:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, n := range nodes {
			group.Go(func() error { return c.joinNode(ctx, settings.For(n), made) })
		}
		group.Go(func() error { return c.ensureAddons(ctx, settings) })
		return nil
	})
	return group.Wait()
}

// linkKubectl gives the kubectl of this build a path that stays.
func (c Cluster) linkKubectl(bin string) error {
	target, link := filepath.Join(bin, "kubectl"), filepath.Join(c.Layout.Bin(), "kubectl")
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(c.Layout.Bin(), 0o755); err != nil {
		return err
	}
	if err := remove(link); err != nil {
		return err
	}
	return os.Symlink(target, link)
}

// keepGracePeriod returns the chosen period, or else the one chosen by an earlier up: mending a cluster doesn't change
// how it behaves.
func (c Cluster) keepGracePeriod(chosen string) (string, error) {
	path := filepath.Join(c.Layout.Etc(), "node-monitor-grace-period")
	if chosen != "" {
		return chosen, put(path, chosen)
	}
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(kept), err
}

// settings are what every node's files are made from.
func (c Cluster) settings(made artifacts, mtu int) config.Cluster {
	return config.Cluster{Layout: c.Layout, Bin: made.kubernetes.Bin(), Version: build.KubernetesVersion, Images: images.Refs, MTU: mtu}
}

// wanted returns the nodes that there are and the first ones up to the number asked for.
func (c Cluster) wanted(number int) ([]topology.Node, error) {
	there, err := c.nodes()
	if err != nil {
		return nil, err
	}
	var nodes []topology.Node
	for _, n := range topology.All() {
		if n.Number <= number || slices.Contains(there, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// prepareMachine changes the machine around the cluster, and tells whether it knows a name server.
func (c Cluster) prepareMachine(ctx context.Context, mtu int) (hasUpstreamDNS bool, err error) {
	if _, err := os.Stat(c.Layout.Before()); errors.Is(err, fs.ErrNotExist) {
		// Logs outlive `down`, for whoever looks into a failure, but not the next cluster.
		if err := os.RemoveAll(c.Layout.Log()); err != nil {
			return false, err
		}
	}
	for _, dir := range []string{c.Layout.State, c.Layout.Run, c.Layout.Etc(), c.Layout.Log(), c.Layout.Volumes(), c.Layout.Loaded()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, err
		}
	}
	if err := host.Remember(ctx, c.Layout.Before()); err != nil {
		return false, err
	}
	if err := host.Share(c.Layout.State); err != nil {
		return false, err
	}
	if err := host.Configure(); err != nil {
		return false, err
	}
	if err := network.Machine(ctx, mtu); err != nil {
		return false, err
	}
	resolv, hasUpstreamDNS, err := host.Resolv()
	if err != nil {
		return false, err
	}
	return hasUpstreamDNS, put(resolvPath(c.Layout), resolv)
}
