package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/debian"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/images"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
)

// artifacts are what is built before anything runs.
type artifacts struct {
	kubernetes build.Output
	system     []string // image tars that the cluster's own pods need, the pause image first
	extras     []string // image tars of the extras that were asked for
}

// extra is what nodes have beside the cluster's own: its name is that of its recipe's module.
type extra struct {
	recipe build.Recipe
	images func(ctx context.Context, out build.Output, log *progress.Log) ([]string, error)
}

func extras() []extra {
	var all []extra
	for _, version := range build.EtcdVersions() {
		all = append(all, extra{build.Etcd(version), images.Etcd})
	}
	return append(all, extra{build.Versitygw(), images.Versitygw}, extra{build.CertManager(), images.CertManager})
}

// Extras are the names of what nodes have beside the cluster's own: "etcd-3.6" and the other minors, "versitygw",
// which is an S3 server, and "cert-manager".
func Extras() []string {
	var names []string
	for _, x := range extras() {
		names = append(names, x.recipe.Module)
	}
	return names
}

// orAll is what was named, or else all extras.
func orAll(only []string) ([]string, error) {
	known := Extras()
	if len(only) == 0 {
		return known, nil
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown name %q in --only: use %s", name, strings.Join(known, ", "))
		}
	}
	return only, nil
}

// Build builds what isn't built yet: programs and images, of the extras only those that are named, all if none is.
func (c Cluster) Build(ctx context.Context, only ...string) error {
	wanted, err := orAll(only)
	if err != nil {
		return err
	}
	_, err = c.build(ctx, wanted)
	return err
}

// build builds what isn't built yet, and of the extras those that are wanted.
func (c Cluster) build(ctx context.Context, wanted []string) (artifacts, error) {
	builder, err := c.builder()
	if err != nil {
		return artifacts{}, err
	}
	chosen := slices.DeleteFunc(extras(), func(x extra) bool { return !slices.Contains(wanted, x.recipe.Module) })
	recipes := []build.Recipe{build.Kubernetes()}
	for _, x := range chosen {
		recipes = append(recipes, x.recipe)
	}
	builder, end, err := builder.Together(ctx, recipes...)
	if err != nil {
		return artifacts{}, err
	}
	defer end()
	var made artifacts
	if made.kubernetes, err = builder.Ensure(ctx, recipes[0]); err != nil {
		return artifacts{}, err
	}
	busybox := filepath.Join(builder.Cache, "debian", "busybox")
	if err := debian.Busybox(ctx, busybox, c.Log); err != nil {
		return artifacts{}, err
	}
	if made.system, err = images.System(ctx, made.kubernetes, busybox, c.Log); err != nil {
		return artifacts{}, err
	}
	for _, x := range chosen {
		out, err := builder.Ensure(ctx, x.recipe)
		if err != nil {
			return artifacts{}, err
		}
		tars, err := x.images(ctx, out, c.Log)
		if err != nil {
			return artifacts{}, err
		}
		made.extras = append(made.extras, tars...)
	}
	return made, nil
}
