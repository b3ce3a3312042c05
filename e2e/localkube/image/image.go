// Package image writes container images without a container engine: one layer, FROM scratch or on a root file system,
// made of files that are already on the disk, as a tar that `ctr images import`, `docker load` and `kind load image-archive` take.
//
// The same spec and files give the same bytes: times are zero, entries are sorted.
package image

import (
	"archive/tar"
	"bytes"
	"context"
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

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// DefaultPath is the PATH of an image whose Env has none.
const DefaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Spec says what is in an image and how it is run.
type Spec struct {
	Entrypoint []string
	Cmd        []string
	Env        []string // "KEY=value"; PATH is DefaultPath unless set here
	User       string   // "UID", "UID:GID"; empty: root
	WorkingDir string   // empty: "/"
	Labels     map[string]string

	// Root is the tar of a root file system, as mmdebstrap makes it, on which all else is put; empty: FROM scratch.
	Root string

	// Files maps an absolute path in the image to a file on the disk. A file that someone may execute there is 0755 in
	// the image, any other 0644; root owns all.
	Files map[string]string
	// Links maps an absolute path in the image to the target of a symbolic link.
	Links map[string]string
	// Dirs maps an absolute path in the image to the mode of an otherwise empty folder. Parents of everything are made
	// 0755, and /tmp is always there, 01777.
	Dirs map[string]fs.FileMode
}

// Write writes the image to tarPath under the name ref, such as "example.com/team/app:v1". It replaces tarPath in one
// step: whoever reads it meanwhile sees either the old image or the new one.
func Write(ctx context.Context, tarPath, ref string, spec Spec) (err error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("image name %q: %w", ref, err)
	}
	img, err := build(ctx, spec)
	if err != nil {
		return fmt.Errorf("image %s: %w", ref, err)
	}
	if err := os.MkdirAll(filepath.Dir(tarPath), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(tarPath), "."+filepath.Base(tarPath)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close(), os.Remove(out.Name()))
		}
	}()
	if err := tarball.Write(tag, img, out); err != nil {
		return fmt.Errorf("image %s: writing %s: %w", ref, tarPath, err)
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), tarPath); err != nil {
		return err
	}
	return out.Close()
}

// Refs returns the names of the images in a tar, as Write or `docker save` makes it.
func Refs(tarPath string) ([]string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(tarPath) })
	if err != nil {
		return nil, fmt.Errorf("%s is no image tar: %w", tarPath, err)
	}
	var refs []string
	for _, descriptor := range manifest {
		refs = append(refs, descriptor.RepoTags...)
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%s holds no named image", tarPath)
	}
	return refs, nil
}

func build(ctx context.Context, spec Spec) (v1.Image, error) {
	// A node takes less time for what is compressed by zstd than for what is not, and more by gzip.
	layers, err := layersOf(ctx, spec, tarball.WithMediaType(types.OCILayerZStd), tarball.WithCompression(compression.ZStd))
	if err != nil {
		return nil, err
	}
	return assemble(empty.Image, layers, spec, runtime.GOARCH, v1.Time{})
}

// layersOf are the root file system, if there is one, and what is put on it, each made of its tar.
func layersOf(ctx context.Context, spec Spec, options ...tarball.LayerOption) ([]v1.Layer, error) {
	var contents [][]byte
	if spec.Root != "" {
		root, err := os.ReadFile(spec.Root)
		if err != nil {
			return nil, fmt.Errorf("root file system: %w", err)
		}
		contents = append(contents, root)
	}
	content, err := layerOf(ctx, spec)
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, content := range append(contents, content) {
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		made, err := tarball.LayerFromOpener(open, append(options, tarball.WithCompressedCaching)...)
		if err != nil {
			return nil, err
		}
		layers = append(layers, made)
	}
	return layers, nil
}

// assemble puts layers on an image, and says how that is run.
func assemble(on v1.Image, layers []v1.Layer, spec Spec, arch string, created v1.Time) (v1.Image, error) {
	img, err := mutate.AppendLayers(on, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, created
	file.Config = spec.config()
	return mutate.ConfigFile(img, file)
}

// config says how the image is run.
func (spec Spec) config() v1.Config {
	config := v1.Config{
		Entrypoint: spec.Entrypoint,
		Cmd:        spec.Cmd,
		Env:        environment(spec.Env),
		User:       spec.User,
		WorkingDir: spec.WorkingDir,
		Labels:     spec.Labels,
	}
	if config.WorkingDir == "" {
		config.WorkingDir = "/"
	}
	return config
}

func environment(env []string) []string {
	if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		return env
	}
	return append([]string{DefaultPath}, env...)
}

// layerOf returns the layer's tar: folders before what is in them, everything sorted.
func layerOf(ctx context.Context, spec Spec) ([]byte, error) {
	var out bytes.Buffer
	w := layerWriter{tar: tar.NewWriter(&out), made: map[string]bool{"/": true}}
	if err := w.dir("/tmp", fs.ModeSticky|0o777); err != nil {
		return nil, err
	}
	for _, dir := range slices.Sorted(maps.Keys(spec.Dirs)) {
		if err := w.dir(dir, spec.Dirs[dir]); err != nil {
			return nil, err
		}
	}
	for _, dst := range slices.Sorted(maps.Keys(spec.Files)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.file(dst, spec.Files[dst]); err != nil {
			return nil, err
		}
	}
	for _, dst := range slices.Sorted(maps.Keys(spec.Links)) {
		if err := w.link(dst, spec.Links[dst]); err != nil {
			return nil, err
		}
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type layerWriter struct {
	tar  *tar.Writer
	made map[string]bool
}

func (w layerWriter) dir(dst string, mode fs.FileMode) error {
	if err := w.parents(dst); err != nil || w.made[path.Clean(dst)] {
		return err
	}
	dst = path.Clean(dst)
	w.made[dst] = true
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dst[1:] + "/", Mode: bits})
}

func (w layerWriter) parents(dst string) error {
	if !path.IsAbs(dst) {
		return fmt.Errorf("%q: paths in an image are absolute", dst)
	}
	if parent := path.Dir(path.Clean(dst)); parent != "/" {
		return w.dir(parent, 0o755)
	}
	return nil
}

func (w layerWriter) file(dst, src string) error {
	if err := w.parents(dst); err != nil {
		return err
	}
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", src)
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Clean(dst)[1:], Mode: mode, Size: info.Size()}
	if err := w.tar.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(w.tar, in); err != nil {
		return fmt.Errorf("%s: %w", src, err)
	}
	return nil
}

func (w layerWriter) link(dst, target string) error {
	if err := w.parents(dst); err != nil {
		return err
	}
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: path.Clean(dst)[1:], Linkname: target, Mode: 0o777})
}
