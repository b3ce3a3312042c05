package release

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pluginPrefix begins the names of the plugin's archives; the platform follows.
const pluginPrefix = "kubectl-etcd_"

// packPlugin writes the archives of the plugin, one for each platform, and the manifest for krew.
func (b *build) packPlugin(ctx context.Context) error {
	to, err := filepath.Abs(b.to)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-trimpath", "-buildvcs=false", "./cmd/krew", "-version", b.tag, "-out", to)
	cmd.Dir = filepath.Join(b.source, "plugin")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go run ./cmd/krew: %w\n%s", err, out)
	}
	// The name under which it is here tells whose it is.
	return os.Rename(filepath.Join(to, "etcd.yaml"), filepath.Join(to, "kubectl-etcd-krew.yaml"))
}

// pluginPrograms takes the plugin's programs out of their archives into a folder, and returns
// their files by platform, such as linux_amd64.
func (b *build) pluginPrograms(to string) (map[string]string, error) {
	archives, err := filepath.Glob(filepath.Join(b.to, pluginPrefix+"*.tar.gz"))
	if err != nil {
		return nil, err
	}
	if len(archives) == 0 {
		return nil, errors.New("the plugin has no archive")
	}
	programs := map[string]string{}
	for _, archive := range archives {
		platform := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), pluginPrefix), ".tar.gz")
		programs[platform] = filepath.Join(to, pluginPrefix+platform)
		if err := extractProgram(archive, programs[platform]); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// extractProgram takes the program out of an archive of the plugin.
func extractProgram(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	for entries := tar.NewReader(gz); ; {
		h, err := entries.Next()
		if err != nil {
			return fmt.Errorf("%s has no program: %w", archive, err)
		}
		if !strings.HasPrefix(h.Name, "kubectl-etcd") {
			continue
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o755)
	}
}
