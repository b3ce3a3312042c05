package image

import (
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Release is an image for several processors.
type Release struct {
	// Specs say what is in it, by processor as GOARCH has it. The system is Linux.
	Specs map[string]Spec
	// Tag is the one that the layout gives it.
	Tag string
	// Created is the time that it tells of itself.
	Created time.Time
	// Annotations are on its index, by the keys of
	// https://github.com/opencontainers/image-spec/blob/main/annotations.md.
	Annotations map[string]string
}

// WriteLayout writes an image into the empty folder dir as an OCI layout, with its layers compressed,
// and returns the digest of its index: what a registry will call it. name, such as
// example.com/team/app, is what containerd calls the image when it imports the layout.
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md)
func WriteLayout(ctx context.Context, dir, name string, r *Release) (digest string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(r.Specs)) {
		img, err := ociImage(ctx, r.Specs[arch], arch, r.Created)
		if err != nil {
			return "", fmt.Errorf("image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: plain{img}, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	if len(r.Annotations) > 0 {
		index = mutate.Annotations(index, r.Annotations).(v1.ImageIndex)
	}
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.Tag,
		"io.containerd.image.name":          name + ":" + r.Tag,
	})); err != nil {
		return "", fmt.Errorf("write %s: %w", dir, err)
	}
	hash, err := index.Digest()
	return hash.String(), err
}

// plain keeps the type of an image's configuration out of the index: Debian 12's skopeo drops what it does not
// know of an index, and so copies the image with another digest.
type plain struct{ v1.Image }

// ArtifactType is what the index takes, if there is this method.
func (plain) ArtifactType() (string, error) { return "", nil }

func ociImage(ctx context.Context, spec Spec, arch string, created time.Time) (v1.Image, error) {
	layers, err := layersOf(ctx, spec, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression))
	if err != nil {
		return nil, err
	}
	on := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return assemble(on, layers, spec, arch, v1.Time{Time: created.UTC()})
}
