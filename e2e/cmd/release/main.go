// Command release builds a release into a folder, publishes its images and charts, and signs it:
// `make release`, `make release-publish`, `make release-sign`. See docs/project/releasing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/release"
)

// timeout bounds a first build for all platforms, with empty caches.
const timeout = 3 * time.Hour

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if len(args) == 0 {
		return errors.New("no command: use build, publish or sign")
	}
	root, err := images.Root()
	if err != nil {
		return err
	}
	fs := flag.NewFlagSet("release "+args[0], flag.ExitOnError)
	out := fs.String("out", filepath.Join(root, "out/release"), "the folder of the release")
	switch args[0] {
	case "build":
		return build(ctx, fs, root, out, args[1:])
	case "publish":
		return publish(ctx, fs, out, args[1:])
	case "sign":
		return sign(ctx, fs, root, out, args[1:])
	}
	return fmt.Errorf("unknown command %q: use build, publish or sign", args[0])
}

func build(ctx context.Context, fs *flag.FlagSet, root string, out *string, args []string) error {
	o := &release.Options{Root: root, SBOM: filepath.Join(root, "bin/cyclonedx-gomod"), OLM: filepath.Join(root, "bin/olm")}
	fs.StringVar(&o.Version, "version", "", "the version, such as 1.2.3")
	fs.StringVar(&o.Builder, "builder", os.Getenv("BUILDER"), "URI of who builds, for the provenance; default $BUILDER, else that of a local build")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.Out = *out
	start := time.Now()
	o.Log = func(format string, args ...any) {
		fmt.Printf("%5.0fs %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := release.Build(ctx, o); err != nil {
		return err
	}
	o.Log("release %s is in %s", o.Version, o.Out)
	return nil
}

func publish(ctx context.Context, fs *flag.FlagSet, out *string, args []string) error {
	registry := fs.String("registry", "", "where to push the images and charts to, such as ghcr.io/etcd-operators")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *registry == "" {
		return errors.New("no registry: set REGISTRY, as in make release-publish REGISTRY=ghcr.io/etcd-operators")
	}
	refs, err := release.Publish(ctx, *out, *registry)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		fmt.Println(ref)
	}
	return nil
}
