// Command krew packs the plugin for krew, the package manager of kubectl plugins: an archive for
// each platform, and the manifest that names them with their digests.
//
//	go run ./cmd/krew -version v1.0.0 -out ../out/krew
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	stamp "github.com/etcd-operators/etcd-operators/shared/version"
)

// platforms are those that kubectl is released for, and people run it on.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// releases is where the archives of a version are.
const releases = "https://github.com/etcd-operators/etcd-operators/releases/download/"

func main() {
	version := flag.String("version", "", "the version, such as v1.0.0")
	out := flag.String("out", "", "the folder to write to")
	only := flag.String("platforms", strings.Join(platforms, ","), "which platforms, with commas between")
	license := flag.String("license", "../LICENSE", "the licence's text")
	flag.Parse()
	if err := run(*version, *out, *license, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func run(version, out, license string, platforms []string) error {
	if version == "" || out == "" {
		return errors.New("set -version and -out")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(license)
	if err != nil {
		return err
	}
	digests := map[string]string{}
	for _, platform := range platforms {
		program, err := build(version, platform, out)
		if err != nil {
			return err
		}
		data, err := pack(map[string][]byte{"LICENSE": text, binary(platform): program})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, archive(platform)), data, 0o644); err != nil {
			return err
		}
		digests[platform] = fmt.Sprintf("%x", sha256.Sum256(data))
		fmt.Println(filepath.Join(out, archive(platform)))
	}
	data, err := manifest(version, platforms, digests)
	if err != nil {
		return err
	}
	fmt.Println(filepath.Join(out, "etcd.yaml"))
	return os.WriteFile(filepath.Join(out, "etcd.yaml"), data, 0o644)
}

func binary(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "kubectl-etcd.exe"
	}
	return "kubectl-etcd"
}

func archive(platform string) string {
	return "kubectl-etcd_" + strings.ReplaceAll(platform, "/", "_") + ".tar.gz"
}

// tags are the build tags of all that ships, and noDebug spares the compiler what the linker drops: as
// all images are built.
const (
	tags    = "disable_grpc_modules"
	noDebug = "-gcflags=all=-dwarf=false"
)

// build compiles the plugin as its module alone defines it, static and without paths of this machine.
func build(version, platform, out string) ([]byte, error) {
	system, machine, _ := strings.Cut(platform, "/")
	file := filepath.Join(out, "kubectl-etcd.part")
	defer os.Remove(file)
	cmd := exec.Command("go", "build", "-tags="+tags, noDebug, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w "+stamp.LinkerFlag(version), "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+system, "GOARCH="+machine)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build for %s: %w", platform, err)
	}
	return os.ReadFile(file)
}

// pack makes an archive that is the same each time.
func pack(files map[string][]byte) ([]byte, error) {
	buffer := &bytes.Buffer{}
	gz := gzip.NewWriter(buffer)
	t := tar.NewWriter(gz)
	for _, name := range []string{"LICENSE", "kubectl-etcd", "kubectl-etcd.exe"} {
		content, ok := files[name]
		if !ok {
			continue
		}
		mode := int64(0o755)
		if name == "LICENSE" {
			mode = 0o644
		}
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}); err != nil {
			return nil, err
		}
		if _, err := t.Write(content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Close(), gz.Close()); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// manifest is what krew reads.
func manifest(version string, platforms []string, digests map[string]string) ([]byte, error) {
	var all []any
	for _, platform := range platforms {
		system, machine, _ := strings.Cut(platform, "/")
		all = append(all, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": system, "arch": machine}},
			"uri":      releases + version + "/" + archive(platform), "sha256": digests[platform], "bin": binary(platform),
		})
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]any{"name": "etcd"},
		"spec": map[string]any{
			"version": version, "homepage": "https://github.com/etcd-operators/etcd-operators", "platforms": all,
			"shortDescription": "Look after etcd clusters of etcd-operator",
			"description": "See how the etcd clusters of etcd-operator are, ask the operators for changes, back up and\n" +
				"restore, and reach etcd from this machine through a port-forward.\n",
			"caveats": "The operators must be installed: kubectl etcd install\n",
		},
	})
}
