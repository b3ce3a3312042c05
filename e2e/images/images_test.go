package images

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

// numericUser is a user and a group that are told by number, and are not root: without a
// number the kubelet can't tell that a user is not root.
var numericUser = regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`)

// TestImagesHoldProgramsAndCertificates: and nothing else, no shell and no library, that
// runs as somebody who is not root.
func TestImagesHoldProgramsAndCertificates(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	built, err := Build(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range built {
		t.Run(filepath.Base(b.Tar), func(t *testing.T) {
			img, err := tarball.ImageFromPath(b.Tar, nil)
			if err != nil {
				t.Fatal(err)
			}
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if !numericUser.MatchString(config.Config.User) {
				t.Errorf("runs as %q", config.Config.User)
			}
			layers, err := img.Layers()
			if err != nil || len(layers) != 1 {
				t.Fatalf("%d layers, not one FROM scratch: %v", len(layers), err)
			}
			content, err := layers[0].Uncompressed()
			if err != nil {
				t.Fatal(err)
			}
			defer content.Close()
			programs, others := readLayer(t, content)
			for _, p := range recipes[i].Programs {
				if programs["/usr/local/bin/"+p.Name()] == nil {
					t.Errorf("there is no program %s", p.Name())
				}
			}
			if len(programs) != len(recipes[i].Programs) {
				t.Errorf("there are %d programs, of which %d are ours", len(programs), len(recipes[i].Programs))
			}
			for name, program := range programs {
				isStatic(t, name, program, root)
			}
			certificates := others[CACertificates]
			if len(others) != 1 || certificates == nil {
				t.Errorf("there are %d files beside the programs, of which one should be %s", len(others), CACertificates)
			}
			areCertificates(t, certificates)
		})
	}
}

// readLayer reads the files of a layer, those that can be executed and the others.
func readLayer(t *testing.T, layer io.Reader) (programs, others map[string][]byte) {
	t.Helper()
	programs, others = map[string][]byte{}, map[string][]byte{}
	for entries := tar.NewReader(layer); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return programs, others
		}
		if err != nil {
			t.Fatal(err)
		}
		name, mode := "/"+strings.Trim(h.Name, "/"), h.FileInfo().Mode()
		temporary := name == "/tmp" && h.Typeflag == tar.TypeDir
		if h.Uid != 0 || h.Gid != 0 || !temporary && mode.Perm()&0o022 != 0 || mode&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has mode %s and belongs to %d:%d", name, mode, h.Uid, h.Gid)
		}
		switch h.Typeflag {
		case tar.TypeDir:
		case tar.TypeReg:
			content, err := io.ReadAll(entries)
			if err != nil {
				t.Fatal(err)
			}
			if mode.Perm()&0o111 != 0 {
				programs[name] = content
			} else {
				others[name] = content
			}
		default:
			t.Errorf("%s is neither a file nor a folder", name)
		}
	}
}

// isStatic fails the test for a program that needs a library, or knows where it was built.
func isStatic(t *testing.T, name string, program []byte, root string) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s is no program: %v", name, err)
		return
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is linked dynamically: it has a segment %s", name, p.Type)
		}
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{"-trimpath": "true", "-gcflags": "all=-dwarf=false", "CGO_ENABLED": "0", "-tags": "disable_grpc_modules"} {
		if settings[key] != want {
			t.Errorf("%s was built with %s=%q", name, key, settings[key])
		}
	}
	if bytes.Contains(program, []byte(root+"/")) {
		t.Errorf("%s holds the path %s", name, root)
	}
}

func areCertificates(t *testing.T, text []byte) {
	t.Helper()
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			t.Errorf("beside certificates there is a %s", block.Type)
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Errorf("certificate %d: %v", n, err)
		}
		n++
	}
	if n == 0 {
		t.Error("there is no certificate")
	}
}

// TestDockerfileMakesTheSame: what is published is built by the Dockerfile.
func TestDockerfileMakesTheSame(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(text), "\nFROM scratch\n")
	for what, found := range map[string]bool{
		"static programs":           strings.Contains(string(text), "ENV CGO_ENABLED=0 "),
		"no path of the build":      strings.Contains(string(text), `GOFLAGS="-trimpath `),
		"no debug information":      strings.Contains(string(text), " "+gobuild.NoDebug+" "),
		"the same build tags":       strings.Contains(string(text), "-tags="+Tags+" "),
		"the stamp":                 strings.Contains(string(text), version.LinkerFlag("${VERSION}")),
		"nothing below it":          last != "",
		"the user":                  strings.Contains(last, "\nUSER "+nonroot+"\n"),
		"nothing run in the image":  !strings.Contains(last, "RUN"),
		"certificates and programs": strings.Count(last, "COPY") == 2,
	} {
		if !found {
			t.Errorf("the Dockerfile no longer says: %s", what)
		}
	}
}
