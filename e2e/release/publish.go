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
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// refName is the annotation by which a layout names the tag of an image.
const refName = "org.opencontainers.image.ref.name"

// artifact is an image or a chart of a release.
type artifact struct {
	tag    name.Tag
	digest v1.Hash
	// push writes it to the registry.
	push func(...remote.Option) error
	// moves tells that the tag is of no version, and names whatever was published last.
	moves bool
	// sboms are the files that tell what is in the programs of an image.
	sboms []string
}

// ref is its name in the registry, with its digest.
func (a *artifact) ref() string { return a.tag.Context().Digest(a.digest.String()).String() }

// artifacts reads the images and charts of the release in a folder, with the names that they have in a
// registry. Their files are in the folder work.
func artifacts(dir, registry, work string) ([]*artifact, error) {
	archives, err := imageArchives(dir)
	if err != nil {
		return nil, err
	}
	var all []*artifact
	for _, archive := range archives {
		image := imageOf(archive)
		layout := filepath.Join(work, image)
		if err := os.Mkdir(layout, 0o755); err != nil {
			return nil, err
		}
		index, described, err := ReadImage(archive, layout)
		if err != nil {
			return nil, err
		}
		tag, err := name.NewTag(registry+"/"+image+":"+described.Annotations[refName], name.StrictValidation)
		if err != nil {
			return nil, fmt.Errorf("tag of %s: %w", archive, err)
		}
		all = append(all, &artifact{tag: tag, digest: described.Digest, sboms: sbomsOf(dir, image), push: func(options ...remote.Option) error {
			return remote.WriteIndex(tag, index, options...)
		}})
	}
	charts, err := chartArtifacts(dir, registry)
	return append(all, charts...), err
}

// withArtifacts calls what is given with each image and chart of the release in a folder.
func withArtifacts(dir, registry string, do func(*artifact) error) error {
	work, err := os.MkdirTemp("", "artifacts-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	all, err := artifacts(dir, registry, work)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := do(a); err != nil {
			return err
		}
	}
	return nil
}

// Publish pushes the images and charts of the release in a folder to a registry such as
// ghcr.io/etcd-operators, with the credentials of docker's configuration, and returns their names with
// their digests. It is harmless to repeat. A version that is there already and has another digest is
// refused: its tag never moves.
func Publish(ctx context.Context, dir, registry string) ([]string, error) {
	var refs []string
	return refs, withArtifacts(dir, registry, func(a *artifact) error {
		if err := a.publish(ctx); err != nil {
			return fmt.Errorf("publish %s: %w", a.tag, err)
		}
		if !a.moves {
			refs = append(refs, a.ref())
		}
		return nil
	})
}

func (a *artifact) publish(ctx context.Context) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	there, err := remote.Head(a.tag, options...)
	var answer *transport.Error
	switch {
	case err == nil && there.Digest == a.digest:
		return nil
	case err == nil && !a.moves:
		return fmt.Errorf("it is published already, as %s: a tag never moves; release the next patch", there.Digest)
	case err == nil, errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return a.push(options...)
	}
	return err
}
