package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestWriteMakesAnImageThatReadsBack(t *testing.T) {
	dir := t.TempDir()
	program, note := filepath.Join(dir, "program"), filepath.Join(dir, "note")
	write(t, program, "binary", 0o755)
	write(t, note, "text", 0o600)
	spec := Spec{
		Entrypoint: []string{"/usr/local/bin/app"},
		Env:        []string{"A=b"},
		User:       "65532",
		Files:      map[string]string{"/usr/local/bin/app": program, "/etc/note": note},
		Links:      map[string]string{"/bin/app": "../usr/local/bin/app"},
		Dirs:       map[string]fs.FileMode{"/var/lib/app": 0o700},
	}
	const ref = "example.com/team/app:v1"
	first, second := filepath.Join(dir, "out", "1.tar"), filepath.Join(dir, "out", "2.tar")
	for _, out := range []string{first, second} {
		if err := Write(t.Context(), out, ref, spec); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := read(t, first), read(t, second); !bytes.Equal(a, b) {
		t.Error("the same spec gave different bytes")
	}
	if refs, err := Refs(first); err != nil || !slices.Equal(refs, []string{ref}) {
		t.Errorf("Refs: %v, %v", refs, err)
	}

	img, err := tarball.ImageFromPath(first, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532" || c.WorkingDir != "/" || !slices.Equal(c.Env, []string{DefaultPath, "A=b"}) || !slices.Equal(c.Entrypoint, spec.Entrypoint) {
		t.Errorf("config: %+v", c)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %v, %v", layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if !bytes.Contains(read(t, first), []byte("\x28\xb5\x2f\xfd")) {
		t.Error("the layer is not compressed by zstd")
	}
	want := []string{
		"tmp/ 1777", "var/ 755", "var/lib/ 755", "var/lib/app/ 700", "etc/ 755", "etc/note 644",
		"usr/ 755", "usr/local/ 755", "usr/local/bin/ 755", "usr/local/bin/app 755", "bin/ 755", "bin/app 777",
	}
	if got := entries(t, content); !slices.Equal(got, want) {
		t.Errorf("entries:\n%q, want\n%q", got, want)
	}
}

// TestWritePutsFilesOnARoot: the files come in a layer of their own, above the root file system as it is.
func TestWritePutsFilesOnARoot(t *testing.T) {
	dir := t.TempDir()
	note, root, out := filepath.Join(dir, "note"), filepath.Join(dir, "root.tar"), filepath.Join(dir, "out.tar")
	write(t, note, "text", 0o600)
	var below bytes.Buffer
	w := tar.NewWriter(&below)
	if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./var/lib/postgresql/", Mode: 0o700, Uid: 100}), w.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, root, below.String(), 0o600)
	if err := Write(t.Context(), out, "example.com/app:v1", Spec{Root: root, Files: map[string]string{"/etc/note": note}}); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entries(t, content))
		_ = content.Close()
	}
	want := [][]string{{"./var/lib/postgresql/ 700"}, {"tmp/ 1777", "etc/ 755", "etc/note 644"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("layers:\n%q, want\n%q", got, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		ref  string
		spec Spec
	}{
		"a relative path":                  {ref: "example.com/app:v1", spec: Spec{Dirs: map[string]fs.FileMode{"var": 0o755}}},
		"a missing source":                 {ref: "example.com/app:v1", spec: Spec{Files: map[string]string{"/x": filepath.Join(dir, "none")}}},
		"a missing root":                   {ref: "example.com/app:v1", spec: Spec{Root: filepath.Join(dir, "none")}},
		"a folder as file":                 {ref: "example.com/app:v1", spec: Spec{Files: map[string]string{"/x": dir}}},
		"a name without a tag or registry": {ref: "app"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.tar")
			if err := Write(t.Context(), out, c.ref, c.spec); err == nil {
				t.Fatal("no error")
			}
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was left behind: %v", out, err)
			}
		})
	}
}

func entries(t *testing.T, layer io.Reader) []string {
	t.Helper()
	var got []string
	for r := tar.NewReader(layer); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, header.Name+" "+octal(header.Mode))
	}
}

func octal(mode int64) string {
	digits := ""
	for ; mode > 0; mode /= 8 {
		digits = string(rune('0'+mode%8)) + digits
	}
	return digits
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
