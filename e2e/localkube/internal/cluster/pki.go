package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func resolvPath(l topology.Layout) string { return filepath.Join(l.Etc(), "resolv.conf") }

// ensurePKI has kubeadm make the cluster's certificates and its components' kubeconfigs. What an interrupted run left
// is made anew, since nothing can have used it yet.
func (c Cluster) ensurePKI(ctx context.Context, settings config.Cluster) error {
	proxyConf := filepath.Join(c.Layout.Etc(), "kube-proxy.conf")
	if _, err := os.Stat(proxyConf); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.removePKI(); err != nil {
		return err
	}
	input, err := writeKubeadm(settings.For(topology.ControlPlane), c.Layout.Etc())
	if err != nil {
		return err
	}
	kubeadm := filepath.Join(settings.Bin, "kubeadm")
	for _, args := range [][]string{
		{"init", "phase", "certs", "all", "--config", input},
		{"init", "phase", "kubeconfig", "all", "--config", input, "--kubeconfig-dir", c.Layout.Etc()},
	} {
		if _, err := shell.Run(ctx, kubeadm, args...); err != nil {
			return err
		}
	}
	proxy, err := shell.Run(ctx, kubeadm, "kubeconfig", "user", "--client-name", "system:kube-proxy", "--config", input)
	if err != nil {
		return err
	}
	if err := put(proxyConf, proxy); err != nil { // last: it marks that all the rest is there
		return err
	}
	c.Log.Printf("created certificates")
	return nil
}

func (c Cluster) removePKI() error {
	confs, err := filepath.Glob(filepath.Join(c.Layout.Etc(), "*.conf"))
	if err != nil {
		return err
	}
	for _, conf := range confs {
		if conf != resolvPath(c.Layout) {
			err = errors.Join(err, os.Remove(conf))
		}
	}
	return errors.Join(err, os.RemoveAll(c.Layout.PKI()))
}

// ensureKubeletConf gives the node's kubelet its credentials.
func (c Cluster) ensureKubeletConf(ctx context.Context, n config.Node) error {
	if _, err := os.Stat(n.Dir.KubeletConf()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	input, err := writeKubeadm(n, n.Dir.Etc)
	if err != nil {
		return err
	}
	partial := filepath.Join(n.Dir.Etc, "partial")
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if _, err := shell.Run(ctx, filepath.Join(n.Bin, "kubeadm"), "init", "phase", "kubeconfig", "kubelet", "--config", input, "--kubeconfig-dir", partial); err != nil {
		return err
	}
	return os.Rename(filepath.Join(partial, "kubelet.conf"), n.Dir.KubeletConf())
}

func writeKubeadm(n config.Node, dir string) (path string, err error) {
	text, err := n.Kubeadm()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "kubeadm.yaml")
	return path, put(path, text)
}
