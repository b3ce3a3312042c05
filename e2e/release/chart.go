package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
)

// chartsFolder is where the charts are, below a registry of images: a chart has the name of its image.
const chartsFolder = "/charts/"

// What Helm stores a chart as: https://helm.sh/docs/topics/registries/#helm-chart-manifest.
const (
	chartConfig types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartLayer  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// What Artifact Hub reads about the repository of a chart, beside its versions, if the chart has the file:
// https://artifacthub.io/docs/topics/repositories/helm-charts/#oci-support.
const (
	hubFile                   = "artifacthub-repo.yml"
	hubTag                    = "artifacthub.io"
	hubConfig types.MediaType = "application/vnd.cncf.artifacthub.config.v1+yaml"
	hubLayer  types.MediaType = "application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml"
)

// file is an artifact of a registry that holds one file.
type file struct {
	content, config []byte
	manifest        v1.Manifest
}

func newFile(content []byte, layer types.MediaType, config []byte, configType types.MediaType, annotations map[string]string) *file {
	describe := func(blob []byte, of types.MediaType) v1.Descriptor {
		// It fails only if the blob cannot be read.
		digest, size, _ := v1.SHA256(bytes.NewReader(blob))
		return v1.Descriptor{MediaType: of, Digest: digest, Size: size}
	}
	return &file{content: content, config: config, manifest: v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: describe(config, configType),
		Layers: []v1.Descriptor{describe(content, layer)}, Annotations: annotations,
	}}
}

// The methods are those of [partial.CompressedImageCore].

func (f *file) MediaType() (types.MediaType, error) { return f.manifest.MediaType, nil }
func (f *file) RawConfigFile() ([]byte, error)      { return f.config, nil }
func (f *file) RawManifest() ([]byte, error)        { return json.Marshal(f.manifest) }
func (f *file) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) {
	return static.NewLayer(f.content, f.manifest.Layers[0].MediaType), nil
}

// artifact is the file under a tag of a registry.
func (f *file) artifact(repository, tag string) (*artifact, error) {
	image, err := partial.CompressedToImage(f)
	if err != nil {
		return nil, err
	}
	at, err := name.NewTag(repository+":"+tag, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	digest, err := image.Digest()
	return &artifact{tag: at, digest: digest, push: func(options ...remote.Option) error { return remote.Write(at, image, options...) }}, err
}

// chartArtifacts reads the charts of the release in a folder, as Helm pushes them to a registry.
func chartArtifacts(dir, registry string) ([]*artifact, error) {
	var all []*artifact
	for _, chart := range append([]string{charts.Umbrella}, charts.Operators...) {
		archives, err := filepath.Glob(filepath.Join(dir, chart+"-[0-9]*.tgz"))
		if err != nil {
			return nil, err
		}
		for _, archive := range archives {
			some, err := chartArtifact(archive, registry)
			if err != nil {
				return nil, fmt.Errorf("chart %s: %w", archive, err)
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// chartArtifact is a chart, and what it has for Artifact Hub. The same chart has the same digest, which is
// why Helm does not push it: Helm adds the time at which the archive was made.
func chartArtifact(archive, registry string) ([]*artifact, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(c.Metadata)
	if err != nil {
		return nil, err
	}
	repository := registry + chartsFolder + c.Name()
	a, err := newFile(content, chartLayer, config, chartConfig, chartAnnotations(c)).artifact(repository, c.Metadata.Version)
	if err != nil {
		return nil, err
	}
	all := []*artifact{a}
	for _, f := range c.Files {
		if f.Name != hubFile {
			continue
		}
		hub, err := newFile(f.Data, hubLayer, nil, hubConfig, nil).artifact(repository, hubTag)
		if err != nil {
			return nil, err
		}
		hub.moves = true
		all = append(all, hub)
	}
	return all, nil
}

// chartAnnotations are those that Helm gives the manifest of a chart, with the time of its commit.
func chartAnnotations(c *chart.Chart) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       c.Name(),
		"org.opencontainers.image.version":     c.Metadata.Version,
		"org.opencontainers.image.description": c.Metadata.Description,
		"org.opencontainers.image.url":         c.Metadata.Home,
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.created":     c.ModTime.UTC().Format(time.RFC3339),
	}
}
