package cluster

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// ensureAddons applies what runs in the cluster from the start, and waits for it.
func (c Cluster) ensureAddons(ctx context.Context, settings config.Cluster) error {
	text, err := settings.Addons()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Layout.Etc(), "addons.yaml")
	applied := path + ".applied"
	if done, err := os.ReadFile(applied); err != nil || string(done) != text {
		if err := put(path, text); err != nil {
			return err
		}
		if _, err := c.kubectl(ctx, settings.Bin, "apply", "--server-side", "--force-conflicts", "-f", path); err != nil {
			return err
		}
		if err := put(applied, text); err != nil {
			return err
		}
	}
	admin, err := os.ReadFile(filepath.Join(c.Layout.Etc(), "admin.conf"))
	if err != nil {
		return err
	}
	if err := put(c.Layout.Kubeconfig(), string(admin)); err != nil {
		return err
	}
	for _, deployment := range []string{"coredns", "local-path-provisioner"} {
		if _, err := c.kubectl(ctx, settings.Bin, "-n", "kube-system", "rollout", "status", "deployment/"+deployment, "--timeout="+readyTimeout.String()); err != nil {
			return err
		}
	}
	if err := c.waitDNS(ctx); err != nil {
		return err
	}
	c.Log.Printf("DNS and storage ready")
	return nil
}

// waitDNS asks the cluster's DNS for the API server. A Deployment's status alone may be from before a crash.
func (c Cluster) waitDNS(ctx context.Context) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dnsTimeout}).DialContext(ctx, network, net.JoinHostPort(topology.ClusterDNS, "53"))
	}}
	return c.waitDaemon(ctx, kubelet(topology.ControlPlane), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
		defer cancel()
		_, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+topology.ClusterDomain+".")
		return err
	})
}

// kubectl runs kubectl as a member of system:masters.
func (c Cluster) kubectl(ctx context.Context, bin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+requestTimeout)
	defer cancel()
	return shell.Run(ctx, filepath.Join(bin, "kubectl"), append([]string{"--kubeconfig=" + c.Layout.AdminConf()}, args...)...)
}
