package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

func TestParseChanges(t *testing.T) {
	for name, c := range map[string]struct {
		section string
		want    []change
	}{
		"each kind": {
			section: "### Added\n\n- A.\n\n### Changed\n- B.\n### Deprecated\n- C.\n### Removed\n- D.\n### Fixed\n- E.\n### Security\n- F.\n",
			want: []change{
				{Kind: "added", Description: "A."}, {Kind: "changed", Description: "B."}, {Kind: "deprecated", Description: "C."},
				{Kind: "removed", Description: "D."}, {Kind: "fixed", Description: "E."}, {Kind: "security", Description: "F."},
			},
		},
		"a part ends with its kind": {
			section: "### Added\n\n#### etcd-operator\n\n- A.\n\n### Fixed\n\n- B.\n",
			want:    []change{{Kind: "added", Description: "A.", part: "etcd-operator"}, {Kind: "fixed", Description: "B."}},
		},
		"Markdown, in several lines": {
			section: "### Added\n\nSince 1.0:\n\n- **A:** `b`, see\n  [c](d.md).\n- E.\n",
			want:    []change{{Kind: "added", Description: "A: b, see c.", Links: []changeLink{{Name: "c", URL: "d.md"}}}, {Kind: "added", Description: "E."}},
		},
		"none": {section: "### Added\n\nText alone.\n"},
	} {
		got, err := parseChanges(c.section)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(change{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for section, want := range map[string]string{
		"### New\n\n- A.\n": `"### New", which is no kind of change`,
		"- A.\n":            `"- A.": put it below ### Added`,
	} {
		if got, err := parseChanges(section); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", section, got, err, want)
		}
	}
}

// What is not released yet can be: each of its items has a kind, and reads well without Markdown.
func TestChangelogCanBeReleased(t *testing.T) {
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	dated := strings.Replace(string(text), "## [Unreleased]\n", "## [7.0.0] - 2026-01-31\n", 1)
	section, err := changesOf(dated, "7.0.0")
	if err != nil {
		t.Skipf("nothing to release: %v", err)
	}
	all, err := parseChanges(section)
	if err != nil {
		t.Fatal(err)
	}
	if items := strings.Count("\n"+section, "\n- "); len(all) != items {
		t.Errorf("%d of %d items are changes", len(all), items)
	}
	for _, c := range all {
		if strings.Contains(c.Description, "](") || strings.Contains(c.Description, "**") || strings.Contains(c.Description, "`") {
			t.Errorf("there is Markdown in %q", c.Description)
		}
	}
}
