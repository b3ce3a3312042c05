// Package release builds a release of the operators from a commit: images for each processor,
// manifests, charts, bundles for OLM and their catalog, the plugin, SBOMs, checksums, provenance, and the notes.
//
// It builds from an export of the commit, never from the checkout, and takes the commit's time for
// now. So the same commit, version, Go and CA certificates give the same bytes, on any machine and
// in any folder; whoever builds it again can compare the checksums. Signing and publishing are
// apart, since they need a key and a registry.
package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// Architectures are those that images are built for, as GOARCH has them.
var Architectures = []string{"amd64", "arm64"}

// Names of files in the folder of a release. All others are described in docs/project/releasing.md.
const (
	Checksums  = "SHA256SUMS"
	Provenance = "provenance.json"
	Notes      = "RELEASE_NOTES.md"
)

// signature ends the name of a file's signature, with what verifies it.
const signature = ".sigstore.json"

// registry is where the images are published, as the manifests name them.
const registry = "ghcr.io/etcd-operators"

// Options say what to build.
type Options struct {
	// Root is the repository, whose checked-out commit is built.
	Root string
	// Version is the one to build, such as 1.2.3.
	Version string
	// Out is the folder to write to. It is replaced, once all is built.
	Out string
	// Builder is the URI of who builds, for the provenance; empty: [Local].
	Builder string
	// SBOM is the program cyclonedx-gomod.
	SBOM string
	// OLM is the program of tools/olm.
	OLM string
	// Log tells of progress.
	Log func(format string, args ...any)
}

// build is one build, and what its steps have found out.
type build struct {
	*Options
	*commit
	// tag is the version as tags have it, such as v1.2.3.
	tag string
	// work is a folder for what is needed only meanwhile, source the export of the commit in
	// it, and to the folder that becomes Out.
	work, source, to string
	// digests are those of the images, by their names.
	digests map[string]string
}

// Build builds a release. It refuses a version that is no semantic one, one that CHANGELOG.md does
// not know, and a checkout with changes.
func Build(ctx context.Context, o *Options) (err error) {
	if err := checkVersion(o.Version); err != nil {
		return err
	}
	if err := images.NeedCACertificates(); err != nil {
		return err
	}
	c, err := inspect(ctx, o.Root, o.Version)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := &build{
		Options: o, commit: c, tag: "v" + o.Version, digests: map[string]string{},
		work: work, source: filepath.Join(work, "source"), to: o.Out + ".part",
	}
	if err := os.RemoveAll(b.to); err != nil {
		return err
	}
	if err := os.MkdirAll(b.to, 0o755); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"export commit " + c.hash, b.export},
		{"compile the programs", b.compile},
		{"make the images", b.makeImages},
		{"give the manifests their version", b.stamp},
		{"render the manifests", b.render},
		{"pack the charts", b.packCharts},
		{"pack the bundles for OLM", b.packBundles},
		{"write their catalog", b.writeCatalog},
		{"pack the plugin", b.packPlugin},
		{"list what is in each program", b.listModules},
		{"write notes, checksums and provenance", b.conclude},
	} {
		o.Log("%s", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	if err := os.RemoveAll(o.Out); err != nil {
		return err
	}
	return os.Rename(b.to, o.Out)
}

// programs is the folder of the programs for one processor.
func (b *build) programs(arch string) string { return filepath.Join(b.work, "programs", arch) }

// compile builds each program of the images, for each processor.
func (b *build) compile(ctx context.Context) error {
	for _, arch := range Architectures {
		if err := images.Compile(ctx, b.source, images.Products, b.programs(arch), images.Target{Arch: arch, Version: b.tag}); err != nil {
			return err
		}
	}
	return nil
}

// conclude writes what tells of all the rest.
func (b *build) conclude(context.Context) error {
	if err := os.WriteFile(filepath.Join(b.to, Notes), []byte(b.releaseNotes()), 0o644); err != nil {
		return err
	}
	sums, err := checksums(b.to)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.to, Checksums), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	statement, err := b.provenance(sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.to, Provenance), statement, 0o644)
}
