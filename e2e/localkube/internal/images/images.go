// Package images makes the images that every node has from the start, out of built programs: what the cluster itself
// needs, under registry.local (a name that no registry answers to), and etcd, an S3 server and cert-manager, under the names that users know.
package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/config"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
)

// folder is where a build's images are, beside its bin. Raise the number when a spec below or the form changes.
const folder = "images-3"

// Refs are the references of the cluster's own images.
var Refs = config.Images{
	Pause:     "registry.local/pause:1",
	Busybox:   "registry.local/busybox:1",
	CoreDNS:   "registry.local/coredns:1",
	LocalPath: "registry.local/local-path-provisioner:1",
}

// System makes the cluster's own images and returns their tars, the pause image, which every pod needs, first.
func System(ctx context.Context, out build.Output, busybox string, log *progress.Log) ([]string, error) {
	return ensure(ctx, out, log, []item{
		{Refs.Pause, "pause", func(context.Context) (image.Spec, error) { return program(out, "pause", "/pause"), nil }},
		{Refs.CoreDNS, "coredns", func(context.Context) (image.Spec, error) { return program(out, "coredns", "/coredns"), nil }},
		{Refs.LocalPath, "local-path-provisioner", func(context.Context) (image.Spec, error) {
			return program(out, "local-path-provisioner", "/usr/local/bin/local-path-provisioner"), nil
		}},
		{Refs.Busybox, "busybox", func(ctx context.Context) (image.Spec, error) { return busyboxSpec(ctx, busybox) }},
	})
}

// EtcdRef is the name of an etcd release's image.
func EtcdRef(version string) string { return "quay.io/coreos/etcd:" + version }

// Etcd makes the image of an etcd release, laid out as upstream's.
func Etcd(ctx context.Context, out build.Output, log *progress.Log) ([]string, error) {
	const bin = "/usr/local/bin/"
	spec := image.Spec{
		Entrypoint: []string{bin + "etcd"},
		WorkingDir: "/var/lib/etcd",
		Files:      map[string]string{},
		Dirs:       map[string]fs.FileMode{"/var/etcd": 0o755, "/var/lib/etcd": 0o755},
	}
	for _, name := range []string{"etcd", "etcdctl", "etcdutl"} {
		spec.Files[bin+name] = filepath.Join(out.Bin(), name)
	}
	return ensure(ctx, out, log, []item{
		{EtcdRef(out.Recipe.Version), "etcd", func(context.Context) (image.Spec, error) { return spec, nil }},
	})
}

// VersitygwRef is the name of the S3 server's image.
func VersitygwRef(version string) string { return "ghcr.io/versity/versitygw:" + version }

// Versitygw makes the image of the S3 server: nothing but the program, which stores into folders with its backend posix.
func Versitygw(ctx context.Context, out build.Output, log *progress.Log) ([]string, error) {
	return ensure(ctx, out, log, []item{
		{VersitygwRef(out.Recipe.Version), "versitygw", func(context.Context) (image.Spec, error) {
			return program(out, "versitygw", "/usr/local/bin/versitygw"), nil
		}},
	})
}

// CertManagerRef is the name of the image of cert-manager's controller.
func CertManagerRef(version string) string {
	return "quay.io/jetstack/cert-manager-controller:" + version
}

// CertManager makes the image of cert-manager's controller: nothing but the program.
func CertManager(ctx context.Context, out build.Output, log *progress.Log) ([]string, error) {
	return ensure(ctx, out, log, []item{
		{CertManagerRef(out.Recipe.Version), "cert-manager", func(context.Context) (image.Spec, error) {
			return program(out, "cert-manager", "/usr/local/bin/cert-manager"), nil
		}},
	})
}

type item struct {
	ref, name string
	spec      func(context.Context) (image.Spec, error)
}

func ensure(ctx context.Context, out build.Output, log *progress.Log, items []item) ([]string, error) {
	var tars []string
	for _, i := range items {
		tar := filepath.Join(out.Dir, folder, i.name+".tar")
		tars = append(tars, tar)
		if _, err := os.Stat(tar); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		spec, err := i.spec(ctx)
		if err != nil {
			return nil, err
		}
		if err := image.Write(ctx, tar, i.ref, spec); err != nil {
			return nil, err
		}
		log.Printf("created image %s", i.ref)
	}
	return tars, nil
}

func program(out build.Output, name, dst string) image.Spec {
	return image.Spec{Entrypoint: []string{dst}, Files: map[string]string{dst: filepath.Join(out.Bin(), name)}}
}

// busyboxSpec has a link for every applet, as an installed busybox does.
func busyboxSpec(ctx context.Context, busybox string) (image.Spec, error) {
	list, err := shell.Run(ctx, busybox, "--list")
	if err != nil {
		return image.Spec{}, err
	}
	links := map[string]string{}
	for applet := range strings.FieldsSeq(list) {
		if applet != "busybox" {
			links["/bin/"+applet] = "busybox"
		}
	}
	return image.Spec{Cmd: []string{"/bin/sh"}, Files: map[string]string{"/bin/busybox": busybox}, Links: links}, nil
}
