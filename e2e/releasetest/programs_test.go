package releasetest

import (
	"archive/tar"
	"compress/gzip"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/release"
)

// emulators run programs for another processor: those of Debian's package qemu-user-static.
var emulators = map[string]string{"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}

// runs runs a program for a processor, by emulation if this machine has another one.
func runs(t *testing.T, arch, program string, args ...string) string {
	t.Helper()
	if arch == runtime.GOARCH {
		return run(t, "", program, args...)
	}
	emulator, err := exec.LookPath(emulators[arch])
	if err != nil {
		t.Fatalf("%v: install the package qemu-user-static, as make test-release does", err)
	}
	return run(t, "", emulator, append([]string{program}, args...)...)
}

// imagesRun runs each program of each image, for each processor, and it tells its version.
func imagesRun(t *testing.T, dir string) {
	for _, recipe := range images.Products {
		for _, arch := range release.Architectures {
			t.Run(recipe.Name()+"/"+arch, func(t *testing.T) {
				img := imageFor(t, filepath.Join(dir, recipe.Name()+"-image-"+tag+".tar"), arch)
				layers, err := img.Layers()
				if err != nil || len(layers) != 1 {
					t.Fatalf("%d layers: %v", len(layers), err)
				}
				content, err := layers[0].Uncompressed()
				if err != nil {
					t.Fatal(err)
				}
				defer content.Close()
				to := t.TempDir()
				extract(t, content, to)
				for _, p := range recipe.Programs {
					name := p.Name()
					if out := runs(t, arch, filepath.Join(to, name), "--version"); out != name+" "+tag+"\n" {
						t.Errorf("%s for %s says %q", name, arch, out)
					}
				}
			})
		}
	}
}

// imageFor is the image of an archive for a processor.
func imageFor(t *testing.T, archive, arch string) v1.Image {
	t.Helper()
	index, _, err := release.ReadImage(archive, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range inner.Manifests {
		if m.Platform.Architecture == arch {
			img, err := index.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
	}
	t.Fatalf("%s has no image for %s", archive, arch)
	return nil
}

// extract writes the files of a tar into one folder, without their own folders.
func extract(t *testing.T, from io.Reader, to string) {
	t.Helper()
	for entries := tar.NewReader(from); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(h.Name)), content, h.FileInfo().Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// unpacked is a folder with the files of a .tar.gz.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	extract(t, gz, to)
	return to
}

// pluginRuns: the plugin tells its version where it can be run here, and is a program of its system
// elsewhere.
func pluginRuns(t *testing.T, dir string) {
	for _, arch := range release.Architectures {
		program := filepath.Join(unpacked(t, filepath.Join(dir, "kubectl-etcd_linux_"+arch+".tar.gz")), "kubectl-etcd")
		if out := runs(t, arch, program, "version", "--client"); !strings.Contains(out, tag+" ("+runtime.Version()+")") {
			t.Errorf("for %s it says %q", arch, out)
		}
	}
	for arch, cpu := range map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64} {
		f, err := macho.Open(filepath.Join(unpacked(t, filepath.Join(dir, "kubectl-etcd_darwin_"+arch+".tar.gz")), "kubectl-etcd"))
		if err != nil || f.Cpu != cpu {
			t.Errorf("for macOS on %s: %v", arch, err)
		}
	}
	if f, err := pe.Open(filepath.Join(unpacked(t, filepath.Join(dir, "kubectl-etcd_windows_amd64.tar.gz")), "kubectl-etcd.exe")); err != nil || f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
		t.Errorf("for Windows: %v", err)
	}
}

// krewInstalls: krew takes the plugin's manifest, installs this machine's archive by it, and kubectl would find
// the program.
func krewInstalls(t *testing.T, root, dir string) {
	manifest, to := filepath.Join(t.TempDir(), "etcd.yaml"), t.TempDir() // as it is called in krew's index
	if err := os.WriteFile(manifest, []byte(read(t, filepath.Join(dir, "kubectl-etcd-krew.yaml"))), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", filepath.Join(root, "bin", "validate-krew-manifest"), "-manifest", manifest, "-skip-install")
	t.Setenv("KREW_ROOT", to)
	t.Setenv("KREW_NO_UPGRADE_CHECK", "1")
	run(t, "", filepath.Join(root, "bin", "krew"), "install", "--manifest", manifest, "--archive", filepath.Join(dir, "kubectl-etcd_linux_"+runtime.GOARCH+".tar.gz"))
	if out := run(t, "", filepath.Join(to, "bin", "kubectl-etcd"), "version", "--client"); !strings.Contains(out, tag) {
		t.Errorf("what krew has installed says %q", out)
	}
}

// listsModules: there is an SBOM of each program on each platform, with its version and modules.
func listsModules(t *testing.T, dir string) {
	var names []string
	for _, recipe := range images.Products {
		for _, p := range recipe.Programs {
			for _, arch := range release.Architectures {
				names = append(names, p.Name()+"_linux_"+arch)
			}
		}
	}
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64"} {
		names = append(names, "kubectl-etcd_"+platform)
	}
	for _, name := range names {
		var sbom struct {
			BOMFormat string
			Metadata  struct{ Component struct{ Version string } }
			// Components are the modules that the program is made of.
			Components []struct{ PURL string }
		}
		if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, name+".cdx.json"))), &sbom); err != nil {
			t.Fatal(err)
		}
		hasGo := false
		for _, c := range sbom.Components {
			hasGo = hasGo || strings.HasPrefix(c.PURL, "pkg:golang/std@")
		}
		if sbom.BOMFormat != "CycloneDX" || sbom.Metadata.Component.Version != tag || !hasGo || len(sbom.Components) < 3 {
			t.Errorf("%s: %s of version %s lists %d modules", name, sbom.BOMFormat, sbom.Metadata.Component.Version, len(sbom.Components))
		}
	}
}

// bundlesAreValid runs operator-framework's validators on each bundle.
func bundlesAreValid(t *testing.T, root, dir string) {
	archives, err := filepath.Glob(filepath.Join(dir, "*-bundle-"+tag+".tar.gz"))
	if err != nil || len(archives) != 3 {
		t.Fatalf("%v, %v", archives, err)
	}
	for _, archive := range archives {
		to := t.TempDir()
		run(t, to, "tar", "-xzf", archive)
		run(t, "", filepath.Join(root, "bin/olm"), filepath.Join(to, strings.TrimSuffix(filepath.Base(archive), "-"+tag+".tar.gz")))
	}
}
