package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/daemon"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// startAPI starts etcd, the API server and the controllers, and returns when the API server answers.
func (c Cluster) startAPI(ctx context.Context, settings config.Cluster) error {
	policy, err := settings.AuditPolicy()
	if err != nil {
		return err
	}
	if err := put(filepath.Join(c.Layout.Etc(), "audit-policy.yaml"), policy); err != nil {
		return err
	}
	if err := c.start(ctx, "etcd", settings.Etcd(), ""); err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d/readyz", topology.EtcdClientPort)
	if err := c.waitHTTP(ctx, "etcd", &http.Client{Timeout: requestTimeout}, etcd); err != nil {
		return err
	}
	if err := c.start(ctx, "kube-apiserver", settings.APIServer(), config.Fingerprint(policy)); err != nil {
		return err
	}
	client, err := c.apiClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	api := fmt.Sprintf("https://%s:%d/readyz", topology.ControlPlane.Address(), topology.APIServerPort)
	if err := c.waitHTTP(ctx, "kube-apiserver", client, api); err != nil {
		return err
	}
	c.Log.Printf("API server ready")
	if err := c.start(ctx, "kube-controller-manager", settings.ControllerManager(), ""); err != nil {
		return err
	}
	return c.start(ctx, "kube-scheduler", settings.Scheduler(), "")
}

// start makes the daemon run as told.
func (c Cluster) start(ctx context.Context, name string, argv []string, fingerprint string) error {
	_, err := c.daemons().Start(ctx, daemon.Spec{Name: name, Argv: argv, Fingerprint: fingerprint, LogPath: c.logOf(name)})
	return err
}

func (c Cluster) logOf(name string) string { return filepath.Join(c.Layout.Log(), name+".log") }

// apiClient trusts the cluster's CA; /readyz needs no credentials.
func (c Cluster) apiClient() (*http.Client, error) {
	ca, err := os.ReadFile(filepath.Join(c.Layout.PKI(), "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's ca.crt holds no certificate")
	}
	return &http.Client{
		Timeout:   requestTimeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}, nil
}
