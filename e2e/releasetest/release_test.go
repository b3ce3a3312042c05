// Package releasetest builds a whole release, twice, looks at it as its users do, and installs it on a
// Kubernetes that it brings up: `make test-release`. It takes long, since all is compiled for each platform; the tests of package
// release are the quick ones.
package releasetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/release"
)

const (
	// version is the one that is built here, and tag is how its programs call themselves.
	version = "0.0.1-rc.1"
	tag     = "v" + version
)

// TestRelease builds the commit that is checked out in two folders, with a section in the
// changelog. What is in no commit is not tested.
func TestRelease(t *testing.T) {
	if os.Geteuid() != 0 || os.Getenv("KUBECONFIG") != "" {
		t.Fatal("it brings up a Kubernetes of its own, and deletes what is on it: run it as root, without KUBECONFIG")
	}
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another", "two")
	run(t, "", "git", "clone", "-q", root, one)
	t.Run("refused", func(t *testing.T) { refuses(t, one) })
	commitChanges(t, one)
	run(t, "", "git", "clone", "-q", one, two)
	for _, folder := range []string{one, two} {
		run(t, folder, "make", "release", "VERSION="+version)
	}
	dir := filepath.Join(one, "out/release")
	t.Run("reproducible", func(t *testing.T) { areSame(t, dir, filepath.Join(two, "out/release")) })
	t.Run("checksums", func(t *testing.T) { run(t, dir, "sha256sum", "--check", "--quiet", "--strict", release.Checksums) })
	t.Run("images", func(t *testing.T) { imagesRun(t, dir) })
	t.Run("plugin", func(t *testing.T) { pluginRuns(t, dir) })
	t.Run("krew", func(t *testing.T) { krewInstalls(t, root, dir) })
	t.Run("SBOMs", func(t *testing.T) { listsModules(t, dir) })
	t.Run("bundles", func(t *testing.T) { bundlesAreValid(t, root, dir) })
	t.Run("signatures", func(t *testing.T) { areVerified(t, root, dir) })
	t.Run("installs", func(t *testing.T) { installs(t, root, one, dir) })
	t.Run("notes", func(t *testing.T) {
		if text := read(t, filepath.Join(dir, release.Notes)); !strings.HasPrefix(text, "### Added\n\n- All of it.\n") {
			t.Errorf("they begin otherwise:\n%s", text)
		}
	})
}

// refuses a version without a section in the changelog, one that is none, and a changed checkout.
func refuses(t *testing.T, folder string) {
	for reason, c := range map[string]struct{ version, want string }{
		"no version":     {"", "set VERSION, as in make release VERSION=1.2.3"},
		"a tag":          {tag, "set VERSION=" + version},
		"not released":   {version, "rename ## [Unreleased] to ## [" + version + "] - YYYY-MM-DD"},
		"uncommitted":    {version, "stray.go"},
		"an odd release": {"1.2", "MAJOR.MINOR.PATCH"},
	} {
		stray := filepath.Join(folder, "stray.go")
		if reason == "uncommitted" {
			if err := os.WriteFile(stray, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := command(t.Context(), folder, "make", "release", "VERSION="+c.version).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %q\n%s", reason, err, c.want, out)
		}
		if err := os.Remove(stray); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// commitChanges gives the changelog a section for the version.
func commitChanges(t *testing.T, folder string) {
	t.Helper()
	file := filepath.Join(folder, "CHANGELOG.md")
	with := strings.Replace(read(t, file), "## [Unreleased]\n", "## [Unreleased]\n\n## ["+version+"] - 2026-01-31\n\n### Added\n\n- All of it.\n\n## [0.0.0] - 2026-01-01\n", 1)
	if err := os.WriteFile(file, []byte(with), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-a", "-m", "Release "+version)
}

// areSame fails the test for each file that is not the same in both folders.
func areSame(t *testing.T, one, two string) {
	files, others := filesBelow(t, one), filesBelow(t, two)
	if !slices.Equal(files, others) || len(files) < 50 {
		t.Fatalf("the first build has %d files %v, the second %d files %v", len(files), files, len(others), others)
	}
	for _, file := range files {
		a, b := read(t, filepath.Join(one, file)), read(t, filepath.Join(two, file))
		if a != b {
			t.Errorf("%s differs: %d and %d bytes", file, len(a), len(b))
		}
	}
	t.Logf("%d files are the same", len(files))
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	if err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(file, dir+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// command runs in a folder as from a shell: without what the make that runs this test has set.
func command(ctx context.Context, folder, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"GOFLAGS=", "GOWORK=", "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS=", "VERSION="}, func(name string) bool { return strings.HasPrefix(v, name) })
	})
	return cmd
}

func run(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	cmd := command(t.Context(), folder, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
