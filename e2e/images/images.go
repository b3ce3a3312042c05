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
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
)

// Names of the images, as manifests have them.
const (
	Operator        = "ghcr.io/etcd-operators/etcd-operator:dev"
	BackupOperator  = "ghcr.io/etcd-operators/etcd-backup-operator:dev"
	RestoreOperator = "ghcr.io/etcd-operators/etcd-restore-operator:dev"
	Writer          = "ghcr.io/etcd-operators/etcd-writer:dev"
)

// caCertificates are the machine's; Debian's package ca-certificates has them.
const caCertificates = "/etc/ssl/certs/ca-certificates.crt"

// nonroot is the user "nonroot" of distroless images, as in the Dockerfile.
const nonroot = "65532:65532"

// recipe says what is in one image.
type recipe struct {
	ref string
	// programs maps a program's name in /usr/local/bin to its module's folder and
	// package.
	programs map[string]program
}

type program struct{ module, pkg string }

var launcher = program{"shared", "./cmd/etcd-launcher"}

var recipes = []recipe{
	{ref: Operator, programs: map[string]program{
		"etcd-operator": {"operators/etcd-operator", "."}, "etcd-survivor-agent": {"operators/etcd-operator", "./cmd/etcd-survivor-agent"},
		"etcd-launcher": launcher,
	}},
	{ref: BackupOperator, programs: map[string]program{
		"etcd-backup-operator": {"operators/etcd-backup-operator", "."}, "etcd-backup-agent": {"operators/etcd-backup-operator", "./cmd/etcd-backup-agent"},
	}},
	{ref: RestoreOperator, programs: map[string]program{
		"etcd-restore-operator": {"operators/etcd-restore-operator", "."}, "etcd-restore-agent": {"operators/etcd-restore-operator", "./cmd/etcd-restore-agent"},
		"etcd-launcher": launcher,
	}},
	{ref: Writer, programs: map[string]program{"etcd-writer": {"e2e", "./cmd/etcd-writer"}}},
}

// Image is one image that was built.
type Image struct {
	Ref string
	Tar string
	// Changed tells that the tar is not the one that was there before.
	Changed bool
}

// Build builds every image from the repository at root into root/out/images.
func Build(ctx context.Context, root string) ([]Image, error) {
	out := filepath.Join(root, "out")
	var all []Image
	for _, r := range recipes {
		img, err := r.build(ctx, root, out)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", r.ref, err)
		}
		all = append(all, img)
	}
	return all, nil
}

func (r recipe) build(ctx context.Context, root, out string) (Image, error) {
	spec := image.Spec{User: nonroot, Files: map[string]string{}}
	if _, err := os.Stat(caCertificates); err != nil {
		return Image{}, fmt.Errorf("install the package ca-certificates: %w", err)
	}
	spec.Files[caCertificates] = caCertificates
	for name, p := range r.programs {
		binary := filepath.Join(out, "bin", name)
		if err := p.compile(ctx, root, binary); err != nil {
			return Image{}, err
		}
		spec.Files["/usr/local/bin/"+name] = binary
	}
	tar := filepath.Join(out, "images", fileName(r.ref))
	key, err := keyOf(r.ref, spec)
	if err != nil {
		return Image{}, err
	}
	if upToDate(tar, key) {
		return Image{Ref: r.ref, Tar: tar}, nil
	}
	if err := image.Write(ctx, tar, r.ref, spec); err != nil {
		return Image{}, err
	}
	return Image{Ref: r.ref, Tar: tar, Changed: true}, os.WriteFile(keyFile(tar), []byte(key), 0o644)
}

// Tags are the build tags of what ships: none of Google's SDK's gRPC, which is not used, and 13 MB.
const Tags = "disable_grpc_modules"

// compile builds one program as its module alone defines it, and without other build tags,
// whatever GOFLAGS says: with the simulator's tag it would not be what ships.
func (p program) compile(ctx context.Context, root, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-tags="+Tags, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, p.pkg)
	cmd.Dir = filepath.Join(root, p.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", p.pkg, p.module, err, output)
	}
	return nil
}

// fileName is that of the tar: the last part of the image's name, without its tag.
func fileName(ref string) string {
	name, _, _ := strings.Cut(path.Base(ref), ":")
	return name + ".tar"
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
