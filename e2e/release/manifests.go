package release

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

// What the sources have in place of a version.
const (
	devTag   = "dev"
	devChart = "0.0.0-dev"
)

// latestPages is how the address of a page of docs/ begins, behind that of the repository; the pages of
// a release are those of its tag.
const latestPages = "/blob/main/"

func (b *build) pages() string { return "/blob/" + b.tag + "/" }

// stamp gives the exported manifests, charts and bundles the version and the digests of the images.
func (b *build) stamp(context.Context) error {
	for _, operator := range charts.Operators {
		file := filepath.Join("deploy", operator, "base/kustomization.yaml")
		if err := b.replace(file, "newTag: "+devTag+"\n", "newTag: "+b.tag+"\n    digest: "+b.digests[operator]+"\n"); err != nil {
			return err
		}
		if err := b.replace(filepath.Join("deploy/monitoring", operator+"-rules.yaml"), latestPages, b.pages()); err != nil {
			return err
		}
		if err := b.stampChart(operator, operator); err != nil {
			return err
		}
		if err := b.replace(chartFile(operator), "\nannotations:\n", "\nannotations:\n  "+charts.DigestAnnotation+": "+b.digests[operator]+"\n"); err != nil {
			return err
		}
	}
	if err := b.stampChart(charts.Umbrella, charts.Operators...); err != nil {
		return err
	}
	return b.generate()
}

func chartFile(chart string) string { return filepath.Join("charts", chart, "Chart.yaml") }

// stampChart gives a chart its version, the changes in it, and the digests of the images that it
// shows.
func (b *build) stampChart(chart string, shown ...string) error {
	file := chartFile(chart)
	for old, with := range map[string]string{
		"version: " + devChart + "\n":  "version: " + b.Version + "\n",
		"appVersion: " + devTag + "\n": "appVersion: " + b.tag + "\n",
		"prerelease: \"true\"\n":       fmt.Sprintf("prerelease: %q\n", fmt.Sprint(strings.Contains(b.Version, "-"))),
	} {
		if err := b.replace(file, old, with); err != nil {
			return err
		}
	}
	for _, operator := range shown {
		if err := b.replace(file, "/"+operator+":"+devTag+"\n", "/"+operator+":"+b.tag+"@"+b.digests[operator]+"\n"); err != nil {
			return err
		}
	}
	changes, err := b.chartChanges(chart)
	if err != nil {
		return fmt.Errorf("changes of chart %s: %w", chart, err)
	}
	return b.replace(file, "\nannotations:\n", "\nannotations:\n"+changes)
}

// replace changes each place of a text in an exported file. There must be one.
func (b *build) replace(file, old, with string) error {
	at := filepath.Join(b.source, file)
	text, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s has no %q", file, strings.TrimSpace(old))
	}
	return os.WriteFile(at, []byte(strings.ReplaceAll(string(text), old, with)), 0o644)
}

// generate writes what is generated from the manifests again, and sets the time of each chart's files to the
// commit's.
func (b *build) generate() error {
	bundles := func(root string) (map[string]string, error) { return olm.GenerateAt(root, b.time) }
	for _, generate := range []func(string) (map[string]string, error){charts.Generate, bundles} {
		made, err := generate(b.source)
		if err != nil {
			return err
		}
		for file, text := range made {
			text = strings.ReplaceAll(text, latestPages, b.pages())
			at := filepath.Join(b.source, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(filepath.Join(b.source, "charts"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(file, b.time, b.time)
	})
}

// manifest is a file with the objects of a folder of deploy/: all, or those that has tells.
type manifest struct {
	file, folder, about string
	has                 func(kind, name string) bool
}

// manifestsOf are those of an operator.
func manifestsOf(operator string) []manifest {
	return []manifest{
		{operator + ".yaml", operator, "for one namespace, default; for another one write a kustomization with this file and that namespace", nil},
		{operator + "-cluster-wide.yaml", operator + "/cluster-wide", "for all namespaces, in the namespace etcd-operators", nil},
		{operator + "-crds.yaml", operator + "/crd", "only the CustomResourceDefinition and what checks its objects, which the other files have too", nil},
		{operator + "-monitoring.yaml", "monitoring", "alerts and dashboards, for the Prometheus operator and Grafana", func(kind, name string) bool { return monitorOf(kind, name) == operator }},
	}
}

// monitorOf is the operator with which an object of deploy/monitoring is installed. An alert of one that
// is not installed would tell that it is down.
func monitorOf(kind, name string) string {
	switch {
	case kind == "PrometheusRule":
		return name
	case name == "etcd-backups-dashboard":
		return "etcd-backup-operator"
	}
	return "etcd-operator"
}

// render writes each installation as one file.
func (b *build) render(context.Context) error {
	var all []manifest
	for _, operator := range charts.Operators {
		all = append(all, manifestsOf(operator)...)
	}
	for _, m := range all {
		objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(b.source, "deploy", m.folder))
		if err != nil {
			return fmt.Errorf("deploy/%s: %w", m.folder, err)
		}
		for _, o := range objects.Resources() {
			if m.has != nil && !m.has(o.GetKind(), o.GetName()) {
				if err := objects.Remove(o.CurId()); err != nil {
					return fmt.Errorf("deploy/%s: %w", m.folder, err)
				}
			}
		}
		text, err := objects.AsYaml()
		if err != nil {
			return fmt.Errorf("deploy/%s: %w", m.folder, err)
		}
		head := fmt.Sprintf("# etcd operators %s, deploy/%s:\n# %s.\n# %s\n", b.tag, m.folder, m.about, repository)
		if err := os.WriteFile(filepath.Join(b.to, m.file), append([]byte(head), text...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packCharts writes the charts as Helm packs them; the one of all operators has the others in it.
func (b *build) packCharts(context.Context) error {
	for _, name := range append([]string{charts.Umbrella}, charts.Operators...) {
		c, err := loader.LoadDir(filepath.Join(b.source, "charts", name))
		if err != nil {
			return err
		}
		if name == charts.Umbrella {
			c.SetDependencies() // without what helm has left in a checkout
			for _, operator := range charts.Operators {
				one, err := loader.LoadDir(filepath.Join(b.source, "charts", operator))
				if err != nil {
					return err
				}
				c.AddDependency(one)
			}
		}
		if _, err := chartutil.Save(c, b.to); err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
	}
	return nil
}
