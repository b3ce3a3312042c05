package project

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The places that a recipe names are there.
func TestRecipesNameWhatThereIs(t *testing.T) {
	_, recipes, _ := strings.Cut(string(repoFile(t, "CONTRIBUTING.md")), "\n## Recipes\n")
	place := regexp.MustCompile("`([A-Za-z0-9_./*-]+/[A-Za-z0-9_./*-]*)`")
	found := 0
	for _, named := range place.FindAllStringSubmatch(recipes, -1) {
		name := named[1]
		if strings.HasPrefix(name, "out/") || strings.HasPrefix(name, "go.etcd.io/") {
			continue
		}
		found++
		pattern := strings.ReplaceAll(name, "3.x", "3.*") // of each minor of etcd
		if rest, ok := strings.CutPrefix(pattern, "O/"); ok {
			pattern = "operators/etcd-operator/internal/" + rest
		}
		for _, folder := range []string{"", "operators/*"} { // also of each operator
			if matches, err := filepath.Glob(filepath.Join(repoRoot, folder, pattern)); err != nil {
				t.Fatalf("%s: %v", name, err)
			} else if len(matches) > 0 {
				name = ""
			}
		}
		if name != "" {
			t.Errorf("CONTRIBUTING.md names %s, which is not there", name)
		}
	}
	if found < 40 {
		t.Errorf("%d places: too few to have been found by the right pattern", found)
	}
}
