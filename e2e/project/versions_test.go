package project

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"

	"github.com/etcd-operators/etcd-operators/e2e/git"
)

// shownVersion is an etcd that a user is shown as one to run.
var shownVersion = regexp.MustCompile(`(?:"?version"?: ?"?v?|coreos/etcd:v|currentVersion}'=)(3\.\d+\.\d+)\b`)

// What users copy runs an etcd that the tests run: the examples are applied where there is no other.
func TestPagesShowTestedVersions(t *testing.T) {
	tracked, err := git.Run(t.Context(), repoRoot, "ls-files", "README.md", "docs/tasks", "docs/runbooks", "docs/*.md", "examples", "deploy")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range strings.Fields(string(tracked)) {
		if strings.HasPrefix(name, "docs/reference/") || strings.HasPrefix(name, "docs/design/") || strings.Contains(name, "/crd/") {
			continue
		}
		for _, shown := range shownVersion.FindAllSubmatch(repoFile(t, name), -1) {
			found++
			if version := string(shown[1]); !slices.Contains(etcdversion.All(), version) {
				t.Errorf("%s shows etcd %s, and the tests run %s: sed -i 's/%s/NEW/g' %s", name, version, strings.Join(etcdversion.All(), ", "), regexp.QuoteMeta(version), name)
			}
		}
	}
	if found < 15 {
		t.Errorf("%d versions: too few to have been found by the right pattern", found)
	}
}

var (
	releasedSection = regexp.MustCompile(`(?m)^## \[\d`)
	noRelease       = regexp.MustCompile(`(?i)\bno release (is|has been)\b|\bnothing has been released\b`)
)

// TestPagesKnowTheRelease: until there is a release, the page that all read first says so; from then on,
// no page does.
func TestPagesKnowTheRelease(t *testing.T) {
	if !releasedSection.Match(repoFile(t, "CHANGELOG.md")) {
		if !noRelease.Match(repoFile(t, "README.md")) {
			t.Error("README.md does not say that no release is published")
		}
		return
	}
	tracked, err := git.Run(t.Context(), repoRoot, "ls-files", "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(tracked)) {
		if said := noRelease.Find(repoFile(t, name)); said != nil {
			t.Errorf("%s says: %s", name, said)
		}
	}
}

// The support matrix is the one page that lists the supported minors.
func TestSupportMatrix(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| (3\.\d+) \| [^|]* \| (3\.\d+\.\d+) \|`)
	var got []string
	for _, found := range row.FindAllSubmatch(repoFile(t, "docs/support-matrix.md"), -1) {
		got = append(got, fmt.Sprintf("%s: %s", found[1], found[2]))
	}
	slices.Reverse(got) // the newest comes first
	var want []string
	for i, minor := range etcdversion.Minors() {
		want = append(want, minor+": "+etcdversion.All()[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/support-matrix.md (-want +got):\n%s", diff)
	}
}

// A comment that says for which minors etcd's source was read for it says so for the newest: whoever
// adds a minor reads the source again there.
func TestSourceIsReadOfEachMinor(t *testing.T) {
	said := regexp.MustCompile(`//.*\b3\.[045] to (3\.\d+)\b`)
	minors := etcdversion.Minors()
	newest := minors[len(minors)-1]
	tracked, err := git.Run(t.Context(), repoRoot, "grep", "-lE", "3[.][045] to 3[.]", "--", "*.go", ":!*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(tracked)) {
		for _, until := range said.FindAllSubmatch(repoFile(t, name), -1) {
			if string(until[1]) != newest {
				t.Errorf("%s has a comment on etcd's source up to %s: read that of %s for it", name, until[1], newest)
			}
		}
	}
}
