package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/daemon"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/host"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/network"
)

// startRuntime makes the node's containerd run, with the cluster's own images.
func (c Cluster) startRuntime(ctx context.Context, n config.Node, made artifacts) error {
	for _, dir := range []string{n.Dir.State, n.Dir.Run, n.Dir.Imported(), n.Dir.Static(), n.Dir.PodLogs(), filepath.Join(n.Dir.State, "volumeplugins")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if n.Isolated() {
		if err := network.Attach(ctx, n.Node, n.Dir.NetNS(), n.MTU); err != nil {
			return err
		}
		if err := network.Heal(ctx, n.Node); err != nil {
			return err
		}
	}
	cgroup, err := host.OpenCgroup(n.Cgroup())
	if err != nil {
		return err
	}
	if err := cgroup.Create(); err != nil {
		return err
	}
	toml, err := n.Containerd()
	if err != nil {
		return err
	}
	cni, err := n.CNI()
	if err != nil {
		return err
	}
	if err := putAll(map[string]string{
		filepath.Join(n.Dir.Etc, "containerd.toml"):    toml,
		filepath.Join(n.Dir.CNI(), "10-pods.conflist"): cni,
	}); err != nil {
		return err
	}
	if err := c.start(ctx, containerd(n.Node), n.ContainerdArgs(), config.Fingerprint(toml)); err != nil {
		return err
	}
	if err := c.waitDaemon(ctx, containerd(n.Node), func(ctx context.Context) error { return askRuntime(ctx, n.Dir.Socket()) }); err != nil {
		return err
	}
	return c.importAll(ctx, n.Dir, made.system)
}

// askRuntime asks containerd for its CRI version, as a kubelet does first, and ends when it
// is refused: containerd listens for a moment before its CRI is initialized.
func askRuntime(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	return connection.Invoke(ctx, "/runtime.v1.RuntimeService/Version", &emptypb.Empty{}, &emptypb.Empty{})
}

// joinNode makes the node's kubelet and kube-proxy run, and waits until it is Ready. It also starts the containerd of an
// isolated node, and gives it every image.
func (c Cluster) joinNode(ctx context.Context, n config.Node, made artifacts) error {
	if n.Isolated() {
		if err := c.startRuntime(ctx, n, made); err != nil {
			return err
		}
	}
	if err := c.ensureKubeletConf(ctx, n); err != nil {
		return err
	}
	kubeletConfig, err := n.Kubelet()
	if err != nil {
		return err
	}
	proxyConfig, err := n.KubeProxy()
	if err != nil {
		return err
	}
	if err := putAll(map[string]string{
		filepath.Join(n.Dir.Etc, "kubelet.yaml"):    kubeletConfig,
		filepath.Join(n.Dir.Etc, "kube-proxy.yaml"): proxyConfig,
	}); err != nil {
		return err
	}
	if err := c.start(ctx, kubelet(n.Node), n.KubeletArgs(), config.Fingerprint(kubeletConfig)); err != nil {
		return err
	}
	if err := c.startKubeProxy(ctx, n, config.Fingerprint(proxyConfig)); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if n.Isolated() {
		group.Go(func() error { return c.giveImages(ctx, n, made) })
	}
	group.Go(func() error {
		if err := c.waitNode(ctx, n); err != nil {
			return err
		}
		c.Log.Printf("node %s Ready", n.Name())
		return remove(n.Dir.Stopped())
	})
	return group.Wait()
}

// giveImages gives the node, whose containerd runs, all images but the cluster's own, which it has.
func (c Cluster) giveImages(ctx context.Context, n config.Node, made artifacts) error {
	loaded, err := c.loaded()
	if err != nil {
		return err
	}
	return c.importAll(ctx, n.Dir, slices.Concat(loaded, made.extras))
}

// startKubeProxy makes the node's kube-proxy run. A new one begins without an earlier one's rules, as after a reboot:
// kube-proxy takes every endpoint's chain that it finds at its start for complete, and so keeps a chain empty for
// ever that its predecessor had flushed and not yet deleted when it was killed.
func (c Cluster) startKubeProxy(ctx context.Context, n config.Node, fingerprint string) error {
	netns := ""
	if n.Isolated() {
		netns = n.Dir.NetNS()
	}
	name := kubeProxy(n.Node)
	_, err := c.daemons().Start(ctx, daemon.Spec{
		Name: name, Argv: n.KubeProxyArgs(), Fingerprint: fingerprint, LogPath: c.logOf(name),
		Before: func(ctx context.Context) error { return network.ForgetServices(ctx, netns) },
	})
	return err
}

// waitNode waits until the node is Ready by word of the kubelet that runs now, not of an earlier one.
func (c Cluster) waitNode(ctx context.Context, n config.Node) error {
	record, err := c.daemons().Read(kubelet(n.Node))
	if err != nil || record == nil {
		return errors.Join(err, fmt.Errorf("%s is not registered", kubelet(n.Node)))
	}
	const query = `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}`
	return c.waitDaemon(ctx, kubelet(n.Node), func(ctx context.Context) error {
		said, err := c.kubectl(ctx, n.Bin, "get", "node", n.Name(), "-o", query)
		if err != nil {
			return err
		}
		return readySince(said, record.Started)
	})
}

// readySince reads "True 2026-01-02T03:04:05Z": the Ready condition's status and its last heartbeat, in whole seconds.
func readySince(condition string, started time.Time) error {
	status, heartbeat, _ := strings.Cut(condition, " ")
	if status != "True" {
		return fmt.Errorf("its Ready condition is %q", status)
	}
	at, err := time.Parse(time.RFC3339, heartbeat)
	if err != nil {
		return err
	}
	if at.Before(started.Truncate(time.Second)) {
		return fmt.Errorf("its last heartbeat, %s, is from before its kubelet's start", heartbeat)
	}
	return nil
}
