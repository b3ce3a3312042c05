package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repoRoot is the root of the repository, seen from this package.
const repoRoot = "../.."

// Each test that the page on security names is there.
func TestSecurityNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repoRoot, "docs/design/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	folder, found := "", 0
	for _, quoted := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(page), -1) {
		switch word := quoted[1]; {
		case regexp.MustCompile(`^(e2e|shared|operators)/`).MatchString(word):
			folder = word
		case regexp.MustCompile(`^Test[A-Z]`).MatchString(word):
			found++
			if !hasTest(t, folder, word) {
				t.Errorf("there is no %s in %q", word, folder)
			}
		}
	}
	if found < 15 {
		t.Errorf("the page names %d tests: too few for what it states", found)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repoRoot, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
