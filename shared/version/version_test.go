package version

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The linker stamps a version into a program, which prints it for --version. Without a stamp, or
// with an empty one, it is that of the build.
func TestStamp(t *testing.T) {
	for name, c := range map[string]struct{ flag, want string }{
		"a release":      {LinkerFlag("v1.2.3-rc.1"), "program v1.2.3-rc.1\n"},
		"no stamp":       {"", "program (devel)\n"},
		"an empty stamp": {LinkerFlag(""), "program (devel)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "program")
			build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w "+c.flag, "-o", program, "./testdata/program")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
			if err != nil || string(out) != c.want {
				t.Errorf("it prints %q (%v), want %q", out, err, c.want)
			}
		})
	}
	if Release() != "" || Number() == "" {
		t.Errorf("a test is of release %q, version %q", Release(), Number())
	}
}

// What git describe makes of a later commit or of changes is no release.
func TestIsReleaseTag(t *testing.T) {
	for tag, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0": true, "v1.2.3-rc.1": true, "v1.2.3-alpha.0": true, "v10.20.30-beta.12": true,
		"": false, "1.2.3": false, "v1.2": false, "v01.2.3": false, "v1.2.3-3-gabcdef0": false, "v1.2.3-dirty": false,
		"v1.2.3-rc.1-dirty": false, "v1.2.3-rc.1-2-gabcdef0": false, "f694a941": false, "v1.2.3+meta": false, "main": false,
	} {
		if IsReleaseTag(tag) != want {
			t.Errorf("%q: %v, want %v", tag, !want, want)
		}
	}
}

func TestAsked(t *testing.T) {
	for args, want := range map[string]bool{
		"--version": true, "-version": true, "": false, "version": false, "--version --other": false, "install --version": false,
	} {
		var out strings.Builder
		if got := Asked("x", strings.Fields(args), &out); got != want || (out.Len() > 0) != want {
			t.Errorf("%q: %v, printed %q", args, got, out.String())
		}
	}
}
