package previous

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// The manifests are those of the release that is named.
func TestManifestsAreOfTheRelease(t *testing.T) {
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
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
