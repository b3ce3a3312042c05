// Package images builds our own container images without a container engine: it
// compiles the programs and writes each image as a tar that localkube, `docker
// load` and `kind load image-archive` take.
//
// Whatever has not changed since the last time is not done again: go's cache
// knows the programs, and a key beside each tar the rest.
package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

// Names of the images, as manifests have them.
const (
	Operator        = "ghcr.io/etcd-operators/etcd-operator:dev"
	BackupOperator  = "ghcr.io/etcd-operators/etcd-backup-operator:dev"
	RestoreOperator = "ghcr.io/etcd-operators/etcd-restore-operator:dev"
	Writer          = "ghcr.io/etcd-operators/etcd-writer:dev"
)

// CACertificates are the machine's; Debian's package ca-certificates has them.
const CACertificates = "/etc/ssl/certs/ca-certificates.crt"

// nonroot is the user "nonroot" of distroless images, as in the Dockerfile.
const nonroot = "65532:65532"

// Recipe says what is in one image.
type Recipe struct {
	// Ref is the image's name in a build from a checkout.
	Ref string
	// Programs are in /usr/local/bin.
	Programs []Program
}

// Program is a package main of a module.
type Program struct{ Module, Package string }

// Name is the one that go gives it.
func (p Program) Name() string { return path.Base(path.Join(p.Module, p.Package)) }

// Target is what a program is built for. Its system is Linux.
type Target struct {
	// Arch is the processor, as GOARCH has it.
	Arch string
	// Version is what the program calls itself, such as v1.2.3; empty: (devel).
	Version string
	// Out is told how far its build is; nil: nobody is.
	Out io.Writer
}

var launcher = Program{"shared", "./cmd/etcd-launcher"}

// Products are the images that users run.
var Products = []Recipe{
	{Ref: Operator, Programs: []Program{
		{"operators/etcd-operator", "."}, {"operators/etcd-operator", "./cmd/etcd-survivor-agent"}, launcher,
	}},
	{Ref: BackupOperator, Programs: []Program{
		{"operators/etcd-backup-operator", "."}, {"operators/etcd-backup-operator", "./cmd/etcd-backup-agent"},
	}},
	{Ref: RestoreOperator, Programs: []Program{
		{"operators/etcd-restore-operator", "."}, {"operators/etcd-restore-operator", "./cmd/etcd-restore-agent"}, launcher,
	}},
}

// recipes are the images that the tests need.
var recipes = append(slices.Clone(Products), Recipe{Ref: Writer, Programs: []Program{{"e2e", "./cmd/etcd-writer"}}})

// Name is the last part of the image's name, without its tag.
func (r Recipe) Name() string {
	name, _, _ := strings.Cut(path.Base(r.Ref), ":")
	return name
}

// Spec is the image with the programs that are in a folder on the disk.
func (r Recipe) Spec(programs string) image.Spec {
	spec := image.Spec{User: nonroot, Files: map[string]string{CACertificates: CACertificates}}
	for _, p := range r.Programs {
		spec.Files["/usr/local/bin/"+p.Name()] = filepath.Join(programs, p.Name())
	}
	return spec
}

// Image is one image that was built.
type Image struct {
	Ref string
	Tar string
	// Changed tells that the tar is not the one that was there before.
	Changed bool
}

// Build builds every image from the repository at root into root/out/images. Out is told how far
// it is; nil: nobody is.
func Build(ctx context.Context, root string, out io.Writer) ([]Image, error) {
	return buildAll(ctx, root, recipes, Target{Arch: runtime.GOARCH, Out: out})
}

// BuildProducts builds the images that users run from the sources at root into root/out/images,
// with a version as their tag.
func BuildProducts(ctx context.Context, root, version string) ([]Image, error) {
	tagged := slices.Clone(Products)
	for i, r := range tagged {
		tagged[i].Ref = path.Join(path.Dir(r.Ref), r.Name()) + ":" + version
	}
	return buildAll(ctx, root, tagged, Target{Arch: runtime.GOARCH, Version: version})
}

func buildAll(ctx context.Context, root string, recipes []Recipe, target Target) ([]Image, error) {
	if err := NeedCACertificates(); err != nil {
		return nil, err
	}
	out := filepath.Join(root, "out")
	if err := Compile(ctx, root, recipes, filepath.Join(out, "bin"), target); err != nil {
		return nil, err
	}
	var all []Image
	for _, r := range recipes {
		img, err := r.build(ctx, out)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", r.Ref, err)
		}
		all = append(all, img)
	}
	return all, nil
}

// build makes the image of its programs in the folder bin of out, in the folder images.
func (r Recipe) build(ctx context.Context, out string) (Image, error) {
	spec := r.Spec(filepath.Join(out, "bin"))
	tar := filepath.Join(out, "images", r.Name()+".tar")
	key, err := keyOf(r.Ref, spec)
	if err != nil {
		return Image{}, err
	}
	if upToDate(tar, key) {
		return Image{Ref: r.Ref, Tar: tar}, nil
	}
	if err := image.Write(ctx, tar, r.Ref, spec); err != nil {
		return Image{}, err
	}
	return Image{Ref: r.Ref, Tar: tar, Changed: true}, os.WriteFile(keyFile(tar), []byte(key), 0o644)
}

// Tags are the build tags of what ships: none of Google's SDK's gRPC, which is not used, and 13 MB.
const Tags = "disable_grpc_modules"

// NeedCACertificates fails, and says what to do, if the machine has no CA certificates.
func NeedCACertificates() error {
	if _, err := os.Stat(CACertificates); err != nil {
		return fmt.Errorf("install the package ca-certificates: %w", err)
	}
	return nil
}

// Compile builds the programs of images into a folder, as their modules alone define them, and
// without other build tags, whatever GOFLAGS says: with the simulator's tag they would not be what
// ships. The same sources and the same Go give the same bytes, in whatever folder root is.
func Compile(ctx context.Context, root string, recipes []Recipe, folder string, target Target) error {
	flags := "-s -w"
	if target.Version != "" {
		flags += " " + version.LinkerFlag(target.Version)
	}
	packages := map[string][]string{} // by module
	for _, r := range recipes {
		for _, p := range r.Programs {
			if !slices.Contains(packages[p.Module], p.Package) { // some are in several images
				packages[p.Module] = append(packages[p.Module], p.Package)
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(packages)) { // go looks at all of its sources each time
		err := gobuild.Build{
			What: "building the programs of " + module, Dir: filepath.Join(root, module), Packages: packages[module],
			Output: folder + string(filepath.Separator),
			Env:    append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH="+target.Arch, "GOAMD64=v1", "GOARM64=v8.0"),
			Flags:  []string{"-tags=" + Tags, "-buildvcs=false", "-ldflags=" + flags},
			Out:    target.Out,
		}.Run(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

func keyFile(tar string) string { return tar + ".key" }

// keyOf is a digest of all that makes the image.
func keyOf(ref string, spec image.Spec) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, ref, spec.User, spec.Env, spec.Entrypoint)
	for _, dst := range slices.Sorted(maps.Keys(spec.Files)) {
		fmt.Fprintln(sum, dst)
		f, err := os.Open(spec.Files[dst])
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func upToDate(tar, key string) bool {
	old, err := os.ReadFile(keyFile(tar))
	if err != nil || string(old) != key {
		return false
	}
	_, err = os.Stat(tar)
	return !errors.Is(err, fs.ErrNotExist)
}
