package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "", "0.1.0": "", "1.2.3-rc.1": "",
		"":           "set VERSION, as in make release VERSION=1.2.3",
		"v1.2.3":     "set VERSION=1.2.3",
		"v1":         "set VERSION to MAJOR.MINOR.PATCH",
		"1.2":        "MAJOR.MINOR.PATCH",
		"latest":     "MAJOR.MINOR.PATCH",
		"01.2.3":     "MAJOR.MINOR.PATCH",
		"1.2.3+dirt": "leave out +dirt",
		"1.2.3-next": "use alpha.N, beta.N or rc.N",
	} {
		err := checkVersion(version)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", version, err, want)
		}
	}
}

const changelog = `# Changelog

## [Unreleased]

### Added

- Something that is not out yet.

## [1.1.0] - 2026-11-30

### Fixed

- It works.

## [1.0.1]

- No date.

## [1.0.0] - 2026-10-01

## [0.9.0] - 2026-09-01

- The first one, with a [page](docs/page.md) and a [site](https://example.com/).

[Unreleased]: https://example.com/compare
[0.9.0]: https://example.com/0.9.0
`

func TestChangesOf(t *testing.T) {
	for version, want := range map[string]string{"1.1.0": "### Fixed\n\n- It works.\n", "0.9.0": "- The first one, with a [page](docs/page.md) and a [site](https://example.com/).\n"} {
		if got, err := changesOf(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
	for version, want := range map[string]string{
		"1.2.0": "rename ## [Unreleased] to ## [1.2.0] - YYYY-MM-DD",
		"1.1":   "no section",
		"1.0.1": "write ## [1.0.1] - YYYY-MM-DD",
		"1.0.0": "nothing below ## [1.0.0]",
	} {
		if got, err := changesOf(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
}

// aRepository is a new one with a commit of these files, made at a certain time.
func aRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "all"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=1700000000 +0200", "GIT_COMMITTER_DATE=1700000000 +0200")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The commit's time and changes are taken from what is committed, and a checkout with anything
// else is refused.
func TestInspect(t *testing.T) {
	root := aRepository(t, map[string]string{"CHANGELOG.md": changelog, ".gitignore": "out/\n"})
	write(t, filepath.Join(root, "out/ignored"), "is no change")
	c, err := inspect(t.Context(), root, "1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if c.time.Unix() != 1700000000 || c.time.Location().String() != "UTC" || len(c.hash) != 40 || !strings.Contains(c.changes, "It works") {
		t.Errorf("%+v", c)
	}
	if _, err := inspect(t.Context(), root, "7.0.0"); err == nil || !strings.Contains(err.Error(), "no section for version 7.0.0") {
		t.Errorf("an unknown version: %v", err)
	}
	for reason, file := range map[string]string{"a change": "CHANGELOG.md", "a new file": "new.go"} {
		write(t, filepath.Join(root, file), "else")
		if _, err := inspect(t.Context(), root, "1.1.0"); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "git stash --include-untracked") {
			t.Errorf("%s: %v", reason, err)
		}
		if file == "new.go" {
			continue
		}
		write(t, filepath.Join(root, file), changelog)
	}
}

// What is exported is what is committed.
func TestExport(t *testing.T) {
	root := aRepository(t, map[string]string{"CHANGELOG.md": changelog, "a/b.txt": "committed"})
	write(t, filepath.Join(root, "a/b.txt"), "changed")
	c := &commit{hash: "HEAD"}
	b := &build{Options: &Options{Root: root}, commit: c, source: filepath.Join(t.TempDir(), "source")}
	if err := b.export(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filesOf(b.source)
	if err != nil || len(files) != 2 || string(files["a/b.txt"]) != "committed" {
		t.Errorf("%q, %v", files, err)
	}
}
