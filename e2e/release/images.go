package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

// repository is where the sources are.
const repository = "https://github.com/etcd-operators/etcd-operators"

// annotations tell of an image where it comes from.
func (b *build) annotations(title string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    title,
		"org.opencontainers.image.version":  b.tag,
		"org.opencontainers.image.revision": b.hash,
		"org.opencontainers.image.source":   repository,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  b.time.Format(time.RFC3339),
	}
}

// writeImage writes one image for all processors as an archive, and notes its digest.
func (b *build) writeImage(ctx context.Context, name string, spec func(arch string) image.Spec) error {
	r := &image.Release{Specs: map[string]image.Spec{}, Tag: b.tag, Created: b.time, Annotations: b.annotations(name)}
	for _, arch := range Architectures {
		s := spec(arch)
		labels := maps.Clone(r.Annotations)
		maps.Copy(labels, s.Labels)
		s.Labels = labels
		r.Specs[arch] = s
	}
	layout, err := os.MkdirTemp("", "layout-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(layout)
	digest, err := image.WriteLayout(ctx, layout, registry+"/"+name, r)
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	b.digests[name] = digest
	return writeImageArchive(filepath.Join(b.to, imageArchive(name, b.tag)), layout, b.time)
}

// makeImages writes the operators' images.
func (b *build) makeImages(ctx context.Context) error {
	for _, recipe := range images.Products {
		if err := b.writeImage(ctx, recipe.Name(), func(arch string) image.Spec { return recipe.Spec(b.programs(arch)) }); err != nil {
			return err
		}
	}
	return nil
}

// packBundles writes the bundles for OLM: each as an image, as OLM takes it, and as an archive for
// whoever has a catalogue of files.
func (b *build) packBundles(ctx context.Context) error {
	for _, operator := range charts.Operators {
		dir, name := filepath.Join(b.source, olm.Dir, operator), operator+"-bundle"
		spec := image.Spec{Files: map[string]string{}}
		for _, folder := range []string{"manifests", "metadata", "tests/scorecard"} {
			files, err := filepath.Glob(filepath.Join(dir, folder, "*.yaml"))
			if err != nil {
				return fmt.Errorf("list %s of the bundle of %s: %w", folder, operator, err)
			}
			if len(files) == 0 {
				return fmt.Errorf("there is nothing in %s of the bundle of %s", folder, operator)
			}
			for _, file := range files {
				spec.Files["/"+folder+"/"+filepath.Base(file)] = file
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "metadata/annotations.yaml"))
		if err != nil {
			return err
		}
		var metadata struct {
			Annotations map[string]string `json:"annotations"`
		}
		if err := yaml.UnmarshalStrict(text, &metadata); err != nil {
			return err
		}
		spec.Labels = metadata.Annotations
		if err := b.writeImage(ctx, name, func(string) image.Spec { return spec }); err != nil {
			return err
		}
		files, err := filesOf(dir)
		if err != nil {
			return err
		}
		if err := writeArchive(filepath.Join(b.to, name+"-"+b.tag+".tar.gz"), name, files, b.time); err != nil {
			return err
		}
	}
	return nil
}

// catalog is the name of the catalog for OLM, and of its image.
const catalog = "etcd-operators-catalog"

// writeCatalog writes the file-based catalog of the bundles, as a file and as an image. The image has the file alone:
// OLM reads it out of there, and serves it by a program of its own.
func (b *build) writeCatalog(ctx context.Context) error {
	args := []string{"catalog"}
	for _, operator := range charts.Operators {
		name := operator + "-bundle"
		args = append(args, registry+"/"+name+"@"+b.digests[name]+"="+filepath.Join(b.source, olm.Dir, operator))
	}
	text, err := exec.CommandContext(ctx, b.OLM, args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return fmt.Errorf("%s catalog: %w\n%s", b.OLM, err, failed.Stderr)
		}
		return err
	}
	file := filepath.Join(b.to, catalog+"-"+b.tag+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	return b.writeImage(ctx, catalog, func(string) image.Spec {
		return image.Spec{
			Files:  map[string]string{"/configs/etcd-operators/catalog.yaml": file},
			Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		}
	})
}
