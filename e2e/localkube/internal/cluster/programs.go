package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
)

// Programs are folders of built programs, for tests that run them without a cluster.
type Programs struct {
	Kubernetes string // holds kube-apiserver, etcd and kubectl
	Etcd       string // holds v3.6.16/etcd and so on, of every release
	S3Server   string // the program versitygw
}

// Programs builds what isn't built yet and says where it lies.
func (c Cluster) Programs(ctx context.Context) (Programs, error) {
	made, err := c.build(ctx, nil)
	if err != nil {
		return Programs{}, err
	}
	builder, err := c.builder()
	if err != nil {
		return Programs{}, err
	}
	releases := filepath.Join(builder.Cache, "etcd")
	if err := os.MkdirAll(releases, 0o755); err != nil {
		return Programs{}, err
	}
	for _, version := range build.EtcdVersions() {
		out, err := builder.Ensure(ctx, build.Etcd(version))
		if err != nil {
			return Programs{}, err
		}
		if err := relink(out.Bin(), filepath.Join(releases, version)); err != nil {
			return Programs{}, err
		}
	}
	server, err := builder.Ensure(ctx, build.Versitygw())
	if err != nil {
		return Programs{}, err
	}
	return Programs{Kubernetes: made.kubernetes.Bin(), Etcd: releases, S3Server: filepath.Join(server.Bin(), "versitygw")}, nil
}

// relink lets link point to target, at every moment to this or to what it did before.
func relink(target, link string) error {
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	temporary := fmt.Sprintf("%s.%d", link, os.Getpid())
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, link)
}
