package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/registry"
)

// writeCatalog writes a file-based catalog of bundles, each of which is given as IMAGE=FOLDER. In each channel
// of a package is its bundle alone, which is updated to from the versions in its own annotation.
func writeCatalog(ctx context.Context, bundles []string, to io.Writer) error {
	var all declcfg.DeclarativeConfig
	for _, given := range bundles {
		image, dir, ok := strings.Cut(given, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form IMAGE=FOLDER", given)
		}
		if err := addBundle(ctx, &all, image, dir); err != nil {
			return fmt.Errorf("bundle %s: %w", dir, err)
		}
	}
	if _, err := declcfg.ConvertToModel(all); err != nil {
		return fmt.Errorf("the catalog is not valid: %w", err)
	}
	return declcfg.WriteYAML(all, to)
}

func addBundle(ctx context.Context, to *declcfg.DeclarativeConfig, image, dir string) error {
	named, err := template.New("image").Parse(image)
	if err != nil {
		return err
	}
	// What OLM's consoles show is in one property, as in today's catalogs, and not in copies of all manifests.
	current, err := migrations.NewMigrations(migrations.AllMigrations)
	if err != nil {
		return err
	}
	rendered, err := action.Render{Refs: []string{dir}, AllowedRefMask: action.RefBundleDir, ImageRefTemplate: named, Migrations: current}.Run(ctx)
	if err != nil {
		return err
	}
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return err
	}
	var metadata registry.AnnotationsFile
	if err := registry.DecodeFile(filepath.Join(dir, "metadata/annotations.yaml"), &metadata); err != nil {
		return err
	}
	about, of := bundle.CSV.Spec, metadata.Annotations
	made := declcfg.Package{Schema: declcfg.SchemaPackage, Name: of.PackageName, DefaultChannel: of.DefaultChannelName, Description: about.Description}
	for _, icon := range about.Icon {
		data, err := base64.StdEncoding.DecodeString(icon.Data)
		if err != nil {
			return fmt.Errorf("icon: %w", err)
		}
		made.Icon = &declcfg.Icon{Data: data, MediaType: icon.MediaType}
	}
	to.Packages = append(to.Packages, made)
	for channel := range strings.SplitSeq(of.Channels, ",") {
		to.Channels = append(to.Channels, declcfg.Channel{
			Schema: declcfg.SchemaChannel, Name: channel, Package: of.PackageName,
			Entries: []declcfg.ChannelEntry{{Name: bundle.CSV.Name, SkipRange: bundle.CSV.Annotations["olm.skipRange"]}},
		})
	}
	to.Bundles = append(to.Bundles, rendered.Bundles...)
	return nil
}
