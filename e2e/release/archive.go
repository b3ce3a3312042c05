package release

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// imageInfix is between the name of an image and its tag in the name of its archive.
const imageInfix = "-image-"

// imageArchive is the file of an image: a tar of an OCI layout, for all processors.
func imageArchive(name, tag string) string { return name + imageInfix + tag + ".tar" }

// imageOf is the image whose archive a file is.
func imageOf(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), imageInfix)
	return name
}

// imageArchives are those of the release in a folder.
func imageArchives(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, imageArchive("*", "*")))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s holds no release; build one by make release", dir)
	}
	return found, err
}

// writeImageArchive writes the layout in a folder as one file. It is not compressed: the layers are.
func writeImageArchive(to, layout string, at time.Time) (err error) {
	files, err := filesOf(layout)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return writeTar(out, "", files, at)
}

// ReadImage reads the image in an archive of a release, with what the archive says of it, such as its tag. Its
// files are unpacked into the folder work, and are needed as long as the image is.
func ReadImage(archive, work string) (v1.ImageIndex, *v1.Descriptor, error) {
	if err := unpack(archive, work); err != nil {
		return nil, nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	root, err := layout.ImageIndexFromPath(work)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", archive, err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", archive, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, nil, fmt.Errorf("%s holds %d images, not one", archive, len(manifest.Manifests))
	}
	described := &manifest.Manifests[0]
	index, err := root.ImageIndex(described.Digest)
	return index, described, err
}

// unpack writes the files of a tar below a folder, and none outside of it.
func unpack(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(f); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackFile(root, h.Name, entries); err != nil {
			return err
		}
	}
}

func unpackFile(to *os.Root, name string, from io.Reader) (err error) {
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := to.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, from)
	return err
}
