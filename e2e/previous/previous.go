// Package previous has the release before this one, for the tests that update from it and go back
// to it: its manifests for one namespace and its chart of all operators, as they were published, and
// the commit that its images are built from. docs/project/releasing.md says how the next one takes its place.
package previous

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/git"
	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// Release is one that was published.
type Release struct {
	// Version is its tag, such as v1.2.3.
	Version string `json:"version"`
	// Commit is the hash of what it was built from.
	Commit string `json:"commit"`

	root string
}

// Read reads which one it is, in the repository at root.
func Read(root string) (*Release, error) {
	r := &Release{root: root}
	text, err := os.ReadFile(filepath.Join(r.dir(), "release.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, r); err != nil {
		return nil, fmt.Errorf("release.yaml: %w", err)
	}
	return r, nil
}

func (r *Release) dir() string { return filepath.Join(r.root, "e2e", "previous") }

// Manifest is the file with which an operator is installed.
func (r *Release) Manifest(operator string) string {
	return filepath.Join(r.dir(), operator+".yaml")
}

// Chart is the file with which Helm installs all operators. In place of the digests that it names
// images by, set image.tag of each operator to Version.
func (r *Release) Chart() string {
	return filepath.Join(r.dir(), charts.Umbrella+"-"+strings.TrimPrefix(r.Version, "v")+".tgz")
}

// Images builds its images for this machine's processor, of the programs that today's have, from
// its own sources. They have its tag, and not its digests, which are those of several processors.
func (r *Release) Images(ctx context.Context) ([]images.Image, error) {
	source := filepath.Join(r.root, "out", "previous", r.Commit)
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		part := source + ".part"
		if err := os.RemoveAll(part); err != nil {
			return nil, err
		}
		if err := git.Export(ctx, r.root, r.Commit, part); err != nil {
			return nil, fmt.Errorf("the commit of release %s is not in this clone; if it is a shallow one, run git fetch --unshallow: %w", r.Version, err)
		}
		if err := os.Rename(part, source); err != nil {
			return nil, err
		}
	}
	return images.BuildProducts(ctx, source, r.Version)
}
