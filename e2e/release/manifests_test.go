package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"helm.sh/helm/v4/pkg/chart/common"
	renderutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

const digit = "0123456789abcdef"

// digestFor is some digest of an image.
func digestFor(name string) string {
	return "sha256:" + strings.Repeat(string(digit[len(name)%len(digit)]), 64)
}

// changes are those of the version, as the changelog has them.
const changes = `### Fixed

- It works: [page](docs/page.md), [site](https://example.com/).

### Added

Some text that is no change.

#### etcd-backup-operator

- **Backups** with ` + "`spec.x`" + `,
  for all: of "anything".

#### kubectl etcd

- A command.
`

// manifestsOnly is a build whose steps for manifests have run, from what is checked out here.
func manifestsOnly(t *testing.T) *build {
	t.Helper()
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := parseChanges(changes)
	if err != nil {
		t.Fatal(err)
	}
	b := &build{
		Options: &Options{Root: root, Version: "1.2.3-rc.1", OLM: filepath.Join(root, "bin/olm")}, tag: "v1.2.3-rc.1", digests: map[string]string{},
		commit: &commit{hash: strings.Repeat("c", 40), time: time.Unix(1700000000, 0).UTC(), changes: changes, entries: entries},
		work:   t.TempDir(), source: t.TempDir(), to: t.TempDir(),
	}
	for _, folder := range []string{"deploy", "charts", "examples", "site/assets", "tools/olm"} {
		if err := os.CopyFS(filepath.Join(b.source, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, operator := range charts.Operators {
		b.digests[operator] = digestFor(operator)
	}
	for _, step := range []func() error{
		func() error { return b.stamp(t.Context()) }, func() error { return b.render(t.Context()) },
		func() error { return b.packCharts(t.Context()) }, func() error { return b.packBundles(t.Context()) },
		func() error { return b.writeCatalog(t.Context()) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Manifests, charts and bundles carry the version, and are the same each time.
func TestManifests(t *testing.T) {
	b := manifestsOnly(t)
	t.Run("reproducible", func(t *testing.T) { areReproducible(t, b) })
	t.Run("uploaded", func(t *testing.T) { areFiles(t, b) })
	t.Run("version", func(t *testing.T) { carryTheVersion(t, b) })
	t.Run("charts", func(t *testing.T) { chartsCarryTheVersion(t, b) })
	t.Run("monitoring", func(t *testing.T) { monitoringIsDivided(t, b) })
	t.Run("catalog", func(t *testing.T) { catalogHasTheBundles(t, b) })
	t.Run("notes", func(t *testing.T) { notesNameImages(t, b) })
}

// areReproducible: two builds from the same sources are the same, wherever they are.
func areReproducible(t *testing.T, b *build) {
	one, err := checksums(b.to)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // archives have times in whole seconds
	two, err := checksums(manifestsOnly(t).to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" || len(one) < 12+4+3+1+4 {
		t.Errorf("%d files, two builds of them (-first +second):\n%s", len(one), diff)
	}
}

// areFiles: a release on GitHub has files alone, so what is in a folder of its own reaches no user.
func areFiles(t *testing.T, b *build) {
	all, err := os.ReadDir(b.to)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		if !entry.Type().IsRegular() {
			t.Errorf("%s is no file, and is not uploaded", entry.Name())
		}
	}
}

// carryTheVersion: each manifest has the version and the digest, and nothing of the development
// build.
func carryTheVersion(t *testing.T, b *build) {
	for _, operator := range charts.Operators {
		want := registry + "/" + operator + ":v1.2.3-rc.1@" + digestFor(operator)
		for _, m := range manifestsOf(operator) {
			text, err := os.ReadFile(filepath.Join(b.to, m.file))
			if err != nil {
				t.Fatal(err)
			}
			runsNothing := strings.HasSuffix(m.file, "-crds.yaml") || strings.HasSuffix(m.file, "-monitoring.yaml")
			if got, namespaces := deployed(t, text); runsNothing != (len(got) == 0) || len(got) > 0 && !slices.Equal(got, []string{want}) {
				t.Errorf("%s runs %v in %v, want %s", m.file, got, namespaces, want)
			}
			if bytes.Contains(text, []byte(":dev")) || bytes.Contains(text, []byte(latestPages)) {
				t.Errorf("%s names a development build, or a page of a later version", m.file)
			}
		}
		text, err := os.ReadFile(filepath.Join(b.source, olm.Dir, operator, "manifests", operator+".clusterserviceversion.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"image: " + want, "name: " + operator + ".v1.2.3-rc.1", "version: 1.2.3-rc.1", "maturity: beta", "createdAt: \"2023-11-14T22:13:20Z\""} {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("the bundle of %s does not say %s", operator, part)
			}
		}
		if b.digests[operator+"-bundle"] == "" {
			t.Errorf("the bundle of %s has no image", operator)
		}
	}
}

// catalogHasTheBundles by their digests, and OLM updates to them from each earlier version. The image of the
// catalog has the same file.
func catalogHasTheBundles(t *testing.T, b *build) {
	text := readFile(t, filepath.Join(b.to, "etcd-operators-catalog-v1.2.3-rc.1.yaml"))
	type entry struct{ Name, SkipRange string }
	got, want := map[string]entry{}, map[string]entry{}
	bundles := map[string]string{}
	for objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o struct {
			Schema, Package, Name, Image string
			Entries                      []entry
		}
		err := objects.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch o.Schema {
		case "olm.channel":
			if len(o.Entries) != 1 {
				t.Fatalf("channel %s of %s has %d entries", o.Name, o.Package, len(o.Entries))
			}
			got[o.Package+"/"+o.Name] = o.Entries[0]
		case "olm.bundle":
			bundles[o.Name] = o.Image
		}
	}
	for _, operator := range charts.Operators {
		version := operator + ".v1.2.3-rc.1"
		want[operator+"/candidate"] = entry{Name: version, SkipRange: "<1.2.3-rc.1"}
		if image := registry + "/" + operator + "-bundle@" + b.digests[operator+"-bundle"]; bundles[version] != image {
			t.Errorf("the bundle of %s is %s, want %s", version, bundles[version], image)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
	index, _, err := ReadImage(filepath.Join(b.to, imageArchive(catalog, b.tag)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(img)
	defer content.Close()
	for files := tar.NewReader(content); ; {
		h, err := files.Next()
		if err != nil {
			t.Fatalf("the image has no catalog: %v", err)
		}
		if strings.HasSuffix(h.Name, "configs/etcd-operators/catalog.yaml") {
			if in, err := io.ReadAll(files); err != nil || !bytes.Equal(in, text) {
				t.Errorf("the image has another catalog, of %d bytes: %v", len(in), err)
			}
			return
		}
	}
}

// deployed are the images of the Deployments in a manifest.
func deployed(t *testing.T, text []byte) (imagesOf, namespaces []string) {
	t.Helper()
	for objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var d appsv1.Deployment
		err := objects.Decode(&d)
		if errors.Is(err, io.EOF) {
			return imagesOf, namespaces
		}
		if err != nil && d.Kind == "Deployment" { // other kinds need not be one
			t.Fatal(err)
		}
		if d.Kind != "Deployment" {
			continue
		}
		namespaces = append(namespaces, d.Namespace)
		for i := range d.Spec.Template.Spec.Containers {
			imagesOf = append(imagesOf, d.Spec.Template.Spec.Containers[i].Image)
		}
	}
}

// monitoringIsDivided: each operator has the alerts about it and no others, and together they have all
// that deploy/monitoring has.
func monitoringIsDivided(t *testing.T, b *build) {
	var together []string
	for _, operator := range charts.Operators {
		text, err := os.ReadFile(filepath.Join(b.to, operator+"-monitoring.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var o metav1.PartialObjectMetadata
			if err := sigsyaml.Unmarshal(part, &o); err != nil {
				t.Fatal(err)
			}
			if o.Kind == "PrometheusRule" && o.Name != operator {
				t.Errorf("the alerts %s come with %s", o.Name, operator)
			}
			together = append(together, o.Kind+" "+o.Name)
		}
	}
	want := []string{
		"ConfigMap etcd-backups-dashboard", "ConfigMap etcd-cluster-dashboard", "ConfigMap etcd-fleet-dashboard", "PodMonitor etcd-members", "PodMonitor etcd-operators",
		"PrometheusRule etcd-backup-operator", "PrometheusRule etcd-operator", "PrometheusRule etcd-restore-operator",
	}
	slices.Sort(together)
	if diff := cmp.Diff(want, together); diff != "" {
		t.Errorf("in all (-want +got):\n%s", diff)
	}
}

// chartsCarryTheVersion, and that of all operators has the others in it.
func chartsCarryTheVersion(t *testing.T, b *build) {
	for _, name := range append([]string{charts.Umbrella}, charts.Operators...) {
		c, err := loader.LoadFile(filepath.Join(b.to, name+"-1.2.3-rc.1.tgz"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata.AppVersion != "v1.2.3-rc.1" || c.Metadata.Annotations["artifacthub.io/prerelease"] != "true" {
			t.Errorf("%s: %+v", name, c.Metadata)
		}
		areShown(t, c.Metadata)
		tellsToInstall(t, c)
		if name != charts.Umbrella {
			image := registry + "/" + name + ":"
			for tag, want := range map[string]string{"": image + "v1.2.3-rc.1@" + digestFor(name), "other": image + "other"} {
				if got := rendered(t, filepath.Join(b.to, name+"-1.2.3-rc.1.tgz"), tag); !slices.Equal(got, []string{want}) {
					t.Errorf("%s with image.tag=%q runs %v, want %s", name, tag, got, want)
				}
			}
			continue
		}
		var have []string
		for _, d := range c.Dependencies() {
			have = append(have, d.Name()+" "+d.Metadata.Version)
		}
		if want := []string{"etcd-backup-operator 1.2.3-rc.1", "etcd-operator 1.2.3-rc.1", "etcd-restore-operator 1.2.3-rc.1"}; !slices.Equal(slices.Sorted(slices.Values(have)), want) {
			t.Errorf("%s has %v", name, have)
		}
	}
}

// tellsToInstall: the page of a chart installs this version of it.
func tellsToInstall(t *testing.T, c *chart.Chart) {
	t.Helper()
	for _, f := range c.Files {
		if f.Name == "README.md" {
			if want := "oci://" + registry + "/charts/" + c.Name() + " --version 1.2.3-rc.1 "; !strings.Contains(string(f.Data), want) {
				t.Errorf("README.md of %s does not say %s", c.Name(), want)
			}
			return
		}
	}
	t.Errorf("%s has no README.md", c.Name())
}

// areShown: Artifact Hub shows a chart's images by their digests, and the changes that concern it.
func areShown(t *testing.T, about *chart.Metadata) {
	t.Helper()
	fixed := change{Kind: "fixed", Description: "It works: page, site.", Links: []changeLink{
		{Name: "page", URL: repository + "/blob/v1.2.3-rc.1/docs/page.md"}, {Name: "site", URL: "https://example.com/"},
	}}
	backups := change{Kind: "added", Description: `Backups with spec.x, for all: of "anything".`}
	operators, want := []string{about.Name}, []change{fixed}
	switch about.Name {
	case charts.Umbrella:
		operators, want = charts.Operators, []change{fixed, backups}
	case "etcd-backup-operator":
		want = []change{fixed, backups}
	}
	var got []change
	if err := sigsyaml.UnmarshalStrict([]byte(about.Annotations["artifacthub.io/changes"]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(change{})); diff != "" {
		t.Errorf("%s: changes (-want +got):\n%s", about.Name, diff)
	}
	for _, operator := range operators {
		image := "image: " + registry + "/" + operator + ":v1.2.3-rc.1@" + digestFor(operator)
		if shown := about.Annotations["artifacthub.io/images"]; !strings.Contains(shown, image+"\n") || strings.Contains(shown, ":dev") {
			t.Errorf("%s does not show %s:\n%s", about.Name, image, shown)
		}
	}
}

// rendered are the images that a chart runs, with a value of image.tag.
func rendered(t *testing.T, archive, tag string) []string {
	t.Helper()
	c, err := loader.LoadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"image": map[string]any{"tag": tag}}
	with, err := renderutil.ToRenderValues(c, values, common.ReleaseOptions{Name: "release", Namespace: "ns", IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, with)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := deployed(t, []byte(files[c.Name()+"/templates/deployment.yaml"]))
	return found
}

// A text that is no longer there is an error, and not a release with the old one.
func TestStampRefusesUnknownManifests(t *testing.T) {
	b := &build{source: t.TempDir()}
	write(t, filepath.Join(b.source, "f.yaml"), "newTag: other\n")
	if err := b.replace("f.yaml", "newTag: dev\n", "newTag: v1\n"); err == nil || !strings.Contains(err.Error(), `f.yaml has no "newTag: dev"`) {
		t.Errorf("%v", err)
	}
}

func notesNameImages(t *testing.T, b *build) {
	notes := b.releaseNotes()
	for _, name := range slices.Collect(maps.Keys(b.digests)) {
		if !strings.Contains(notes, "| `"+registry+"/"+name+":v1.2.3-rc.1` | `"+b.digests[name]+"` |") {
			t.Errorf("%s is missing in\n%s", name, notes)
		}
	}
	if !strings.HasPrefix(notes, "### Fixed\n\n- It works: [page]("+repository+"/blob/v1.2.3-rc.1/docs/page.md), [site](https://example.com/).\n") {
		t.Error(notes)
	}
}
