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
	if IsRelease() || Number() == "" {
		t.Errorf("a test is of release %q", Number())
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
