package cluster

import (
	"context"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/debian"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/images"
)

// artifacts are what is built before anything runs.
type artifacts struct {
	kubernetes build.Output
	system     []string // image tars that the cluster's own pods need, the pause image first
	etcd       []string // image tars of the etcd releases
	versitygw  build.Output
	s3         []string // image tars of the S3 server
	issuer     []string // image tars of cert-manager
}

// Build builds what isn't built yet: programs and images.
func (c Cluster) Build(ctx context.Context) error {
	_, err := c.build(ctx)
	return err
}

func (c Cluster) build(ctx context.Context) (artifacts, error) {
	builder, err := c.builder()
	if err != nil {
		return artifacts{}, err
	}
	var made artifacts
	if made.kubernetes, err = builder.Ensure(ctx, build.Kubernetes()); err != nil {
		return artifacts{}, err
	}
	busybox := filepath.Join(builder.Cache, "debian", "busybox")
	if err := debian.Busybox(ctx, busybox, c.Log); err != nil {
		return artifacts{}, err
	}
	if made.system, err = images.System(ctx, made.kubernetes, busybox, c.Log); err != nil {
		return artifacts{}, err
	}
	for _, version := range build.EtcdVersions() {
		out, err := builder.Ensure(ctx, build.Etcd(version))
		if err != nil {
			return artifacts{}, err
		}
		tars, err := images.Etcd(ctx, out, c.Log)
		if err != nil {
			return artifacts{}, err
		}
		made.etcd = append(made.etcd, tars...)
	}
	if made.versitygw, err = builder.Ensure(ctx, build.Versitygw()); err != nil {
		return artifacts{}, err
	}
	if made.s3, err = images.Versitygw(ctx, made.versitygw, c.Log); err != nil {
		return artifacts{}, err
	}
	certManager, err := builder.Ensure(ctx, build.CertManager())
	if err != nil {
		return artifacts{}, err
	}
	if made.issuer, err = images.CertManager(ctx, certManager, c.Log); err != nil {
		return artifacts{}, err
	}
	return made, nil
}
