package release

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// listModules writes an SBOM of each program, on each platform.
func (b *build) listModules(ctx context.Context) error {
	programs, err := b.pluginPrograms(b.work)
	if err != nil {
		return err
	}
	for platform, program := range programs {
		if err := b.writeSBOM(ctx, program, "kubectl-etcd_"+platform); err != nil {
			return err
		}
	}
	for _, arch := range Architectures {
		all, err := os.ReadDir(b.programs(arch))
		if err != nil {
			return err
		}
		for _, program := range all {
			if err := b.writeSBOM(ctx, filepath.Join(b.programs(arch), program.Name()), program.Name()+"_linux_"+arch); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSBOM writes the SBOM of a program, made from the program itself.
func (b *build) writeSBOM(ctx context.Context, program, name string) error {
	digest, err := digestOf(program)
	if err != nil {
		return err
	}
	// By its digest: the same program has the same serial number.
	serial := uuid.NewSHA1(uuid.NameSpaceURL, []byte("sha256:"+digest)).String()
	cmd := exec.CommandContext(ctx, b.SBOM, "bin", "-json", "-std", "-version", b.tag, "-serial", serial, program)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	made, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s bin %s: %w", b.SBOM, program, err)
	}
	text, err := reproducible(made, b.time)
	if err != nil {
		return fmt.Errorf("SBOM of %s: %w", name, err)
	}
	return os.WriteFile(sbomFile(b.to, name), text, 0o644)
}

// sbomFile is the SBOM of a program on a platform, such as etcd-operator_linux_amd64.
func sbomFile(dir, name string) string { return filepath.Join(dir, name+".cdx.json") }

// sbomsOf are the SBOMs of the programs in an image, in the folder of a release.
func sbomsOf(dir, image string) []string {
	var all []string
	for _, recipe := range images.Products {
		if recipe.Name() != image {
			continue
		}
		for _, program := range recipe.Programs {
			for _, arch := range Architectures {
				all = append(all, sbomFile(dir, program.Name()+"_linux_"+arch))
			}
		}
	}
	return all
}

// reproducible takes out of an SBOM what differs between two that are made of one program: when
// it was made, and the digests of the tool that has made it, which depend on its own build.
func reproducible(sbom []byte, at time.Time) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(sbom, &document); err != nil {
		return nil, err
	}
	metadata, ok := document["metadata"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it has no metadata")
	}
	metadata["timestamp"] = at.Format(time.RFC3339)
	if tools, ok := metadata["tools"].([]any); ok {
		for _, tool := range tools {
			if tool, ok := tool.(map[string]any); ok {
				delete(tool, "hashes")
			}
		}
	}
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}
