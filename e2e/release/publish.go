package release

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// refName is the annotation by which a layout names the tag of an image.
const refName = "org.opencontainers.image.ref.name"

// built is an image of a release.
type built struct {
	index  v1.ImageIndex
	tag    name.Tag
	digest v1.Hash
}

// ref is its name in the registry, with its digest.
func (b *built) ref() string { return b.tag.Context().Digest(b.digest.String()).String() }

// builtImages reads those of the release in a folder, with the names that they have in a registry.
func builtImages(dir, registry string) ([]*built, error) {
	found, err := os.ReadDir(filepath.Join(dir, ImagesDir))
	if err != nil {
		return nil, fmt.Errorf("%s holds no release; build one by make release: %w", dir, err)
	}
	var all []*built
	for _, folder := range found {
		b, err := readLayout(filepath.Join(dir, ImagesDir, folder.Name()), registry+"/"+folder.Name())
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", folder.Name(), err)
		}
		all = append(all, b)
	}
	return all, nil
}

func readLayout(dir, repository string) (*built, error) {
	path, err := layout.FromPath(dir)
	if err != nil {
		return nil, err
	}
	root, err := path.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the layout holds %d images, not one", len(manifest.Manifests))
	}
	described := manifest.Manifests[0]
	tag, err := name.NewTag(repository+":"+described.Annotations[refName], name.StrictValidation)
	if err != nil {
		return nil, err
	}
	index, err := root.ImageIndex(described.Digest)
	return &built{index: index, tag: tag, digest: described.Digest}, err
}

// Refs are the names of the images of the release in a folder, with their digests, as they are
// published to a registry such as ghcr.io/etcd-operators.
func Refs(dir, registry string) ([]string, error) {
	all, err := builtImages(dir, registry)
	var refs []string
	for _, b := range all {
		refs = append(refs, b.ref())
	}
	return refs, err
}

// Publish pushes the images of the release in a folder to a registry, with the credentials of
// docker's configuration, and returns their [Refs]. It is harmless to repeat. A tag that is there
// already and has another digest is refused: tags never move.
func Publish(ctx context.Context, dir, registry string) ([]string, error) {
	all, err := builtImages(dir, registry)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, b := range all {
		if err := b.publish(ctx); err != nil {
			return nil, fmt.Errorf("publish %s: %w", b.tag, err)
		}
		refs = append(refs, b.ref())
	}
	return refs, nil
}

func (b *built) publish(ctx context.Context) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	there, err := remote.Head(b.tag, options...)
	var answer *transport.Error
	switch {
	case err == nil && there.Digest == b.digest:
		return nil
	case err == nil:
		return fmt.Errorf("it is published already, as %s: a tag never moves; release the next patch", there.Digest)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return remote.WriteIndex(b.tag, b.index, options...)
	}
	return err
}
