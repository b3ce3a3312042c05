package previous

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// release is the one that is kept.
func release(t *testing.T) *Release {
	t.Helper()
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The manifests are those of the release that is named.
func TestManifestsAreOfTheRelease(t *testing.T) {
	r := release(t)
	if !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(r.Commit) {
		t.Errorf("commit %q is not a whole hash", r.Commit)
	}
	for _, recipe := range images.Products {
		text, err := os.ReadFile(r.Manifest(recipe.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		if name := "image: ghcr.io/etcd-operators/" + recipe.Name() + ":"; !strings.Contains(string(text), name+r.Version) || strings.Count(string(text), name) != 1 {
			t.Errorf("the manifest of %s does not run %s", recipe.Name(), r.Version)
		}
	}
}

// The chart is that of the release, has those of all operators in it, and is the only one.
func TestChartIsOfTheRelease(t *testing.T) {
	r := release(t)
	c, err := loader.LoadFile(r.Chart())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range append(c.Dependencies(), c) {
		if m := part.Metadata; "v"+m.Version != r.Version || m.AppVersion != r.Version {
			t.Errorf("chart %s is version %s, of %s, and not of %s", m.Name, m.Version, m.AppVersion, r.Version)
		}
	}
	if n := len(c.Dependencies()); n != len(images.Products) {
		t.Errorf("the charts of %d operators are in it", n)
	}
	if all, err := filepath.Glob(filepath.Join(r.dir(), "*.tgz")); err != nil || len(all) != 1 {
		t.Errorf("the charts are %v, want one: %v", all, err)
	}
}
